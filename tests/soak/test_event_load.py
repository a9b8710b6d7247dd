"""Two hundred events a second: fates settled, published, posted and recorded, in time."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from solders.signature import Signature

from alerts.models import Delivery, Event
from alerts.services import delivering, routing, rules, webhooks
from priority.fates.services import settling
from priority.fates.store.settling import FoundRow
from priority.models import Submission
from tests.soak.event_receiver import serve

pytestmark = pytest.mark.soak

PER_SECOND = int(os.environ.get("SOAK_RATE", "200"))
SECONDS = int(os.environ.get("SOAK_SECONDS", "30"))
SLOT_SECONDS = 0.4
RECEIVERS = 4


def _settle(submissions: list[Submission], slot: int) -> None:
    found = [FoundRow(bytes(row.signature), slot, at, None) for at, row in enumerate(submissions)]
    settling.settle_found(found, now=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_two_hundred_events_a_second_are_posted_as_they_come(
    issue: Callable[..., Any], settings: Any, empty_redis: None
) -> None:
    settings.WEBHOOKS_PRIVATE = True
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=serve, args=[theirs])
    receiver.start()
    theirs.close()  # a receiver that ends is noticed
    port, key = ours.recv(), issue().key
    for number in range(RECEIVERS):
        hook = webhooks.create(key.customer_id, name="r", url=f"http://127.0.0.1:{port}/{number}")
        # Each rule has a key of its own, so that each fate is one event.
        own = key if number == 0 else issue().key
        rules.create(
            hook.customer_id or 0,
            name=f"rule {number}",
            trigger="submission",
            condition={"keys": [own.pk]},
            webhook=hook,
            now=timezone.now(),
        )
    keys = list(range(key.pk, key.pk + RECEIVERS))
    now, total = timezone.now(), PER_SECOND * SECONDS
    rows = Submission.objects.bulk_create(
        [
            Submission(
                signature=Signature.new_unique(),
                kind="transaction",
                key_id=keys[number % RECEIVERS],
                blockhash=bytes(32),
                accepted_at=now,
                state="sent",
                sent_at=now,
            )
            for number in range(total)
        ],
        batch_size=1_000,
    )
    stopping = threading.Event()

    def work() -> None:
        """What the worker's task and its threads do."""
        while not stopping.wait(0.2):
            while routing.route_events(now=timezone.now(), staff_mail=[]) == routing.MOST_EVENTS:
                pass
            turns = delivering.claim(now=timezone.now(), most=12, failing=False)
            threads = [threading.Thread(target=_deliver, args=[turn]) for turn in turns]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        connection.close()

    worker = threading.Thread(target=work)
    per_slot = round(PER_SECOND * SLOT_SECONDS)
    statements = CaptureQueriesContext(connection)
    worker.start()
    began, cpu = time.monotonic(), time.process_time()
    with statements:
        for slot, at in enumerate(range(0, total, per_slot)):
            _settle(rows[at : at + per_slot], 100 + slot)
            time.sleep(max(0.0, began + (slot + 1) * SLOT_SECONDS - time.monotonic()))
    settled = time.monotonic() - began
    while Delivery.objects.filter(state="delivered").count() < total:
        assert time.monotonic() - began < SECONDS + 60, Delivery.objects.filter(
            state="waiting"
        ).count()
        time.sleep(0.1)
    spent, used = time.monotonic() - began, time.process_time() - cpu
    stopping.set()
    worker.join()
    ours.send("end")
    got = ours.recv()
    receiver.join()
    assert len(got) == len({name for name, _signature in got}) == total == Event.objects.count()
    assert {signature for _name, signature in got} == {str(row.signature) for row in rows}
    load = os.getloadavg()[0]
    print(
        f"\n{total} events in {settled:.1f} s ({total / settled:.0f} a second), the last one posted"
        f" {spent - settled:.1f} s later; {1_000 * used / total:.2f} ms of CPU an event, with"
        f" settling: {len(statements) / total:.3f} statements an event for that; load {load:.1f}"
    )
    assert spent - settled < 10.0


def _deliver(turn: delivering.Turn) -> None:
    delivering.deliver(turn, clock=timezone.now)
    connection.close()
