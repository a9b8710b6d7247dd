"""Methods about SPL Token and Token-2022: balances, supplies, an owner's accounts."""

from typing import Any

from msgspec import UNSET, UnsetType
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import amounts_of
from chain.addresses import TOKEN_PROGRAMS
from chain.parsed_accounts.raw import Shown
from chain.parsed_accounts.token import is_account, is_mint
from jsonrpc.params import Config
from localnet.bank import Bank
from localnet.errors import BadParams
from localnet.methods.accounts import AccountConfig, keyed
from localnet.methods.table import (
    CommitmentConfig,
    ContextConfig,
    Node,
    bank_for,
    in_context,
    methods,
)

_MINT = slice(0, 32)
_OWNER = slice(32, 64)
_AMOUNT = slice(64, 72)
_DELEGATE_TAG = slice(72, 76)
_DELEGATE = slice(76, 108)
_SUPPLY = slice(36, 44)
_MOST_LARGEST = 20


class TokenFilter(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two."""

    node_enum = True

    mint: Pubkey | UnsetType = UNSET
    program_id: Pubkey | UnsetType = UNSET


@methods.add("getTokenAccountBalance")
def get_token_account_balance(
    call: Node, pubkey: Pubkey, config: CommitmentConfig | None = None
) -> dict[str, Any]:
    bank = bank_for(call, config.context() if config else ContextConfig())
    account = bank.load(pubkey)
    if account is None:
        raise BadParams("Invalid param: could not find account")
    if account.owner not in TOKEN_PROGRAMS or not is_account(account.data):
        raise BadParams("Invalid param: not a Token account")
    shown = _amounts_of(bank, Pubkey(account.data[_MINT]))
    return in_context(bank, shown(_u64(account.data[_AMOUNT])))


@methods.add("getTokenSupply")
def get_token_supply(
    call: Node, mint: Pubkey, config: CommitmentConfig | None = None
) -> dict[str, Any]:
    bank = bank_for(call, config.context() if config else ContextConfig())
    account = bank.load(mint)
    if account is None:
        raise BadParams("Invalid param: could not find account")
    if account.owner not in TOKEN_PROGRAMS:
        raise BadParams("Invalid param: not a Token mint")
    shown = amounts_of(mint, bank.load) if is_mint(account.data) else None
    if shown is None:
        raise BadParams("Invalid param: mint could not be unpacked")
    return in_context(bank, shown(_u64(account.data[_SUPPLY])))


@methods.add("getTokenLargestAccounts")
def get_token_largest_accounts(
    call: Node, mint: Pubkey, config: CommitmentConfig | None = None
) -> dict[str, Any]:
    bank = bank_for(call, config.context() if config else ContextConfig())
    shown, program = _amounts_of(bank, mint), _token_program(bank, mint)
    holdings = sorted(
        (
            (_u64(each.data[_AMOUNT]), str(key))
            for key, each in bank.owned_by(program)
            if is_account(each.data) and each.data[_MINT] == bytes(mint)
        ),
        reverse=True,
    )
    return in_context(
        bank,
        [{"address": key, **shown(amount)} for amount, key in holdings[:_MOST_LARGEST]],
    )


@methods.add("getTokenAccountsByOwner")
def get_token_accounts_by_owner(
    call: Node, owner: Pubkey, wanted: TokenFilter, config: AccountConfig = AccountConfig()
) -> dict[str, Any]:
    bank = bank_for(call, config)
    found = _accounts(bank, wanted)
    mine = [each for each in found if each[1].data[_OWNER] == bytes(owner)]
    return in_context(bank, keyed(bank, mine, config))


@methods.add("getTokenAccountsByDelegate")
def get_token_accounts_by_delegate(
    call: Node, delegate: Pubkey, wanted: TokenFilter, config: AccountConfig = AccountConfig()
) -> dict[str, Any]:
    bank = bank_for(call, config)
    mine = [
        (key, account)
        for key, account in _accounts(bank, wanted)
        if account.data[_DELEGATE_TAG] == b"\x01\0\0\0"
        and account.data[_DELEGATE] == bytes(delegate)
    ]
    return in_context(bank, keyed(bank, mine, config))


def _amounts_of(bank: Bank, mint: Pubkey) -> Shown:
    """How the node shows amounts of the mint: with its interest or multiplier, if it has one."""
    shown = amounts_of(mint, bank.load)
    if shown is not None:
        return shown
    if bank.load(mint) is None:
        raise BadParams("Invalid param: could not find mint")
    raise BadParams("Invalid param: Token mint could not be unpacked")


def _token_program(bank: Bank, mint: Pubkey) -> Pubkey:
    account = bank.load(mint)
    # Wrapped SOL's mint need not exist.
    program = TOKEN_PROGRAMS[0] if account is None else account.owner
    if program not in TOKEN_PROGRAMS:
        raise BadParams("Invalid param: not a Token mint")
    return program


def _accounts(bank: Bank, wanted: TokenFilter) -> list[tuple[Pubkey, Account]]:
    """The token accounts of the mint, or of the program."""
    if (wanted.mint is UNSET) == (wanted.program_id is UNSET):
        raise BadParams("Invalid params: invalid value: map, expected map with a single key.")
    if wanted.program_id is not UNSET:
        program = wanted.program_id
        if program not in TOKEN_PROGRAMS:
            raise BadParams("Invalid param: unrecognized Token program id")
    else:
        assert wanted.mint is not UNSET
        _amounts_of(bank, wanted.mint)
        program = _token_program(bank, wanted.mint)
    return [
        (key, account)
        for key, account in bank.owned_by(program)
        if is_account(account.data)
        and (wanted.mint is UNSET or account.data[_MINT] == bytes(wanted.mint))
    ]


def _u64(data: bytes) -> int:
    return int.from_bytes(data, "little")
