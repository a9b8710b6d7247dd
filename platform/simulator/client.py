"""Simulation for services: accounts in, outcomes out; the engine runs in separate processes."""

import atexit
import os
from collections.abc import Mapping, Sequence
from threading import Lock

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from simulator.errors import AccountsMissing
from simulator.jobs import make_job
from simulator.moment import Moment
from simulator.outcome import Outcome
from simulator.required_accounts import needed_keys
from simulator.workers import Workers

_workers: Workers | None = None
_starting = Lock()


def simulate(
    transactions: Sequence[VersionedTransaction],
    accounts: Mapping[Pubkey, Account | None],
    moment: Moment,
    *,
    verify: bool = True,
    timeout_seconds: float = 10.0,
) -> list[Outcome]:
    """The outcomes of the transactions, executed in order on these accounts; the first failure is
    the last outcome.

    None marks an account that is known to be absent. Raises AccountsMissing with the needed
    accounts that are not given: load them too and retry (tables first, then their entries, then
    code and mints). Sysvars that are not given are the engine's own. Raises EngineFault, or its
    subclass EngineTimeout, if the outcome is unknown.
    """
    needed = needed_keys(transactions, accounts)
    if needed:
        raise AccountsMissing(needed)
    job = make_job(transactions, accounts, moment, verify)
    return engine_processes().run(job, timeout_seconds=timeout_seconds)


def engine_processes() -> Workers:
    """This process's engine processes; each starts when it is first needed."""
    global _workers
    with _starting:
        if _workers is None:
            _workers = Workers()
        return _workers


@atexit.register
def _close() -> None:
    if _workers is not None:
        _workers.close()


def _forget() -> None:
    # A forked child would read the responses to its parent's jobs.
    global _workers, _starting
    _workers, _starting = None, Lock()


os.register_at_fork(after_in_child=_forget)
