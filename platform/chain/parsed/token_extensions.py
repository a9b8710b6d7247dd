"""The instructions of Token-2022's extensions, but for the confidential ones."""

from chain.parsed.amounts import float_text, ui_amount
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import (
    Info,
    Layout,
    Parser,
    Typed,
    at_least,
    or_multisig,
    put_authority,
    variant,
)

_EXTENSION_TYPES = (
    "uninitialized",
    "transferFeeConfig",
    "transferFeeAmount",
    "mintCloseAuthority",
    "confidentialTransferMint",
    "confidentialTransferAccount",
    "defaultAccountState",
    "immutableOwner",
    "memoTransfer",
    "nonTransferable",
    "interestBearingConfig",
    "cpiGuard",
    "permanentDelegate",
    "nonTransferableAccount",
    "transferHook",
    "transferHookAccount",
    "confidentialTransferFeeConfig",
    "confidentialTransferFeeAmount",
    "metadataPointer",
    "tokenMetadata",
    "groupPointer",
    "tokenGroup",
    "groupMemberPointer",
    "tokenGroupMember",
    "confidentialMintBurn",
    "scaledUiAmount",
    "pausable",
    "pausableAccount",
    "permissionedBurn",
)
_ACCOUNT_STATES = ("uninitialized", "initialized", "frozen")

_AUTHORITY = or_multisig("authority")
_OWNER = or_multisig("owner")
_WITHHELD_AUTHORITY = or_multisig("withdrawWithheldAuthority")
# The node's own spelling, small t and all.
_FEE_CONFIG_AUTHORITY = ("transferFeeConfigAuthority", "multisigtransferFeeConfigAuthority")


def extension_types(cursor: Cursor) -> list[str]:
    """All the extensions that the rest of the data names, two bytes each."""
    names = []
    while cursor.at < len(cursor.data):
        number = cursor.u16()
        if number >= len(_EXTENSION_TYPES):
            raise UnreadableError
        names.append(_EXTENSION_TYPES[number])
    return names


def parse_transfer_fee(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_TRANSFER_FEE, cursor.u8())(accounts, cursor)


def parse_default_account_state(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_DEFAULT_ACCOUNT_STATE, cursor.u8())(accounts, cursor)


def parse_memo_transfer(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_MEMO_TRANSFER, cursor.u8())(accounts, cursor)


def parse_interest_bearing_mint(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_INTEREST_BEARING_MINT, cursor.u8())(accounts, cursor)


def parse_cpi_guard(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_CPI_GUARD, cursor.u8())(accounts, cursor)


def parse_transfer_hook(accounts: list[str], cursor: Cursor) -> Typed:
    return _parse_pointer(accounts, cursor, "TransferHook", "programId")


def parse_metadata_pointer(accounts: list[str], cursor: Cursor) -> Typed:
    return _parse_pointer(accounts, cursor, "MetadataPointer", "metadataAddress")


def parse_group_pointer(accounts: list[str], cursor: Cursor) -> Typed:
    return _parse_pointer(accounts, cursor, "GroupPointer", "groupAddress")


def parse_group_member_pointer(accounts: list[str], cursor: Cursor) -> Typed:
    return _parse_pointer(accounts, cursor, "GroupMemberPointer", "memberAddress")


def parse_scaled_ui_amount(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_SCALED_UI_AMOUNT, cursor.u8())(accounts, cursor)


def parse_pausable(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_PAUSABLE, cursor.u8())(accounts, cursor)


def _parse_pointer(accounts: list[str], cursor: Cursor, extension: str, pointer: str) -> Typed:
    """An extension that keeps one address, and who may change it; both may be none."""
    tag = cursor.u8()
    if tag > 1:
        raise UnreadableError
    info: Info = {"mint": accounts[0]}
    if tag == 0:
        authority = cursor.nullable_pubkey()
        if authority is not None:
            info["authority"] = authority
    else:
        at_least(accounts, 2)
        put_authority(info, accounts, 1, _AUTHORITY)
    address = cursor.nullable_pubkey()
    cursor.end()
    if address is not None:
        info[pointer] = address
    return f"{'update' if tag else 'initialize'}{extension}", info


def _initialize_transfer_fee_config(accounts: list[str], cursor: Cursor) -> Typed:
    config_authority, withheld_authority = cursor.optional_pubkey(), cursor.optional_pubkey()
    info: Info = {
        "mint": accounts[0],
        "transferFeeBasisPoints": cursor.u16(),
        "maximumFee": cursor.u64(),
    }
    if config_authority is not None:
        info["transferFeeConfigAuthority"] = config_authority
    if withheld_authority is not None:
        info["withdrawWithheldAuthority"] = withheld_authority
    return "initializeTransferFeeConfig", info


