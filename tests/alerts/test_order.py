"""Deliveries in batches, and the order of events of one subject."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from alerts.models import Attempt, Delivery, Webhook
from alerts.schedule import DELAYS
from alerts.services import delivering, routing
from alerts.services.events import publish
from alerts.store import count_waiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def tell(ada: Any, clock: Any) -> Callable[..., None]:
    """`tell("a", 1)`: an event of the subject, with a number."""

    def write(subject: str, number: int) -> None:
        publish(
            "key.revoked",
            about=f"{subject} {number}",
            text="A key was revoked.",
            data={},
            now=clock.now,
            customer_id=ada.pk,
            subject=subject,
        )

    return write


def _abouts(receiver: Any) -> list[str]:
    return [json.loads(body)["data"]["about"] for _path, _headers, body in receiver.got]


def test_a_failed_event_holds_up_later_ones_of_its_subject_alone(
    hook: Any, receiver: Any, tell: Any, work: Any, clock: Any
) -> None:
    tell("a", 1)
    receiver.fails = {1, 2}
    work()
    work()
    tell("a", 2)
    tell("b", 1)
    clock.move(seconds=1)
    work()
    assert _abouts(receiver) == ["a 1", "a 1", "b 1"], "a 2 comes after a 1"
    clock.move(seconds=10)
    work()
    assert _abouts(receiver)[3:] == ["a 1", "a 2"]


def test_a_receiver_that_fails_now_and_then_gets_everything_in_order_in_one_turn(
    hook: Any, receiver: Any, tell: Any, work: Any
) -> None:
    for number in range(60):
        tell("a", number)
    receiver.fails = range(3, 1_000, 9)
    work()
    posted = list(dict.fromkeys(_abouts(receiver)))
    assert posted == [f"a {number}" for number in range(60)]
    assert Delivery.objects.filter(state="delivered").count() == 60
    assert Attempt.objects.filter(status=500).count() == len(receiver.got) - 60 > 5
    hook.refresh_from_db()
    assert (hook.failing_since, hook.last_problem, hook.busy_until) == (None, "", None)


def test_a_receiver_that_is_slow_to_fail_ends_the_turn(
    hook: Any, receiver: Any, tell: Any, work: Any
) -> None:
    """Else a few of them would occupy the threads of those that work."""
    for number in range(3):
        tell("a", number)
    receiver.fails, receiver.pauses = {2}, {2: 1.1}
    work()
    assert _abouts(receiver) == ["a 0", "a 1"]
    work()
    assert _abouts(receiver)[2:] == ["a 1", "a 2"]


def test_only_workers_make_deliveries_late(
    hook: Any, receiver: Any, tell: Any, work: Any, clock: Any
) -> None:
    """Neither a receiver that fails, nor an event that is held up, is the operator's trouble."""

    def late() -> tuple[int, int]:
        return count_waiting(now=clock.now, due_before=clock.now - timedelta(minutes=1))

    tell("a", 1)
    receiver.status = 500
    work()
    Delivery.objects.update(due_at=clock.now + timedelta(hours=1))
    tell("a", 2)
    tell("b", 1)
    routing.route_events(now=clock.now, staff_mail=[])
    clock.move(minutes=2)
    assert late() == (3, 0), "its webhook fails"
    Webhook.objects.update(failing_since=None)
    assert late() == (3, 1), "b 1 could be posted, a 2 could not"
    Webhook.objects.update(busy_until=clock.now + timedelta(seconds=10))
    assert late() == (3, 0), "a worker posts to it"


def test_an_event_that_is_given_up_holds_up_none(
    hook: Any, receiver: Any, tell: Any, work: Any, clock: Any
) -> None:
    tell("a", 1)
    receiver.status = 500
    work()
    Delivery.objects.update(tries=len(DELAYS), due_at=clock.now)
    work()
    assert Delivery.objects.get().state == "failed"
    receiver.status = 200
    tell("a", 2)
    work()
    assert _abouts(receiver)[-1] == "a 2"


def test_mails_keep_the_order_too(
    ada: Any, tell: Any, work: Any, clock: Any, mail_server: Any
) -> None:
    ada.email = "ada@example.com"
    ada.save()
    tell("a", 1)
    mail_server.refusal = "450 later"
    work()
    work()
    mail_server.refusal = ""
    tell("a", 2)
    tell("b", 1)
    clock.move(seconds=1)
    work()
    assert [mail["Subject"].strip()[-3:] for _to, mail in mail_server.got] == ["b 1"]
    clock.move(seconds=120)
    work()
    text = mail_server.got[1][1].get_content()
    assert text.index("a 1") < text.index("a 2")


def test_a_hundred_events_cost_few_statements_and_few_connections(
    hook: Any, keeping: Any, tell: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_BATCH_SECONDS", "_LONGEST_SECONDS"):  # a busy machine takes its time
        monkeypatch.setattr(delivering, name, 3_600.0)
    hook.url = keeping.url
    hook.save()
    for number in range(100):
        tell("a", number)
    with CaptureQueriesContext(
        connection,
    ) as routed:
        routing.route_events(now=clock.now, staff_mail=[])
    (turn,) = delivering.claim(now=clock.now, most=1, failing=False)
    with CaptureQueriesContext(connection) as delivered:
        assert delivering.deliver(turn, clock=clock) == 100
    assert _abouts(keeping) == [f"a {number}" for number in range(100)]
    assert len(routed) <= 10 and len(delivered) <= 30
    assert keeping.connections <= 2
    assert Delivery.objects.filter(state="delivered", tries=1).count() == 100
    assert Attempt.objects.filter(status=204).count() == 100


def test_of_a_batch_what_came_before_a_failure_is_recorded(
    hook: Any, receiver: Any, tell: Any, work: Any, clock: Any
) -> None:
    for number in range(5):
        tell(f"subject {number}", number)
    routing.route_events(now=clock.now, staff_mail=[])
    receiver.fail_after(3)
    work()
    states = Delivery.objects.order_by("pk").values_list("state", "tries")
    assert list(states) == [("delivered", 1)] * 3 + [("waiting", 2), ("waiting", 0)]
    hook.refresh_from_db()
    assert hook.failing_since is not None and hook.delivered_at is not None
    clock.move(seconds=1)
    receiver.status = 200
    work()
    assert Delivery.objects.filter(state="delivered").count() == 4
    clock.now += timedelta(seconds=10)
    work()
    assert Delivery.objects.filter(state="delivered").count() == 5
    assert len({headers["webhook-id"] for _path, headers, _body in receiver.got}) == 5
