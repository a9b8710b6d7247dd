"""Submissions while PostgreSQL takes no writes, or the whole disk is full: what is accepted has its
fate, and what is not is told why.
"""

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from solders.hash import Hash

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
from tests.unwritable_database import small_disk, superuser

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
PER_SECOND = 25.0
SENDERS = 2
# How a call is refused meanwhile.
OUTAGES = {"disk_full", "database_full", "database_read_only", "database_unavailable"}
OUTAGES |= {"redis_full", "redis_unavailable", "queue_unavailable", "landing_behind"}
OUTAGES |= {"tip_addresses_unread", "upstreams_unread", "queue_full"}

Fault = Callable[[Service], contextlib.AbstractContextManager[None]]


@contextmanager
def read_only(service: Service) -> Iterator[None]:
    with superuser(service.run_dir) as server:
        server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        server.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            server.execute("ALTER SYSTEM RESET default_transaction_read_only")
            server.execute("SELECT pg_reload_conf()")


@contextmanager
def full(service: Service) -> Iterator[None]:
    filler = service.run_dir.parent / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass
    try:
        yield
    finally:
        filler.unlink()


def readiness(service: Service) -> tuple[str, list[str]]:
    """The status, and the causes of failed checks."""
    found = readyz_of(service.base_url, service.run_dir)[1]
    return found["status"], [c["cause"] for c in found["checks"].values() if "cause" in c]


@pytest.mark.parametrize(
    ("fault", "causes"),
    [
        pytest.param(read_only, {"database_read_only"}, id="read-only"),
        pytest.param(full, {"disk_full", "database_unavailable"}, id="full disk"),
    ],
)
def test_what_is_accepted_meanwhile_has_its_fate(
    fault: Fault, causes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        if fault is full:
            monkeypatch.setattr(tempfile, "tempdir", str(stack.enter_context(small_disk("900m"))))
        service = stack.enter_context(running_service(LOCALNET="true", LOCALNET_SLOT_MS="200"))
        monkeypatch.undo()
        localnet = localnet_of(service)
        rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
        addresses = TipAddresses(service)
        blockhash = fresh(lambda: Hash.from_string(newest_blockhash(localnet)), seconds=1.0)
        answered = Answered()
        senders = [
            Sender(
                service,
                funded(localnet),
                addresses.next,
                blockhash,
                answered,
                per_second=PER_SECOND / SENDERS,
                seed=seed,
            )
            for seed in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        time.sleep(SECONDS / 2)
        before = len(answered.accepted)
        with fault(service):
            time.sleep(SECONDS)
            status, found = readiness(service)
            during = len(answered.accepted) - before
        time.sleep(SECONDS / 2)
        for sender in senders:
            sender.stop()
        fates, settled = all_fates(service, list(answered.accepted))
        print(
            f"\n{status} {found}; {before} accepted before, {during} meanwhile,"
            f" {len(answered.accepted)} in all; refused {dict(answered.refused)};"
            f" fates {dict(Counter(each['state'] for each in fates.values()))}"
            f" after {settled:.1f} s"
        )
        assert status != "ok" and causes & set(found)
        assert len(fates) == len(answered.accepted) > before + during
        compare(localnet, fates, answered.accepted)
        meant = {"tip_too_small", "transaction_duplicate"}
        assert set(answered.refused) <= OUTAGES | meant
        assert readiness(service)[0] in ("ok", "degraded")
