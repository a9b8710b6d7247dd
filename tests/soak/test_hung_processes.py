"""Every process in turn is stopped under load: reported, restarted, nothing accepted lost."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from solders.hash import Hash

from embedded.run_state import read_run_state
from tests.clients.service import Service, running_service
from tests.readiness import readyz_of
from tests.soak.submitting import Answered, Sender
from tests.soak.test_chaos import localnet_of, rows
from tests.soak.test_landing_chaos import (
    TipAddresses,
    all_fates,
    compare,
    fresh,
    funded,
    newest_blockhash,
)

pytestmark = pytest.mark.soak

PER_SECOND = float(os.environ.get("SOAK_RATE", "20"))
RESTARTED_SECONDS = 30.0
_SETTLED_SECONDS = 120.0
# The last one is the chain itself: what it had not finalized is sent again.
VICTIMS = tuple(
    os.environ.get(
        "SOAK_VICTIMS",
        "lander beat worker ingest simulations follower pool+worker pool+web web"
        " session+postgres postgres valkey localnet",
    ).split()
)


def test_every_process_that_is_stopped_is_reported_and_restarted() -> None:
    with running_service(LOCALNET="true", WEB_WORKERS="2", LOG_LEVEL="INFO") as service:
        localnet = localnet_of(service)
        rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
        answered = Answered()
        addresses = TipAddresses(service)
        sender = Sender(
            service,
            funded(localnet),
            addresses.next,
            fresh(kept(lambda: Hash.from_string(newest_blockhash(localnet))), seconds=1.0),
            answered,
            per_second=PER_SECOND,
            seed=5,
        )
        wait(lambda: has_loaded(service), _SETTLED_SECONDS, "all processes have loaded")
        wait(lambda: not unwell(service), _SETTLED_SECONDS, "all processes run")
        sender.start()
        told: list[str] = []
        for victim in VICTIMS:
            told.append(stop_one(service, victim))
            print(told[-1], flush=True)
            wait(lambda: not unwell(service), _SETTLED_SECONDS, f"well after {victim}")
        sender.stop()
        fates, settled = all_fates(service, list(answered.accepted))
        states = Counter(fate["state"] for fate in fates.values())
        print(
            f"{len(answered.accepted)} accepted, fates {dict(states)} after {settled:.1f} s;"
            f" refused {dict(answered.refused)}, {answered.unanswered} without an answer"
        )
        assert states.total() == len(answered.accepted) > 0
        assert set(states) <= {"landed", "failed", "expired", "refused"}
        compare(localnet, fates, {each: fate["state"] for each, fate in fates.items()})


def stop_one(service: Service, victim: str) -> str:
    """Stops it; when it was reported, and when another one ran. Asserts the order and the time."""
    pid = pid_of(service, victim)
    name = victim.partition("+")[2] or victim
    # A session of PostgreSQL's and a pool's process are ended by those that look after them.
    must_be_reported = not victim.startswith("session")
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    reported: float | None = None
    alarmed: float | None = None
    while is_there(pid):
        spent = time.monotonic() - began
        if reported is None and name in unwell(service):
            reported = time.monotonic() - began
        if alarmed is None and name != "postgres" and name in open_alarms(service):
            alarmed = time.monotonic() - began
        assert spent < RESTARTED_SECONDS, f"{victim} is still stopped; reported: {reported}"
        time.sleep(0.1)
    wait(lambda: pid_of(service, victim) not in (None, pid), RESTARTED_SECONDS, f"another {victim}")
    restarted = time.monotonic() - began
    assert restarted < RESTARTED_SECONDS
    assert reported is not None or not must_be_reported, f"{victim} was never reported"
    return (
        f"{victim}: reported after {reported and round(reported, 1)} s, alarm after"
        f" {alarmed and round(alarmed, 1)} s, another one after {restarted:.1f} s"
    )


def pid_of(service: Service, victim: str) -> Any:
    """None while there is none."""
    state = read_run_state(service.run_dir)
    if state is None:
        return None
    part, _, name = victim.rpartition("+")
    program = state.programs.get(name) or state.servers.get(name)
    if program is None or program.pid is None or not part:
        return None if program is None else program.pid
    try:
        children = psutil.Process(program.pid).children()
        if part == "session":
            children = [
                each for each in children if "tidemark tidemark" in " ".join(each.cmdline())
            ]
    except psutil.Error:
        return None
    return min((each.pid for each in children), default=None)


def is_there(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def has_loaded(service: Service) -> bool:
    """Whether each program has reported progress: one that loads may be silent for longer."""
    state = read_run_state(service.run_dir)
    return state is not None and all(each.state == "running" for each in state.programs.values())


def unwell(service: Service) -> set[str]:
    """What /readyz says is missing, hung or away; everything while it does not answer."""
    try:
        found = readyz_of(service.base_url, service.run_dir, timeout=5)[1]
    except (OSError, ValueError):
        return {"no answer"}
    checks = found["checks"]
    names = {*(checks["processes"].get("missing") or []), *(checks["processes"].get("hung") or [])}
    if not checks["redis"]["ok"]:
        names.add("valkey")
    if not checks["database"]["ok"]:
        names.add("postgres")
    return names


def open_alarms(service: Service) -> set[str]:
    found = rows(
        service,
        "SELECT subject FROM operations_alarm WHERE name = 'process_missing'"
        " AND opened_at IS NOT NULL AND closed_at IS NULL",
    )
    return {str(subject) for (subject,) in found}


def kept(read: Callable[[], Hash]) -> Callable[[], Hash]:
    """The last one, while the chain does not answer."""
    last: list[Hash] = []

    def newest() -> Hash:
        try:
            last[:] = [read()]
        except (OSError, ValueError, AssertionError):
            if not last:
                raise
        return last[0]

    return newest


def wait(is_so: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
