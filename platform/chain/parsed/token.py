"""The instructions of the token programs; Token-2022's extensions have files of their own."""

from typing import Any

from chain.parsed.amounts import checked_amount
from chain.parsed.cursor import Cursor, UnreadableError, utf8
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
from chain.parsed.token_confidential import parse_confidential_fee, parse_confidential_transfer
from chain.parsed.token_extensions import (
    extension_types,
    parse_cpi_guard,
    parse_default_account_state,
    parse_group_member_pointer,
    parse_group_pointer,
    parse_interest_bearing_mint,
    parse_memo_transfer,
    parse_metadata_pointer,
    parse_pausable,
    parse_scaled_ui_amount,
    parse_transfer_fee,
    parse_transfer_hook,
)
from chain.parsed.token_interfaces import DISCRIMINATOR_BYTES, INTERFACES
from chain.parsed.token_supply import parse_confidential_mint_burn, parse_permissioned_burn

_BATCH = 255

_AUTHORITY_TYPES = (
    "mintTokens",
    "freezeAccount",
    "accountOwner",
    "closeAccount",
    "transferFeeConfig",
    "withheldWithdraw",
    "closeMint",
    "interestRate",
    "permanentDelegate",
    "confidentialTransferMint",
    "transferHookProgramId",
    "confidentialTransferFeeConfig",
    "metadataPointer",
    "groupPointer",
    "groupMemberPointer",
    "scaledUiAmount",
    "pause",
    "permissionedBurn",
)
_OF_ACCOUNTS = frozenset({"accountOwner", "closeAccount"})


def parse_token(accounts: list[str], cursor: Cursor) -> Typed:
    """Type and info of a token instruction, of either token program; amounts are text."""
    interface = INTERFACES.get(cursor.data[:DISCRIMINATOR_BYTES])
    if interface is not None:
        return interface(accounts, Cursor(cursor.data, DISCRIMINATOR_BYTES))
    return _parse_own(accounts, cursor)


