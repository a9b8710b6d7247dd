"""The extensions of a Token-2022 mint or account."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chain.encodings import b64encode
from chain.parsed.amounts import float_text
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import record
from chain.parsed_accounts.raw import entries

INTEREST_BEARING, SCALED_UI_AMOUNT = 10, 25

_MINT, _ACCOUNT = "mint", "account"
_START = 166
_ACCOUNT_STATES = ("uninitialized", "initialized", "frozen")
_UNPARSEABLE = {"extension": "unparseableExtension"}
# Far more than there are kinds, and each occurs once on chain: made-up data must not
# cost seconds.
_MOST_ENTRIES = 10_000


def parse_extensions(data: bytes, owner: str) -> list[dict[str, Any]]:
    """`[{"extension": name, "state": {…}}]` of a "mint" or an "account", in the order of their
    entries; empty if the kind of an entry is unknown.
    """
    found = _entries(data)
    if any(kind not in _EXTENSIONS for kind, _ in found):
        return []
    # The node looks each kind up by itself, and takes its first entry.
    first = dict(reversed(found))
    return [_shown(_EXTENSIONS[kind], first[kind], owner) for kind, _ in found]


def first_body(data: bytes, wanted: int) -> bytes | None:
    """The first entry of a kind in a mint's data, if it is readable; other entries need not be."""
    cursor = Cursor(data, _START)
    try:
        for _ in range(_MOST_ENTRIES):
            kind, size = cursor.u16(), cursor.u16()
            if kind == wanted:
                return cursor.take(size) if size == _EXTENSIONS[wanted].size else None
            if kind == 0:
                return None
            cursor.take(size)
    except UnreadableError:
        pass
    return None


@dataclass(frozen=True, slots=True)
class _Extension:
    name: str
    owner: str
    # None: the length in its head.
    size: int | None = 0
    # None: only its name is shown.
    read: Callable[[Cursor], dict[str, Any]] | None = None


def _shown(extension: _Extension, body: bytes, owner: str) -> dict[str, Any]:
    if extension.read is None:
        return {"extension": extension.name}
    if extension.owner != owner or extension.size not in (None, len(body)):
        return dict(_UNPARSEABLE)
    try:
        return {"extension": extension.name, "state": extension.read(Cursor(body))}
    except UnreadableError:
        return dict(_UNPARSEABLE)


def _entries(data: bytes) -> list[tuple[int, bytes]]:
    """Kinds and bodies; empty if an entry does not fit."""
    found: list[tuple[int, bytes]] = []
    cursor = Cursor(data, _START)
    while len(data) - cursor.at >= 2:
        kind = cursor.u16()
        if kind == 0:  # the padding after the last entry
            break
        try:
            found.append((kind, cursor.take(cursor.u16())))
        except UnreadableError:
            return []
        if len(found) > _MOST_ENTRIES:
            return []
    return found


def _yes(cursor: Cursor) -> bool:
    # Any byte but zero is true, as the program has it.
    return cursor.u8() != 0


def _base64(size: int) -> Callable[[Cursor], str]:
    return lambda cursor: b64encode(cursor.take(size))


def _key_or_none(cursor: Cursor) -> str | None:
    key = cursor.take(32)
    return b64encode(key) if any(key) else None


def _account_state(cursor: Cursor) -> str:
    state = cursor.u8()
    return _ACCOUNT_STATES[state if state < len(_ACCOUNT_STATES) else 0]


def _float(cursor: Cursor) -> str:
    return float_text(cursor.f64())


def _token_metadata(cursor: Cursor) -> dict[str, Any]:
    authority, mint = cursor.nullable_pubkey(), cursor.pubkey()
    name, symbol, uri = cursor.borsh_text(), cursor.borsh_text(), cursor.borsh_text()
    pairs = entries(cursor, 8, count=cursor.u32())
    return {
        "additionalMetadata": [[cursor.borsh_text(), cursor.borsh_text()] for _ in pairs],
        "mint": mint,
        "name": name,
        "symbol": symbol,
        "updateAuthority": authority,
        "uri": uri,
    }


