"""Methods about accounts: single ones, many, and those of a program."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, DataTooLong, account_json
from chain.encodings import b58decode, b64decode
from chain.rent import rent_exempt
from jsonrpc.params import U64, Config
from localnet.bank import Bank
from localnet.errors import BadParams, BadRequest
from localnet.methods.table import (
    CommitmentConfig,
    ContextConfig,
    Node,
    bank_for,
    in_context,
    methods,
)

_MOST_ACCOUNTS = 100
_MOST_FILTERS = 4
_LONGEST_MEMCMP = 128
_LONGEST_ACCOUNT = 10 * 1024 * 1024


class DataSlice(Config, frozen=True, kw_only=True):
    offset: U64
    length: U64


class AccountConfig(ContextConfig, frozen=True, kw_only=True):
    encoding: AccountEncoding | None = None
    data_slice: DataSlice | None = None


class Memcmp(Config, frozen=True, kw_only=True):
    """Bytes that must stand at an offset: base58 or base64 text, or a list of numbers."""

    offset: U64
    bytes: str | list[Annotated[int, msgspec.Meta(ge=0, le=255)]]
    encoding: Literal["base58", "base64", "bytes"] | None = None


class Filter(Config, frozen=True, kw_only=True):
    """One of its fields, as the node has it."""

    memcmp: Memcmp | None = None
    data_size: U64 | None = None


class ProgramConfig(AccountConfig, frozen=True, kw_only=True):
    filters: list[Filter | Literal["tokenAccountState"]] | None = None
    with_context: bool | None = None
    sort_results: bool | None = None


@methods.add("getBalance")
def get_balance(
    call: Node, pubkey: Pubkey, config: ContextConfig = ContextConfig()
) -> dict[str, Any]:
    bank = bank_for(call, config)
    account = bank.load(pubkey)
    return in_context(bank, 0 if account is None else account.lamports)


@methods.add("getAccountInfo")
def get_account_info(
    call: Node, pubkey: Pubkey, config: AccountConfig = AccountConfig()
) -> dict[str, Any]:
    bank = bank_for(call, config)
    encoding = config.encoding or AccountEncoding.BINARY
    return in_context(bank, shown(bank, pubkey, bank.load(pubkey), config, encoding))


@methods.add("getMultipleAccounts")
def get_multiple_accounts(
    call: Node, pubkeys: list[Pubkey], config: AccountConfig = AccountConfig()
) -> dict[str, Any]:
    if len(pubkeys) > _MOST_ACCOUNTS:
        raise BadParams(f"Too many inputs provided; max {_MOST_ACCOUNTS}")
    bank = bank_for(call, config)
    encoding = config.encoding or AccountEncoding.BASE64
    return in_context(bank, [shown(bank, key, bank.load(key), config, encoding) for key in pubkeys])


@methods.add("getProgramAccounts")
def get_program_accounts(
    call: Node, program: Pubkey, config: ProgramConfig = ProgramConfig()
) -> Any:
    """Sorted by pubkey unless the caller says no."""
    tests = [filter_test(each) for each in config.filters or ()]
    if len(tests) > _MOST_FILTERS:
        raise BadParams(f"Too many filters provided; max {_MOST_FILTERS}")
    bank = bank_for(call, config)
    found = [
        (key, account)
        for key, account in bank.owned_by(program)
        if all(test(account) for test in tests)
    ]
    listed = keyed(bank, found, config, sort=config.sort_results is not False)
    return in_context(bank, listed) if config.with_context else listed


@methods.add("getMinimumBalanceForRentExemption")
def get_minimum_balance_for_rent_exemption(
    call: Node, size: U64, config: CommitmentConfig | None = None
) -> int:
    if size > _LONGEST_ACCOUNT:
        raise BadParams(f"Invalid param: no account has more than {_LONGEST_ACCOUNT} bytes")
    return rent_exempt(size)


def shown(
    bank: Bank,
    pubkey: Pubkey,
    account: Account | None,
    config: AccountConfig,
    encoding: AccountEncoding,
) -> dict[str, Any] | None:
    """An account as it was asked for; null where there is none."""
    if account is None:
        return None
    part = None
    if config.data_slice is not None:
        part = config.data_slice.offset, config.data_slice.length
    try:
        return account_json(account, encoding, load=bank.load, pubkey=pubkey, part=part)
    except DataTooLong:
        raise BadRequest(
            "Encoded binary (base 58) data should be less than 128 bytes, please use Base64"
            " encoding."
        ) from None


def keyed(
    bank: Bank,
    found: list[tuple[Pubkey, Account]],
    config: AccountConfig,
    *,
    sort: bool = True,
) -> list[dict[str, Any]]:
    """`[{pubkey, account}]`."""
    if sort:
        found = sorted(found, key=lambda each: bytes(each[0]))
    encoding = config.encoding or AccountEncoding.BINARY
    return [
        {"account": shown(bank, key, account, config, encoding), "pubkey": str(key)}
        for key, account in found
    ]


def filter_test(given: Filter | str) -> Callable[[Account], bool]:
    """Whether an account passes the filter."""
    if isinstance(given, str):
        return lambda account: len(account.data) >= 165 and account.data[108] > 0
    if (given.memcmp is None) == (given.data_size is None):
        raise BadParams("Invalid params: expected one of `dataSize`, `memcmp` in a filter")
    if given.data_size is not None:
        size = given.data_size
        return lambda account: len(account.data) == size
    assert given.memcmp is not None
    wanted, start = memcmp_bytes(given.memcmp), given.memcmp.offset
    return lambda account: account.data[start : start + len(wanted)] == wanted


def memcmp_bytes(memcmp: Memcmp) -> bytes:
    """The bytes that must stand there."""
    try:
        if isinstance(memcmp.bytes, list):
            wanted = bytes(memcmp.bytes)
        elif memcmp.encoding == "base64":
            wanted = b64decode(memcmp.bytes)
        else:
            wanted = b58decode(memcmp.bytes[: 2 * _LONGEST_MEMCMP])
    except ValueError as error:
        raise BadParams(f"Invalid param: {error}") from None
    if len(wanted) > _LONGEST_MEMCMP:
        raise BadParams("encoded memcmp data too large, max 128 bytes")
    return wanted
