"""An account in the encodings that the standard node answers in."""

import threading
from collections.abc import Callable
from enum import Enum
from typing import Any

import zstandard
from solders.account import Account
from solders.pubkey import Pubkey

from chain.encodings import b58encode, b64encode
from chain.parsed_accounts.accounts import parse_account
from chain.parsed_accounts.token import is_mint

LONGEST_BASE58 = 128
_MINT_PROGRAMS = {
    Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
    Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"),
}
_DECIMALS = 44
_ZSTD_LEVEL = 3

Loader = Callable[[Pubkey], Account | None]


class AccountEncoding(Enum):
    """How an account's data is written; `binary` is the first one there was, and the default."""

    BINARY = "binary"
    BASE58 = "base58"
    BASE64 = "base64"
    BASE64_ZSTD = "base64+zstd"
    JSON_PARSED = "jsonParsed"


class DataTooLong(ValueError):
    """More data than is written in base58."""


def account_json(
    account: Account,
    encoding: AccountEncoding,
    *,
    load: Loader,
    pubkey: Pubkey | None = None,
    part: tuple[int, int] | None = None,
    longest_base58: int = LONGEST_BASE58,
) -> dict[str, Any]:
    """`{data, executable, lamports, owner, rentEpoch, space}`; `part` is offset and length of the
    data that is wanted, `load` finds the mint of a token account. DataTooLong.
    """
    data = _parsed(account, load) if encoding is AccountEncoding.JSON_PARSED else None
    if data is None:
        data = _written(bytes(account.data), encoding, part, longest_base58)
    return {
        "data": data,
        "executable": account.executable,
        "lamports": account.lamports,
        "owner": str(account.owner),
        "rentEpoch": account.rent_epoch,
        "space": len(account.data),
    }


def mint_decimals(key: Pubkey, load: Loader) -> int | None:
    """The decimals of a mint; None where the account is none."""
    account = load(key)
    if account is None or account.owner not in _MINT_PROGRAMS or not is_mint(account.data):
        return None
    decimals: int = account.data[_DECIMALS]
    return decimals


def _parsed(account: Account, load: Loader) -> dict[str, Any] | None:
    def decimals_of(mint: str) -> int | None:
        return mint_decimals(Pubkey.from_string(mint), load)

    return parse_account(str(account.owner), bytes(account.data), decimals_of)


def _written(
    data: bytes, encoding: AccountEncoding, part: tuple[int, int] | None, longest_base58: int
) -> Any:
    if part is not None:
        offset, length = part
        data = data[offset : offset + length]
    if encoding in (AccountEncoding.BINARY, AccountEncoding.BASE58):
        if len(data) > longest_base58:
            raise DataTooLong
        text = b58encode(data)
        return text if encoding is AccountEncoding.BINARY else [text, "base58"]
    if encoding is AccountEncoding.BASE64_ZSTD:
        return [b64encode(_compressors.own.compress(data)), "base64+zstd"]
    # What nothing parses is written in base64.
    return [b64encode(data), "base64"]


class _Compressors(threading.local):
    """A compressor a thread: one must not be used by two at once, and making one is dear."""

    def __init__(self) -> None:
        self.own = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)


_compressors = _Compressors()
