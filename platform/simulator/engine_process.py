"""An engine process: runs jobs from its socket, one by one, until the socket is closed."""

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

from chain.addresses import BUILTINS, INSTRUCTIONS, SYSVARS
from chain.units import Slot
from simulator.engine import Engine
from simulator.errors import AccountsMissing
from simulator.jobs import (
    Answer,
    Payload,
    ValueCache,
    given_blockhashes,
    packed_outcome,
    receive,
    send,
)
from simulator.moment import Moment
from simulator.outcome import Outcome
from simulator.self_test import self_test

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


def main(descriptor: int, memory_limit: int) -> None:
    """Responds to the self-test first, then to every job. Exits if it exceeds the memory limit."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    # Ctrl-C reaches the whole process group: this process ends when its socket is closed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as connection:
        engine, cache = Engine(), ValueCache()
        try:
            self_test(engine)
            send(connection, Answer([], None, _memory()))
            while True:
                send(connection, _answer(engine, cache, receive(connection)))
        except (EOFError, ConnectionError):
            return
        except MemoryError:
            # Too little memory to respond: the parent detects that the process has ended.
            os._exit(1)
        except Exception as fault:
            send(connection, Answer([], fault, _memory()))


def run_job(engine: Engine, cache: ValueCache, job: Payload) -> list[Outcome]:
    """The outcomes of the job's transactions; AccountsMissing if accounts are missing."""
    accounts, features = cache.take(job)
    missing: dict[Pubkey, None] = {}

    def load(key: Pubkey) -> Account | None:
        if key in accounts:
            return accounts[key]
        if key not in BUILTINS and key not in SYSVARS and key != INSTRUCTIONS:
            missing[key] = None
        return None

    moment = Moment(
        slot=Slot(job.slot),
        previous_blockhash=Hash(job.previous_blockhash),
        blockhashes=given_blockhashes(job),
        features=features,
    )
    transactions = [VersionedTransaction.from_bytes(wire) for wire in job.transactions]
    outcomes = engine.execute_bundle(transactions, load=load, moment=moment, verify=job.verify)
    if missing:
        raise AccountsMissing(missing)
    return outcomes


def _answer(engine: Engine, cache: ValueCache, job: Payload) -> Answer:
    try:
        outcomes = run_job(engine, cache, job)
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
