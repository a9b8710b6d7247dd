"""An account in the encodings that the standard node answers in."""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import zstandard
from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import WRAPPED_SOL
from chain.encodings import b58encode, b64encode
from chain.parsed.amounts import ui_amount
from chain.parsed_accounts.accounts import parse_account
from chain.parsed_accounts.mint_amounts import amounts_of_mint
from chain.parsed_accounts.raw import Shown
from chain.parsed_accounts.sysvars import CLOCK, clock_timestamp
from chain.parsed_accounts.token import is_mint
from eventloop.of_thread import OfThread

LONGEST_BASE58 = 128
_CLOCK = Pubkey.from_string(CLOCK)
# Wrapped SOL: known to every node, so that its accounts are shown without its mint.
_NATIVE_DECIMALS = 9
_compressor = OfThread(lambda: zstandard.ZstdCompressor(level=3))

Loader = Callable[[Pubkey], Account | None]


class AccountEncoding(Enum):
    """How an account's data is encoded; `binary` is the oldest one, and the default."""

    BINARY = "binary"
    BASE58 = "base58"
    BASE64 = "base64"
    JSON_PARSED = "jsonParsed"
    BASE64_ZSTD = "base64+zstd"


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
    """`{data, executable, lamports, owner, rentEpoch, space}`; `part` is the offset and length of
    the data to return. For jsonParsed, `pubkey` is the account's key (without it sysvars and old
    vote accounts are not parsed), and `load` returns a token account's mint, and the clock if the
    mint has interest or a multiplier. Raises DataTooLong.
    """
    data = account.data
    shown = None
    if encoding is AccountEncoding.JSON_PARSED:
        shown = parse_account(
            None if pubkey is None else str(pubkey),
            str(account.owner),
            data,
            lambda mint: amounts_of(Pubkey.from_string(mint), load),
        )
    if shown is None:
        shown = _written(data, encoding, part, longest_base58)
    return {
        "data": shown,
        "executable": account.executable,
        "lamports": account.lamports,
        "owner": str(account.owner),
        "rentEpoch": account.rent_epoch,
        "space": len(data),
    }


def amounts_of(mint: Pubkey, load: Loader) -> Shown | None:
    """How raw amounts of a mint's tokens are shown; None if its account is not a mint's. As in the
    node, any program may own it.
    """
    if mint == WRAPPED_SOL:
        return partial(ui_amount, decimals=_NATIVE_DECIMALS)
    account = load(mint)
    if account is None or not is_mint(account.data):
        return None
    return amounts_of_mint(account.data, lambda: _now(load))


def _now(load: Loader) -> int | None:
    clock = load(_CLOCK)
    return None if clock is None else clock_timestamp(clock.data)


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
        # As a stream of unknown length, which is how a node writes its frames.
        frame = _compressor.value.compressobj()
        return [b64encode(frame.compress(data) + frame.flush()), "base64+zstd"]
    # What nothing parses is written in base64.
    return [b64encode(data), "base64"]
