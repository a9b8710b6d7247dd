"""Engine processes: the same outcomes from another process, whatever happens to it."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import Slot
from simulator import client
from simulator.errors import AccountsMissing, BadSysvar, EngineFault, EngineTimeout
from simulator.features import feature_set_at
from simulator.jobs import Job, New, ValueCache, make_job
from simulator.moment import Moment
from simulator.sent import SentValues
from simulator.workers import Workers
from tests.patience import PATIENCE_SECONDS as PATIENCE
from tests.simulator import elf
from tests.simulator.world import (
    ALICE,
    BOB,
    RECENT,
    SOL,
    World,
    address,
    call,
    pay,
    plain,
    v0,
    writable,
)

PROGRAM = address(800)


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers(processes=1)
    yield pool
    pool.close()


def job_of(world: World, transaction: VersionedTransaction) -> Job:
    return make_job([transaction], world.accounts, world.moment, True)


def test_a_simulation_in_a_process_is_the_engines_own() -> None:
    world = World()
    world.deploy(PROGRAM, elf.fails_with(7))
    transactions = [pay(BOB.pubkey(), SOL), v0([call(PROGRAM)]), pay(BOB.pubkey(), SOL)]
    outcomes = client.simulate(transactions, world.accounts, world.moment, timeout_seconds=PATIENCE)
    here = world.engine.execute_bundle(transactions, load=world.accounts.get, moment=world.moment)
    assert outcomes == here
    assert [outcome.err for outcome in here] == [None, {"InstructionError": [0, {"Custom": 7}]}]


def test_missing_accounts_are_named_until_all_are_there() -> None:
    world = World()
    world.deploy(PROGRAM, elf.SUCCEEDS)
    given: dict[Pubkey, Account | None] = {}
    asked = []
    while True:
        try:
            (outcome,) = client.simulate(
                [v0([call(PROGRAM)])], given, world.moment, timeout_seconds=PATIENCE
            )
            break
        except AccountsMissing as missing:
            asked.append(missing.keys)
            given.update({key: world.accounts.get(key) for key in missing.keys})
    assert outcome.err is None
    code = Pubkey.from_bytes(world.accounts[PROGRAM].data[4:36])
    assert asked == [(ALICE.pubkey(), PROGRAM), (code,)]


def test_a_moment_travels_whole(workers: Workers) -> None:
    world = World()
    transaction = pay(BOB.pubkey(), SOL)

    def err(moment: Moment) -> object:
        job = make_job([transaction], world.accounts, moment, True)
        (outcome,) = workers.run(job, timeout_seconds=PATIENCE)
        return outcome.err

    slot, previous = world.moment.slot, world.previous_blockhash
    assert err(Moment(slot, previous, {RECENT})) is None
    assert err(Moment(slot, previous, {Hash.default()})) == "BlockhashNotFound"
    assert err(Moment(slot, previous, None)) is None
    early = feature_set_at(Slot(320_000_000))
    assert err(Moment(slot, previous, None, early)) is None


def test_a_fault_of_the_job_is_raised_and_the_process_goes_on(workers: Workers) -> None:
    world = World()
    assert workers.run(job_of(world, pay(BOB.pubkey(), 1)), timeout_seconds=PATIENCE)
    pids = workers.pids()
    world.accounts[addresses.RENT] = plain(SOL, b"rent", addresses.SYSVAR_OWNER)
    with pytest.raises(BadSysvar, match=str(addresses.RENT)):
        workers.run(job_of(world, pay(BOB.pubkey(), 1)), timeout_seconds=PATIENCE)
    del world.accounts[addresses.RENT]
    assert workers.run(job_of(world, pay(BOB.pubkey(), 1)), timeout_seconds=PATIENCE)
    assert workers.pids() == pids


def test_a_process_that_takes_too_long_is_killed_and_replaced(workers: Workers) -> None:
    job = job_of(World(), pay(BOB.pubkey(), 1))
    workers.run(job, timeout_seconds=PATIENCE)
    (pid,) = workers.pids()
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(EngineTimeout, match="too long"):
        workers.run(job, timeout_seconds=0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    (outcome,) = workers.run(job, timeout_seconds=PATIENCE)
    assert outcome.err is None


def test_a_process_that_dies_at_work_is_a_fault(workers: Workers) -> None:
    job = job_of(World(), pay(BOB.pubkey(), 1))
    workers.run(job, timeout_seconds=PATIENCE)
    (pid,) = workers.pids()
    os.kill(pid, signal.SIGSTOP)
    faults: list[EngineFault] = []

    def ask() -> None:
        try:
            workers.run(job, timeout_seconds=PATIENCE)
        except EngineFault as fault:
            faults.append(fault)

    asking = threading.Thread(target=ask)
    asking.start()
    while not workers.busy():
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    asking.join(PATIENCE)
    assert [str(fault) for fault in faults] == ["the engine's process died"]
    assert workers.run(job, timeout_seconds=PATIENCE)


def test_a_process_that_died_while_idle_is_replaced(workers: Workers) -> None:
    job = job_of(World(), pay(BOB.pubkey(), 1))
    workers.run(job, timeout_seconds=PATIENCE)
    (pid,) = workers.pids()
    os.kill(pid, signal.SIGKILL)
    # Dead once its parent could wait for it, which the pool checks.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert workers.run(job, timeout_seconds=PATIENCE)
    assert workers.pids() != [pid]


def test_a_busy_pool_is_waited_for_no_longer_than_asked(workers: Workers) -> None:
    job = job_of(World(), pay(BOB.pubkey(), 1))
    workers.run(job, timeout_seconds=PATIENCE)
    (pid,) = workers.pids()
    os.kill(pid, signal.SIGSTOP)
    answers: list[object] = []
    asking = threading.Thread(
        target=lambda: answers.append(workers.run(job, timeout_seconds=PATIENCE))
    )
    asking.start()
    while not workers.busy():
        time.sleep(0.001)
    with pytest.raises(EngineTimeout, match="busy"):
        workers.run(job, timeout_seconds=0.05)
    os.kill(pid, signal.SIGCONT)
    asking.join(PATIENCE)
    assert len(answers) == 1


@pytest.mark.parametrize("limits", [{"jobs_each": 2}, {"memory_each": 1}])
def test_an_old_process_gives_way_to_a_new_one(limits: dict[str, int]) -> None:
    pool = Workers(processes=1, **limits)
    job = job_of(World(), pay(BOB.pubkey(), 1))
    first: list[int] = []
    try:
        for _ in range(2):
            assert pool.run(job, timeout_seconds=PATIENCE)
            first = first or pool.pids()
        assert pool.pids() != first
        assert len(pool.pids()) == 1
    finally:
        pool.close()


def test_a_process_that_asks_for_too_much_memory_dies_alone() -> None:
    world = World()
    heavy = World()
    keys = [address(900 + each) for each in range(6)]
    heavy.accounts.update({key: plain(100 * SOL, bytes(10 * 1024 * 1024)) for key in keys})
    heavy.deploy(PROGRAM, elf.SUCCEEDS)
    transaction = v0([call(PROGRAM, b"", [writable(key) for key in keys])])
    pool = Workers(processes=1, memory_limit=200 * 1024 * 1024)
    try:
        light = job_of(world, pay(BOB.pubkey(), 1))
        for _ in range(2):
            with pytest.raises(EngineFault, match="died"):
                pool.run(job_of(heavy, transaction), timeout_seconds=PATIENCE)
            (outcome,) = pool.run(light, timeout_seconds=PATIENCE)
            assert outcome.err is None
            assert len(pool.pids()) == 1
    finally:
        pool.close()
    # As many bytes as a transaction may load are no trouble with the limit that there is.
    (outcome,) = client.engine_processes().run(job_of(heavy, transaction), timeout_seconds=PATIENCE)
    assert outcome.err is None


def test_many_threads_share_the_processes() -> None:
    pool = Workers(processes=2)
    world = World()
    errs: list[object] = []

    def ask(lamports: int) -> None:
        job = job_of(world, pay(BOB.pubkey(), lamports))
        for _ in range(5):
            (outcome,) = pool.run(job, timeout_seconds=PATIENCE)
            errs.append((outcome.err, outcome.post_balances[1] - 10 * SOL == lamports))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 7)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert len(pool.pids()) <= 2
    finally:
        pool.close()
    assert errs == [(None, True)] * 30


def test_a_closed_pool_ends_its_processes_and_takes_no_jobs(workers: Workers) -> None:
    job = job_of(World(), pay(BOB.pubkey(), 1))
    workers.run(job, timeout_seconds=PATIENCE)
    (pid,) = workers.pids()
    workers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(EngineFault, match="closed"):
        workers.run(job, timeout_seconds=PATIENCE)


def test_what_a_process_keeps_is_what_comes_with_each_job(workers: Workers) -> None:
    """Programs travel once; an account that is another, however alike, is another one there too."""
    world = World()
    transaction = v0([call(PROGRAM)])

    def err() -> object:
        (outcome,) = workers.run(job_of(world, transaction), timeout_seconds=PATIENCE)
        return outcome.err

    world.deploy(PROGRAM, elf.SUCCEEDS)
    code = Pubkey.from_bytes(world.accounts[PROGRAM].data[4:36])
    succeeding = world.accounts[code]
    world.deploy(PROGRAM, elf.fails_with(7))
    failing = world.accounts[code]
    failed = {"InstructionError": [0, {"Custom": 7}]}
    for _ in range(3):
        for account, expected in ((succeeding, None), (failing, failed)):
            world.accounts[code] = account
            assert err() == expected
            # Made again, so that only its bytes are the same.
            world.accounts[code] = Account.from_bytes(bytes(account))
            assert err() == expected
    world.accounts[code] = succeeding
    (pid,) = workers.pids()
    os.kill(pid, signal.SIGKILL)
    with suppress(EngineFault):
        err()
    assert err() is None  # another process, which was sent nothing yet
    assert workers.pids() != [pid]


def test_what_is_too_much_to_keep_is_sent_again() -> None:
    world = World()
    world.deploy(PROGRAM, elf.SUCCEEDS)
    code = Pubkey.from_bytes(world.accounts[PROGRAM].data[4:36])
    size = len(world.accounts[code].data)
    sent, kept = SentValues(most_bytes=3 * size), ValueCache()
    accounts = [replaced(world.accounts[code], lamports=number) for number in range(9)]
    seen = []
    for number in (0, 1, 2, 0, 3, 4, 0, 1, 8, 0, 8):
        job = make_job([], {code: accounts[number]}, world.moment, True)
        payload = sent.payload(job)
        seen.append(isinstance(payload.accounts[bytes(code)], New))
        found, features = kept.take(pickle.loads(pickle.dumps(payload)))
        assert found == {code: accounts[number]}
        assert features is None
    assert seen == [True, True, True, False, True, True, False, True, True, False, False]


def replaced(account: Account, *, lamports: int) -> Account:
    return Account(lamports, account.data, account.owner, account.executable, account.rent_epoch)
