"""The extensions of a Token-2022 mint or account."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chain.encodings import b64encode
from chain.parsed.amounts import float_text
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import entries

INTEREST_BEARING, SCALED_UI_AMOUNT = 10, 25

_MINT, _ACCOUNT = "mint", "account"
_START = 166
_ACCOUNT_STATES = ("uninitialized", "initialized", "frozen")
_UNPARSEABLE = {"extension": "unparseableExtension"}
# Far more than the kinds there are, of which each occurs once on chain: made-up data must not
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


def _base64(cursor: Cursor, size: int) -> str:
    return b64encode(cursor.take(size))


def _key(cursor: Cursor) -> str:
    """An ElGamal pubkey."""
    return _base64(cursor, 32)


def _ciphertext(cursor: Cursor) -> str:
    """An amount under an ElGamal pubkey."""
    return _base64(cursor, 64)


def _decryptable(cursor: Cursor) -> str:
    """An amount that its owner alone can read."""
    return _base64(cursor, 36)


def _authority_and(name: str) -> Callable[[Cursor], dict[str, Any]]:
    return lambda cursor: {
        "authority": cursor.nullable_pubkey(),
        name: cursor.nullable_pubkey(),
    }


def _transfer_fee_config(cursor: Cursor) -> dict[str, Any]:
    authority, withdrawer = cursor.nullable_pubkey(), cursor.nullable_pubkey()
    withheld, older, newer = cursor.u64(), _transfer_fee(cursor), _transfer_fee(cursor)
    return {
        "newerTransferFee": newer,
        "olderTransferFee": older,
        "transferFeeConfigAuthority": authority,
        "withdrawWithheldAuthority": withdrawer,
        "withheldAmount": withheld,
    }


def _transfer_fee(cursor: Cursor) -> dict[str, Any]:
    return {
        "epoch": cursor.u64(),
        "maximumFee": cursor.u64(),
        "transferFeeBasisPoints": cursor.u16(),
    }


def _confidential_transfer_mint(cursor: Cursor) -> dict[str, Any]:
    authority, approve, auditor = cursor.nullable_pubkey(), _yes(cursor), cursor.take(32)
    return {
        "auditorElgamalPubkey": b64encode(auditor) if any(auditor) else None,
        "authority": authority,
        "autoApproveNewAccounts": approve,
    }


def _confidential_transfer_account(cursor: Cursor) -> dict[str, Any]:
    approved, key = _yes(cursor), _key(cursor)
    low, high, available = _ciphertext(cursor), _ciphertext(cursor), _ciphertext(cursor)
    decryptable = _decryptable(cursor)
    confidential, other = _yes(cursor), _yes(cursor)
    pending, maximum, expected = cursor.u64(), cursor.u64(), cursor.u64()
    return {
        "actualPendingBalanceCreditCounter": cursor.u64(),
        "allowConfidentialCredits": confidential,
        "allowNonConfidentialCredits": other,
        "approved": approved,
        "availableBalance": available,
        "decryptableAvailableBalance": decryptable,
        "elgamalPubkey": key,
        "expectedPendingBalanceCreditCounter": expected,
        "maximumPendingBalanceCreditCounter": maximum,
        "pendingBalanceCreditCounter": pending,
        "pendingBalanceHi": high,
        "pendingBalanceLo": low,
    }


def _default_account_state(cursor: Cursor) -> dict[str, Any]:
    state = cursor.u8()
    return {"accountState": _ACCOUNT_STATES[state if state < len(_ACCOUNT_STATES) else 0]}


def _interest_bearing_config(cursor: Cursor) -> dict[str, Any]:
    authority, start, rate_before = cursor.nullable_pubkey(), cursor.i64(), cursor.i16()
    updated = cursor.i64()
    return {
        "currentRate": cursor.i16(),
        "initializationTimestamp": start,
        "lastUpdateTimestamp": updated,
        "preUpdateAverageRate": rate_before,
        "rateAuthority": authority,
    }


def _confidential_transfer_fee_config(cursor: Cursor) -> dict[str, Any]:
    authority, key, harvest = cursor.nullable_pubkey(), _key(cursor), _yes(cursor)
    return {
        "authority": authority,
        "harvestToMintEnabled": harvest,
        "withdrawWithheldAuthorityElgamalPubkey": key,
        "withheldAmount": _ciphertext(cursor),
    }


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


def _token_group(cursor: Cursor) -> dict[str, Any]:
    authority, mint, size = cursor.nullable_pubkey(), cursor.pubkey(), cursor.u64()
    return {"maxSize": cursor.u64(), "mint": mint, "size": size, "updateAuthority": authority}


def _token_group_member(cursor: Cursor) -> dict[str, Any]:
    mint = cursor.pubkey()
    return {"group": cursor.pubkey(), "memberNumber": cursor.u64(), "mint": mint}


def _confidential_mint_burn(cursor: Cursor) -> dict[str, Any]:
    supply, decryptable, key = _ciphertext(cursor), _decryptable(cursor), _key(cursor)
    return {
        "confidentialSupply": supply,
        "decryptableSupply": decryptable,
        "pendingBurn": _ciphertext(cursor),
        "supplyElgamalPubkey": key,
    }


def _scaled_ui_amount_config(cursor: Cursor) -> dict[str, Any]:
    authority, multiplier, effective_at = cursor.nullable_pubkey(), cursor.f64(), cursor.i64()
    return {
        "authority": authority,
        "multiplier": float_text(multiplier),
        "newMultiplier": float_text(cursor.f64()),
        "newMultiplierEffectiveTimestamp": effective_at,
    }


_EXTENSIONS = {
    1: _Extension("transferFeeConfig", _MINT, 108, _transfer_fee_config),
    2: _Extension("transferFeeAmount", _ACCOUNT, 8, lambda c: {"withheldAmount": c.u64()}),
    3: _Extension(
        "mintCloseAuthority", _MINT, 32, lambda c: {"closeAuthority": c.nullable_pubkey()}
    ),
    4: _Extension("confidentialTransferMint", _MINT, 65, _confidential_transfer_mint),
    5: _Extension("confidentialTransferAccount", _ACCOUNT, 295, _confidential_transfer_account),
    6: _Extension("defaultAccountState", _MINT, 1, _default_account_state),
    7: _Extension("immutableOwner", _ACCOUNT),
    8: _Extension("memoTransfer", _ACCOUNT, 1, lambda c: {"requireIncomingTransferMemos": _yes(c)}),
    9: _Extension("nonTransferable", _MINT),
    INTEREST_BEARING: _Extension("interestBearingConfig", _MINT, 52, _interest_bearing_config),
    11: _Extension("cpiGuard", _ACCOUNT, 1, lambda c: {"lockCpi": _yes(c)}),
    12: _Extension("permanentDelegate", _MINT, 32, lambda c: {"delegate": c.nullable_pubkey()}),
    13: _Extension("nonTransferableAccount", _ACCOUNT),
    14: _Extension("transferHook", _MINT, 64, _authority_and("programId")),
    15: _Extension("transferHookAccount", _ACCOUNT, 1, lambda c: {"transferring": _yes(c)}),
    16: _Extension("confidentialTransferFeeConfig", _MINT, 129, _confidential_transfer_fee_config),
    17: _Extension(
        "confidentialTransferFeeAmount", _ACCOUNT, 64, lambda c: {"withheldAmount": _ciphertext(c)}
    ),
    18: _Extension("metadataPointer", _MINT, 64, _authority_and("metadataAddress")),
    19: _Extension("tokenMetadata", _MINT, None, _token_metadata),
    20: _Extension("groupPointer", _MINT, 64, _authority_and("groupAddress")),
    21: _Extension("tokenGroup", _MINT, 80, _token_group),
    22: _Extension("groupMemberPointer", _MINT, 64, _authority_and("memberAddress")),
    23: _Extension("tokenGroupMember", _MINT, 72, _token_group_member),
    24: _Extension("confidentialMintBurn", _MINT, 196, _confidential_mint_burn),
    SCALED_UI_AMOUNT: _Extension("scaledUiAmountConfig", _MINT, 56, _scaled_ui_amount_config),
    26: _Extension(
        "pausableConfig",
        _MINT,
        33,
        lambda c: {"authority": c.nullable_pubkey(), "paused": _yes(c)},
    ),
    27: _Extension("pausableAccount", _ACCOUNT),
    28: _Extension(
        "permissionedBurnConfig", _MINT, 32, lambda c: {"authority": c.nullable_pubkey()}
    ),
}
