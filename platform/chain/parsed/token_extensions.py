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
    variants,
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


def _pointer(extension: str, pointer: str) -> Parser:
    """An extension that keeps one address, and who may change it; both may be none."""
    address = (pointer, Cursor.nullable_pubkey)
    return variants(
        {
            0: Layout(
                f"initialize{extension}",
                ("mint",),
                (("authority", Cursor.nullable_pubkey), address),
                exact=True,
                omitted=("authority", pointer),
            ),
            1: Layout(
                f"update{extension}",
                ("mint",),
                (address,),
                _AUTHORITY,
                exact=True,
                omitted=(pointer,),
            ),
        },
        Cursor.u8,
    )


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
    0: Layout(
        "initializeTransferFeeConfig",
        ("mint",),
        (
            ("transferFeeConfigAuthority", Cursor.optional_pubkey),
            ("withdrawWithheldAuthority", Cursor.optional_pubkey),
            *_FEE,
        ),
        omitted=("transferFeeConfigAuthority", "withdrawWithheldAuthority"),
    ),
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

parse_transfer_fee = variants(_TRANSFER_FEE, Cursor.u8)
parse_default_account_state = variants(_DEFAULT_ACCOUNT_STATE, Cursor.u8)
parse_memo_transfer = variants(_MEMO_TRANSFER, Cursor.u8)
parse_interest_bearing_mint = variants(_INTEREST_BEARING_MINT, Cursor.u8)
parse_cpi_guard = variants(_CPI_GUARD, Cursor.u8)
parse_scaled_ui_amount = variants(_SCALED_UI_AMOUNT, Cursor.u8)
parse_pausable = variants(_PAUSABLE, Cursor.u8)
parse_transfer_hook = _pointer("TransferHook", "programId")
parse_metadata_pointer = _pointer("MetadataPointer", "metadataAddress")
parse_group_pointer = _pointer("GroupPointer", "groupAddress")
parse_group_member_pointer = _pointer("GroupMemberPointer", "memberAddress")