# An ElGamal pubkey, an amount under one, and an amount that its owner alone can read.
_key, _ciphertext, _decryptable = _base64(32), _base64(64), _base64(36)
_AUTHORITY = ("authority", Cursor.nullable_pubkey)
_transfer_fee = record(
    ("epoch", Cursor.u64),
    ("maximumFee", Cursor.u64),
    ("transferFeeBasisPoints", Cursor.u16),
)
_transfer_fee_config = record(
    ("transferFeeConfigAuthority", Cursor.nullable_pubkey),
    ("withdrawWithheldAuthority", Cursor.nullable_pubkey),
    ("withheldAmount", Cursor.u64),
    ("olderTransferFee", _transfer_fee),
    ("newerTransferFee", _transfer_fee),
)
_confidential_transfer_mint = record(
    _AUTHORITY, ("autoApproveNewAccounts", _yes), ("auditorElgamalPubkey", _key_or_none)
)
_confidential_transfer_account = record(
    ("approved", _yes),
    ("elgamalPubkey", _key),
    ("pendingBalanceLo", _ciphertext),
    ("pendingBalanceHi", _ciphertext),
    ("availableBalance", _ciphertext),
    ("decryptableAvailableBalance", _decryptable),
    ("allowConfidentialCredits", _yes),
    ("allowNonConfidentialCredits", _yes),
    ("pendingBalanceCreditCounter", Cursor.u64),
    ("maximumPendingBalanceCreditCounter", Cursor.u64),
    ("expectedPendingBalanceCreditCounter", Cursor.u64),
    ("actualPendingBalanceCreditCounter", Cursor.u64),
)
_interest_bearing_config = record(
    ("rateAuthority", Cursor.nullable_pubkey),
    ("initializationTimestamp", Cursor.i64),
    ("preUpdateAverageRate", Cursor.i16),
    ("lastUpdateTimestamp", Cursor.i64),
    ("currentRate", Cursor.i16),
)
_confidential_transfer_fee_config = record(
    _AUTHORITY,
    ("withdrawWithheldAuthorityElgamalPubkey", _key),
    ("harvestToMintEnabled", _yes),
    ("withheldAmount", _ciphertext),
)
_token_group = record(
    ("updateAuthority", Cursor.nullable_pubkey),
    ("mint", Cursor.pubkey),
    ("size", Cursor.u64),
    ("maxSize", Cursor.u64),
)
_token_group_member = record(
    ("mint", Cursor.pubkey), ("group", Cursor.pubkey), ("memberNumber", Cursor.u64)
)
_confidential_mint_burn = record(
    ("confidentialSupply", _ciphertext),
    ("decryptableSupply", _decryptable),
    ("supplyElgamalPubkey", _key),
    ("pendingBurn", _ciphertext),
)
_scaled_ui_amount_config = record(
    _AUTHORITY,
    ("multiplier", _float),
    ("newMultiplierEffectiveTimestamp", Cursor.i64),
    ("newMultiplier", _float),
)

_EXTENSIONS = {
    1: _Extension("transferFeeConfig", _MINT, 108, _transfer_fee_config),
    2: _Extension("transferFeeAmount", _ACCOUNT, 8, record(("withheldAmount", Cursor.u64))),
    3: _Extension(
        "mintCloseAuthority", _MINT, 32, record(("closeAuthority", Cursor.nullable_pubkey))
    ),
    4: _Extension("confidentialTransferMint", _MINT, 65, _confidential_transfer_mint),
    5: _Extension("confidentialTransferAccount", _ACCOUNT, 295, _confidential_transfer_account),
    6: _Extension("defaultAccountState", _MINT, 1, record(("accountState", _account_state))),
    7: _Extension("immutableOwner", _ACCOUNT),
    8: _Extension("memoTransfer", _ACCOUNT, 1, record(("requireIncomingTransferMemos", _yes))),
    9: _Extension("nonTransferable", _MINT),
    INTEREST_BEARING: _Extension("interestBearingConfig", _MINT, 52, _interest_bearing_config),
    11: _Extension("cpiGuard", _ACCOUNT, 1, record(("lockCpi", _yes))),
    12: _Extension("permanentDelegate", _MINT, 32, record(("delegate", Cursor.nullable_pubkey))),
    13: _Extension("nonTransferableAccount", _ACCOUNT),
    14: _Extension(
        "transferHook", _MINT, 64, record(_AUTHORITY, ("programId", Cursor.nullable_pubkey))
    ),
    15: _Extension("transferHookAccount", _ACCOUNT, 1, record(("transferring", _yes))),
    16: _Extension("confidentialTransferFeeConfig", _MINT, 129, _confidential_transfer_fee_config),
    17: _Extension(
        "confidentialTransferFeeAmount", _ACCOUNT, 64, record(("withheldAmount", _ciphertext))
    ),
    18: _Extension(
        "metadataPointer",
        _MINT,
        64,
        record(_AUTHORITY, ("metadataAddress", Cursor.nullable_pubkey)),
    ),
    19: _Extension("tokenMetadata", _MINT, None, _token_metadata),
    20: _Extension(
        "groupPointer", _MINT, 64, record(_AUTHORITY, ("groupAddress", Cursor.nullable_pubkey))
    ),
    21: _Extension("tokenGroup", _MINT, 80, _token_group),
    22: _Extension(
        "groupMemberPointer",
        _MINT,
        64,
        record(_AUTHORITY, ("memberAddress", Cursor.nullable_pubkey)),
    ),
    23: _Extension("tokenGroupMember", _MINT, 72, _token_group_member),
    24: _Extension("confidentialMintBurn", _MINT, 196, _confidential_mint_burn),
    SCALED_UI_AMOUNT: _Extension("scaledUiAmountConfig", _MINT, 56, _scaled_ui_amount_config),
    26: _Extension(
        "pausableConfig",
        _MINT,
        33,
        record(_AUTHORITY, ("paused", _yes)),
    ),
    27: _Extension("pausableAccount", _ACCOUNT),
    28: _Extension("permissionedBurnConfig", _MINT, 32, record(_AUTHORITY)),
}
