"""Transactions run on past state: the accounts that they turn out to need, and the engine."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from rewind.errors import BadOverride, EngineFailed, SimulationTimedOut
from rewind.replay.services.past_state import Past
from rewind.replay.services.prefetching import remember
from simulator.client import simulate
from simulator.errors import AccountsMissing, BadSysvar, EngineFault, EngineTimeout
from simulator.outcome import Outcome
from simulator.required_accounts import mint_keys, native_keys, needed_keys

Accounts = dict[Pubkey, Account | None]
# Accounts that only the transactions' own writes reveal; each round is one more level.
_ROUNDS = 8


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
    own = past.stand_ins([key for key in natives if accounts[key] is None])
    outcomes = simulate(
        transactions,
        {**accounts, **own},
        past.moment,
        verify=False,
        timeout_seconds=timeout_seconds,
    )
    return outcomes, accounts


def run_in_order(
    past: Past,
    transactions: Sequence[VersionedTransaction],
    *,
    given: Mapping[Pubkey, Account | None] | None = None,
    timeout_seconds: float = 10.0,
) -> tuple[list[Outcome], Accounts]:
    """`run_on` for transactions that may name accounts which earlier ones of them make known.
    Raises what Past.load raises, BadOverride, EngineFailed and SimulationTimedOut.
    """
    given = given or {}
    known = dict(given)
    for _ in range(_ROUNDS):
        with engine_errors(timeout_seconds, given):
            try:
                return run_on(past, transactions, given=known, timeout_seconds=timeout_seconds)
            except AccountsMissing as missing:
                known.update(past.load(missing.keys))
    raise EngineFailed("it asks for ever more accounts")


@contextmanager
def engine_errors(timeout_seconds: float, given: Container[Pubkey] = ()) -> Iterator[None]:
    """The engine's faults as errors that a caller may get; a sysvar that is no sysvar is the
    caller's where it is among the `given` accounts. Raises BadOverride, EngineFailed and
    SimulationTimedOut.
    """
    try:
        yield
    except BadSysvar as fault:
        if fault.pubkey not in given:
            raise EngineFailed(str(fault)) from None
        raise BadOverride(str(fault), at=f"[1].overrides.{fault.pubkey}") from None
    except EngineTimeout:
        raise SimulationTimedOut(timeout_seconds) from None
    except EngineFault as fault:
        raise EngineFailed(str(fault)) from None