def _set_authority(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    tag = cursor.u8()
    if tag >= len(_AUTHORITY_TYPES):
        raise UnreadableError
    authority_type = _AUTHORITY_TYPES[tag]
    info: Info = {
        "account" if authority_type in _OF_ACCOUNTS else "mint": accounts[0],
        "authorityType": authority_type,
        "newAuthority": cursor.optional_pubkey(),
    }
    put_authority(info, accounts, 1, _AUTHORITY)
    return "setAuthority", info


def _initialize_multisig(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"multisig": accounts[0], "rentSysvar": accounts[1]}
    return "initializeMultisig", {**info, "signers": accounts[2:], "m": cursor.u8()}


def _initialize_multisig2(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    info: Info = {"multisig": accounts[0], "signers": accounts[1:], "m": cursor.u8()}
    return "initializeMultisig2", info


def _optional_amount(cursor: Cursor) -> str | None:
    amount = cursor.optional_u64()
    return None if amount is None else str(amount)


def _batch(accounts: list[str], cursor: Cursor) -> Typed:
    """Instructions one after another: how many accounts, how many bytes, the bytes."""
    data = cursor.data
    parsed: list[dict[str, Any]] = []
    while cursor.at < len(data):
        account_count, size = cursor.u8(), cursor.u8()
        inner = cursor.take(size)
        # A batch in a batch is refused by the program itself.
        if len(accounts) < account_count or account_count == 0 or inner[:1] == b"\xff":
            raise UnreadableError
        name, info = parse_token(accounts[:account_count], Cursor(inner))
        accounts = accounts[account_count:]
        parsed.append({"info": dict(sorted((info or {}).items())), "type": name})
    return "batch", {"instructions": parsed}


_AUTHORITY = or_multisig("authority")
_OWNER = or_multisig("owner")
_MINT_AUTHORITY = or_multisig("mintAuthority")
_FREEZE_AUTHORITY = or_multisig("freezeAuthority")
_AMOUNT = (("amount", Cursor.u64_text),)
_TOKEN_AMOUNT = (("tokenAmount", checked_amount),)
_ACCOUNT_OWNER = (("owner", Cursor.pubkey),)
_MINT = (
    ("decimals", Cursor.u8),
    ("mintAuthority", Cursor.pubkey),
    ("freezeAuthority", Cursor.optional_pubkey),
)

_VARIANTS: dict[int, Parser] = {
    0: Layout("initializeMint", ("mint", "rentSysvar"), _MINT, omitted=("freezeAuthority",)),
    1: Layout("initializeAccount", ("account", "mint", "owner", "rentSysvar")),
    2: _initialize_multisig,
    3: Layout("transfer", ("source", "destination"), _AMOUNT, _AUTHORITY),
    4: Layout("approve", ("source", "delegate"), _AMOUNT, _OWNER),
    5: Layout("revoke", ("source",), (), _OWNER),
    6: _set_authority,
    7: Layout("mintTo", ("mint", "account"), _AMOUNT, _MINT_AUTHORITY),
    8: Layout("burn", ("account", "mint"), _AMOUNT, _AUTHORITY),
    9: Layout("closeAccount", ("account", "destination"), (), _OWNER),
    10: Layout("freezeAccount", ("account", "mint"), (), _FREEZE_AUTHORITY),
    11: Layout("thawAccount", ("account", "mint"), (), _FREEZE_AUTHORITY),
    12: Layout("transferChecked", ("source", "mint", "destination"), _TOKEN_AMOUNT, _AUTHORITY),
    13: Layout("approveChecked", ("source", "mint", "delegate"), _TOKEN_AMOUNT, _OWNER),
    14: Layout("mintToChecked", ("mint", "account"), _TOKEN_AMOUNT, _MINT_AUTHORITY),
    15: Layout("burnChecked", ("account", "mint"), _TOKEN_AMOUNT, _AUTHORITY),
    16: Layout("initializeAccount2", ("account", "mint", "rentSysvar"), _ACCOUNT_OWNER),
    17: Layout("syncNative", ("account",)),
    18: Layout("initializeAccount3", ("account", "mint"), _ACCOUNT_OWNER),
    19: _initialize_multisig2,
    20: Layout("initializeMint2", ("mint",), _MINT, omitted=("freezeAuthority",)),
    21: Layout(
        "getAccountDataSize",
        ("mint",),
        (("extensionTypes", lambda cursor: extension_types(cursor) or None),),
        omitted=("extensionTypes",),
    ),
    22: Layout("initializeImmutableOwner", ("account",)),
    23: Layout("amountToUiAmount", ("mint",), _AMOUNT),
    24: Layout("uiAmountToAmount", ("mint",), (("uiAmount", lambda c: utf8(c.rest())),)),
    25: Layout(
        "initializeMintCloseAuthority", ("mint",), (("newAuthority", Cursor.optional_pubkey),)
    ),
    26: parse_transfer_fee,
    27: parse_confidential_transfer,
    28: parse_default_account_state,
    29: Layout(
        "reallocate",
        ("account", "payer", "systemProgram"),
        (("extensionTypes", extension_types),),
        _OWNER,
    ),
    30: parse_memo_transfer,
    31: Layout("createNativeMint", ("payer", "nativeMint", "systemProgram")),
    32: Layout("initializeNonTransferableMint", ("mint",)),
    33: parse_interest_bearing_mint,
    34: parse_cpi_guard,
    35: Layout("initializePermanentDelegate", ("mint",), (("delegate", Cursor.pubkey),)),
    36: parse_transfer_hook,
    37: parse_confidential_fee,
    38: Layout("withdrawExcessLamports", ("source", "destination"), (), _AUTHORITY),
    39: parse_metadata_pointer,
    40: parse_group_pointer,
    41: parse_group_member_pointer,
    42: parse_confidential_mint_burn,
    43: parse_scaled_ui_amount,
    44: parse_pausable,
    45: Layout(
        "unwrapLamports",
        ("source", "destination"),
        (("amount", _optional_amount),),
        _AUTHORITY,
        omitted=("amount",),
    ),
    46: parse_permissioned_burn,
    _BATCH: _batch,
}
_parse_own = variants(_VARIANTS, Cursor.u8)
