"""Which accounts transactions need, derived from the accounts given so far."""

from collections.abc import Iterable, Iterator, Mapping

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.addresses import BUILTINS, INSTRUCTIONS, LOADER_3, LOOKUP_TABLE, SYSVARS
from simulator.lookups import listed_keys
from simulator.programs import code_key
from simulator.token_balances import held_mint

_NATIVE = BUILTINS | SYSVARS
_NEVER_NEEDED = _NATIVE | {INSTRUCTIONS}


def needed_keys(
    transactions: Iterable[VersionedTransaction], accounts: Mapping[Pubkey, Account | None]
) -> list[Pubkey]:
    """The accounts to load next: keys of the transactions, keys from their lookup tables, code of
    programs, mints of token accounts. Empty once all are given.

    None marks an account that is known to be absent. Sysvars are not returned, but should be given:
    the engine's own are those of a new chain.
    """
    needed: dict[Pubkey, None] = {}
    for transaction in transactions:
        for key in _keys(transaction, accounts):
            if key not in accounts:
                needed[key] = None
                continue
            account = accounts[key]
            if account is None:
                continue
            linked = linked_key(account)
            if linked is not None and linked not in accounts:
                needed[linked] = None
    return [key for key in needed if key not in _NEVER_NEEDED]


def linked_key(account: Account) -> Pubkey | None:
    """The program data of a program, or the mint of a token account; None for other accounts."""
    return code_key(account) if account.owner == LOADER_3 else held_mint(account)


def read_keys(
    transactions: Iterable[VersionedTransaction], accounts: Mapping[Pubkey, Account | None]
) -> set[Pubkey]:
    """The accounts whose state may affect the transactions: those that they load, their lookup
    tables, and the code of programs; without sysvars that programs read without naming them.
    """
    found = {key for transaction in transactions for key in _keys(transaction, accounts)}
    held = [account for key in found if (account := accounts.get(key)) is not None]
    code = {code_key(account) for account in held if account.owner == LOADER_3}
    return found | {key for key in code if key is not None}


def native_keys(
    transactions: Iterable[VersionedTransaction], accounts: Mapping[Pubkey, Account | None]
) -> set[Pubkey]:
    """The builtins and sysvars that the transactions name, also by lookup tables. The engine has
    accounts of its own for them; a chain's may have other balances.
    """
    named = (key for transaction in transactions for key in _keys(transaction, accounts))
    return {key for key in named if key in _NATIVE}


def mint_keys(
    transactions: Iterable[VersionedTransaction], accounts: Mapping[Pubkey, Account | None]
) -> set[Pubkey]:
    """The mints of the transactions' token accounts that no transaction names: they only affect the
    outcome's token balances.
    """
    named = {key for transaction in transactions for key in _keys(transaction, accounts)}
    return mints_of(named, accounts) - named


def mints_of(keys: Iterable[Pubkey], accounts: Mapping[Pubkey, Account | None]) -> set[Pubkey]:
    """The mints of those that are token accounts."""
    held = (accounts.get(key) for key in keys)
    mints = {held_mint(account) for account in held if account is not None}
    return {mint for mint in mints if mint is not None}


def _keys(
    transaction: VersionedTransaction, accounts: Mapping[Pubkey, Account | None]
) -> Iterator[Pubkey]:
    message = transaction.message
    yield from message.account_keys
    if not isinstance(message, MessageV0):
        return
    for lookup in message.address_table_lookups:
        yield lookup.account_key
        table = accounts.get(lookup.account_key)
        if table is None or table.owner != LOOKUP_TABLE:
            continue
        listed = listed_keys(table.data)
        for index in (*lookup.writable_indexes, *lookup.readonly_indexes):
            if index < len(listed):
                yield listed[index]