def _transfer_checked_with_fee(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 4)
    amount, decimals, fee = cursor.u64(), cursor.u8(), cursor.u64()
    info: Info = {
        "source": accounts[0],
        "mint": accounts[1],
        "destination": accounts[2],
        "tokenAmount": ui_amount(amount, decimals),
        "feeAmount": ui_amount(fee, decimals),
    }
    put_authority(info, accounts, 3, _AUTHORITY)
    return "transferCheckedWithFee", info


def _withdraw_withheld_tokens_from_accounts(accounts: list[str], cursor: Cursor) -> Typed:
    source_count = cursor.u8()
    at_least(accounts, 3 + source_count)
    first_source = len(accounts) - source_count
    info: Info = {
        "mint": accounts[0],
        "feeRecipient": accounts[1],
        "sourceAccounts": accounts[first_source:],
    }
    put_authority(info, accounts[:first_source], 2, _WITHHELD_AUTHORITY)
    return "withdrawWithheldTokensFromAccounts", info


def _harvest_withheld_tokens_to_mint(accounts: list[str], cursor: Cursor) -> Typed:
    info: Info = {"mint": accounts[0], "sourceAccounts": accounts[1:]}
    return "harvestWithheldTokensToMint", info


def _account_state(cursor: Cursor) -> str:
    state = cursor.u8()
    if state >= len(_ACCOUNT_STATES):
        raise UnreadableError
    return _ACCOUNT_STATES[state]


def _multiplier(cursor: Cursor) -> str:
    return float_text(cursor.f64())


_FEE = (("transferFeeBasisPoints", Cursor.u16), ("maximumFee", Cursor.u64))
_STATE = (("accountState", _account_state),)

_TRANSFER_FEE: dict[int, Parser] = {
    0: _initialize_transfer_fee_config,
    1: _transfer_checked_with_fee,
    2: Layout("withdrawWithheldTokensFromMint", ("mint", "feeRecipient"), (), _WITHHELD_AUTHORITY),
    3: _withdraw_withheld_tokens_from_accounts,
    4: _harvest_withheld_tokens_to_mint,
    5: Layout("setTransferFee", ("mint",), _FEE, _FEE_CONFIG_AUTHORITY),
}
_DEFAULT_ACCOUNT_STATE: dict[int, Parser] = {
    0: Layout("initializeDefaultAccountState", ("mint",), _STATE, exact=True),
    1: Layout(
        "updateDefaultAccountState",
        ("mint",),
        _STATE,
        or_multisig("freezeAuthority"),
        exact=True,
    ),
}
_MEMO_TRANSFER: dict[int, Parser] = {
    0: Layout("enableRequiredMemoTransfers", ("account",), (), _OWNER),
    1: Layout("disableRequiredMemoTransfers", ("account",), (), _OWNER),
}
_CPI_GUARD: dict[int, Parser] = {
    0: Layout("enableCpiGuard", ("account",), (), _OWNER),
    1: Layout("disableCpiGuard", ("account",), (), _OWNER),
}
_INTEREST_BEARING_MINT: dict[int, Parser] = {
    0: Layout(
        "initializeInterestBearingConfig",
        ("mint",),
        (("rateAuthority", Cursor.nullable_pubkey), ("rate", Cursor.i16)),
        exact=True,
    ),
    1: Layout(
        "updateInterestBearingConfigRate",
        ("mint",),
        (("newRate", Cursor.i16),),
        or_multisig("rateAuthority"),
        exact=True,
    ),
}
_SCALED_UI_AMOUNT: dict[int, Parser] = {
    0: Layout(
        "initializeScaledUiAmountConfig",
        ("mint",),
        (("authority", Cursor.nullable_pubkey), ("multiplier", _multiplier)),
        exact=True,
    ),
    1: Layout(
        "updateMultiplier",
        ("mint",),
        (("newMultiplier", _multiplier), ("newMultiplierTimestamp", Cursor.i64)),
        _AUTHORITY,
        exact=True,
    ),
}
_PAUSABLE: dict[int, Parser] = {
    0: Layout(
        "initializePausableConfig",
        ("mint",),
        (("authority", Cursor.pubkey),),
        exact=True,
    ),
    1: Layout("pause", ("mint",), (), _AUTHORITY),
    2: Layout("resume", ("mint",), (), _AUTHORITY),
}
