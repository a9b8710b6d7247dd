"""An engine process: runs the jobs that come over its socket, one by one, until it is closed."""

import os
import resource
import signal
import socket
import sys
from functools import cache

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.units import Slot
from simulator.addresses import BUILTINS, INSTRUCTIONS, SYSVARS
from simulator.engine import Engine
from simulator.errors import AccountsMissing
from simulator.jobs import Answer, Kept, Parcel, given_blockhashes, packed_outcome, receive, send
from simulator.moment import Moment
from simulator.outcome import Outcome
from simulator.self_test import self_test

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


def main(descriptor: int, memory_limit: int) -> None:
    """Answers the self-test first, then every job in its turn. With more memory than the limit it
    dies.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    # Ctrl-C reaches the whole group of processes: this one ends when its socket does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as connection:
        engine, kept = Engine(), Kept()
        try:
            self_test(engine)
            send(connection, Answer([], None, _memory()))
            while True:
                send(connection, _answer(engine, kept, receive(connection)))
        except (EOFError, ConnectionError):
            return
        except MemoryError:
            # Nothing to be told with what is left: whoever waits sees that the process is gone.
            os._exit(1)
        except Exception as fault:
            send(connection, Answer([], fault, _memory()))


def run_job(engine: Engine, kept: Kept, job: Parcel) -> list[Outcome]:
    """The outcomes of the job's transactions; AccountsMissing if it lacks an account of theirs."""
    accounts, features = kept.take(job)
    lacking: dict[Pubkey, None] = {}

    def load(key: Pubkey) -> Account | None:
        if key in accounts:
            return accounts[key]
        if key not in BUILTINS and key not in SYSVARS and key != INSTRUCTIONS:
            lacking[key] = None
        return None

    moment = Moment(
        slot=Slot(job.slot),
        previous_blockhash=Hash(job.previous_blockhash),
        blockhashes=given_blockhashes(job),
        features=features,
    )
    transactions = [VersionedTransaction.from_bytes(wire) for wire in job.transactions]
    outcomes = engine.execute_bundle(transactions, load=load, moment=moment, verify=job.verify)
    if lacking:
        raise AccountsMissing(lacking)
    return outcomes


def _answer(engine: Engine, kept: Kept, job: Parcel) -> Answer:
    try:
        outcomes = run_job(engine, kept, job)
        return Answer([packed_outcome(each) for each in outcomes], None, _memory())
    except MemoryError:
        raise
    except Exception as fault:
        return Answer([], fault, _memory())


def _memory() -> int:
    return int(os.pread(_statm(), 256, 0).split()[1]) * _PAGE_SIZE


@cache
def _statm() -> int:
    """Opened once: each job ends with a look at it."""
    return os.open("/proc/self/statm", os.O_RDONLY)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
