"""Transactions run on past state: the accounts that they turn out to need, and the engine."""

from collections.abc import Mapping, Sequence

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from rewind.services.past_state import Past
from rewind.services.prefetching import remember
from simulator.client import simulate
from simulator.outcome import Outcome
from simulator.required_accounts import mint_keys, native_keys, needed_keys

Accounts = dict[Pubkey, Account | None]


def run_on(
    past: Past,
    transactions: Sequence[VersionedTransaction],
    *,
    given: Mapping[Pubkey, Account | None] | None = None,
    timeout_seconds: float = 10.0,
) -> tuple[list[Outcome], Accounts]:
    """What the transactions do one after the other, and every account that they found. Neither
    signatures nor the age of blockhashes are checked. `given` stand in for what was there. Raises
    what Past.load raises, EngineFault and EngineTimeout.
    """
    given = given or {}
    accounts: Accounts = {**past.sysvars, **given}
    tables = {
        lookup.account_key
        for transaction in transactions
        if isinstance(transaction.message, MessageV0)
        for lookup in transaction.message.address_table_lookups
    }
    while missing := needed_keys(transactions, accounts):
        mints = mint_keys(transactions, accounts).intersection(missing)
        for load, keys in (
            (past.load_tables, [key for key in missing if key in tables]),
            (past.load_mints, [key for key in missing if key in mints and key not in tables]),
            (past.load, [key for key in missing if key not in mints and key not in tables]),
        ):
            if keys:
                accounts.update(load(keys))
    remember(accounts)
    natives = native_keys(transactions, accounts) - given.keys()
    if natives:
        accounts.update(past.load_natives(natives))
    outcomes = simulate(
        transactions, accounts, past.moment, verify=False, timeout_seconds=timeout_seconds
    )
    return outcomes, accounts
