"""Mints, token accounts and multisigs of SPL Token and Token-2022."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import AmountsOf, RawAccount
from chain.parsed_accounts.token_extensions import parse_extensions

MINT_SIZE = 82
ACCOUNT_SIZE = 165
MULTISIG_SIZE = 355
# The account type of accounts with extensions follows the length of a plain token account.
_KIND_MINT, _KIND_ACCOUNT = 1, 2
_STATES = ("uninitialized", "initialized", "frozen")
_MOST_SIGNERS = 11


def parse_token_account(raw: RawAccount) -> dict[str, Any]:
    """A mint, an account or a multisig, by its size and kind."""
    data = raw.data
    if len(data) == MULTISIG_SIZE:
        return {"info": _multisig(Cursor(data)), "type": "multisig"}
    if is_account(data):
        info, kind = _account(Cursor(data), raw.amounts_of), "account"
    elif is_mint(data):
        info, kind = _mint(Cursor(data)), "mint"
    else:
        raise UnreadableError
    extensions = parse_extensions(data, kind)
    if extensions:
        info["extensions"] = extensions
    return {"info": dict(sorted(info.items())), "type": kind}


def is_account(data: bytes) -> bool:
    """Whether the bytes are a token account's, by their size and kind."""
    size = len(data)
    return size == ACCOUNT_SIZE or (
        size > ACCOUNT_SIZE and size != MULTISIG_SIZE and data[ACCOUNT_SIZE] == _KIND_ACCOUNT
    )


def is_mint(data: bytes) -> bool:
    """Whether the bytes are an initialized mint's."""
    size = len(data)
    if size != MINT_SIZE and (
        size <= ACCOUNT_SIZE
        or size == MULTISIG_SIZE
        or data[ACCOUNT_SIZE] != _KIND_MINT
        or any(data[MINT_SIZE:ACCOUNT_SIZE])
    ):
        return False
    try:
        _mint(Cursor(data))
    except UnreadableError:
        return False
    return True


def _mint(cursor: Cursor) -> dict[str, Any]:
    authority = _optional(cursor, cursor.pubkey)
    supply, decimals = cursor.u64_text(), cursor.u8()
    if not cursor.flag():
        raise UnreadableError
    return {
        "decimals": decimals,
        "freezeAuthority": _optional(cursor, cursor.pubkey),
        "isInitialized": True,
        "mintAuthority": authority,
        "supply": supply,
    }


def _account(cursor: Cursor, amounts_of: AmountsOf) -> dict[str, Any]:
    mint, owner, amount = cursor.pubkey(), cursor.pubkey(), cursor.u64()
    delegate = _optional(cursor, cursor.pubkey)
    state = cursor.u8()
    native = _optional(cursor, cursor.u64)
    delegated = cursor.u64()
    closer = _optional(cursor, cursor.pubkey)
    if not 0 < state < len(_STATES):
        raise UnreadableError
    shown = amounts_of(mint)
    if shown is None:
        raise UnreadableError
    info: dict[str, Any] = {
        "isNative": native is not None,
        "mint": mint,
        "owner": owner,
        "state": _STATES[state],
        "tokenAmount": shown(amount),
    }
    if delegate is not None:
        info["delegate"] = delegate
        info["delegatedAmount"] = shown(delegated)
    if native is not None:
        info["rentExemptReserve"] = shown(native)
    if closer is not None:
        info["closeAuthority"] = closer
    return info


def _multisig(cursor: Cursor) -> dict[str, Any]:
    required, valid = cursor.u8(), cursor.u8()
    if not cursor.flag():
        raise UnreadableError
    signers = [cursor.nullable_pubkey() for _ in range(_MOST_SIGNERS)]
    return {
        "isInitialized": True,
        "numRequiredSigners": required,
        "numValidSigners": valid,
        "signers": [each for each in signers if each is not None],
    }


def _optional(cursor: Cursor, read: Callable[[], Any]) -> Any:
    """An optional value of fixed size after a tag of four bytes."""
    tag = cursor.u32()
    if tag > 1:
        raise UnreadableError
    value = read()
    return value if tag else None
