"""Methods about accounts: single ones, many, and those of a program."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, DataTooLong, account_json
from chain.memcmp import memcmp_bytes
from chain.rent import rent_exempt
from jsonrpc.node_params import NodeWord
from jsonrpc.params import U8, U64, USIZE, Config
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
_LONGEST_ACCOUNT = 10 * 1024 * 1024


class DataSlice(Config, frozen=True, kw_only=True):
    node_struct = "UiDataSliceConfig"
    node_sequence = True

    offset: USIZE
    length: USIZE


class AccountConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcAccountInfoConfig"

    encoding: AccountEncoding | None = None
    data_slice: DataSlice | None = None


class Memcmp(Config, frozen=True, kw_only=True):
    """Bytes that must stand at an offset: base58 or base64 text, or a list of numbers."""

    node_struct = "Memcmp"

    offset: USIZE
    bytes: Annotated[str | list[U8], NodeWord("DataType")]
    encoding: Literal["base58", "base64", "bytes"] | None = None


class Filter(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of its fields, as the node has it."""

    node_enum = True

    data_size: U64 | UnsetType = UNSET
    memcmp: Memcmp | UnsetType = UNSET


class ProgramConfig(AccountConfig, frozen=True, kw_only=True):
    node_struct = "RpcProgramAccountsConfig"

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
    filters = config.filters or []
    if len(filters) > _MOST_FILTERS:
        raise BadParams(f"Too many filters provided; max {_MOST_FILTERS}")
    tests = [filter_test(each) for each in filters]
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
    call: Node, size: USIZE, config: CommitmentConfig | None = None
) -> int:
    if size > _LONGEST_ACCOUNT:
        raise BadRequest("Invalid request")
    return rent_exempt(size)


def shown(
    bank: Bank,
    pubkey: Pubkey,
    account: Account | None,
    config: AccountConfig,
    encoding: AccountEncoding,
) -> dict[str, Any] | None:
    """An account as it was asked for; null without one."""
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
    if (given.memcmp is UNSET) == (given.data_size is UNSET):
        raise BadParams("Invalid params: invalid value: map, expected map with a single key.")
    if given.data_size is not UNSET:
        size = given.data_size
        return lambda account: len(account.data) == size
    assert given.memcmp is not UNSET
    try:
        wanted = memcmp_bytes(given.memcmp.bytes, given.memcmp.encoding)
    except ValueError as error:
        raise BadParams(str(error)) from None
    start = given.memcmp.offset
    return lambda account: account.data[start : start + len(wanted)] == wanted
