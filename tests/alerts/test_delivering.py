"""Delivery of events to webhooks: signed, once to each, retried after failures, isolated."""

import base64
import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from alerts.models import Attempt, Delivery, Event, Webhook
from alerts.schedule import DELAYS, JITTER, next_attempt_at
from alerts.services import delivering, routing, webhooks
from shared_state.outages import AWAY
from tests.databases import end_sessions
from tests.patience import PATIENCE_SECONDS, wait

pytestmark = pytest.mark.django_db


def _ids(receiver: Any) -> list[str]:
    return [headers["webhook-id"] for _path, headers, _body in receiver.got]


@pytest.mark.django_db(transaction=True)
def test_a_worker_claims_what_is_due_in_transactions_of_its_own(
    ada: Any, hook: Any, happen: Any, work: Any, receiver: Any, mailoutbox: list[Any]
) -> None:
    """As tasks run: outside of the transaction that other tests run in."""
    ada.email = "ada@example.com"
    ada.save()
    happen(ada)
    work()
    assert len(receiver.got) == 1 and [each.to for each in mailoutbox] == [["ada@example.com"]]


def test_an_event_arrives_signed_in_the_standard_form(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any
) -> None:
    event = happen(ada, name="A", lastFour="wxyz")
    work()
    path, headers, body = receiver.got[0]
    assert path == "/hook"
    assert headers["content-type"] == "application/json"
    content = Verifier(webhooks.secret_of(hook)).verify(body, headers)
    assert content == {
        "type": "key.revoked",
        "timestamp": event.at.isoformat().replace("+00:00", "Z"),
        "data": {"name": "A", "lastFour": "wxyz", "about": "key A", "text": "key A was revoked."},
    }
    with pytest.raises(WebhookVerificationError):
        Verifier(webhooks.secret_of(hook)).verify(body + b" ", headers)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    row = Attempt.objects.get()
    assert (row.status, row.problem) == (204, "")


def test_a_secret_is_long_and_stored_unreadable(hook: Any) -> None:
    secret = webhooks.secret_of(hook)
    assert secret.startswith("whsec_")
    raw = base64.b64decode(secret.removeprefix("whsec_"))
    assert len(raw) >= 24
    assert raw not in bytes(hook.sealed_secret)
    assert secret.encode() not in bytes(hook.sealed_secret)


def test_both_secrets_sign_during_the_overlap(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    old = webhooks.secret_of(hook)
    new = webhooks.rotate_secret(hook.pk, now=clock.now, overlap=timedelta(seconds=60))
    happen(ada)
    work()
    _path, headers, body = receiver.got[0]
    for secret in (old, new):
        Verifier(secret).verify(body, headers)
    clock.move(seconds=61)
    happen(ada)
    work()
    _path, headers, body = receiver.got[1]
    Verifier(new).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(old).verify(body, headers)


def test_a_secret_encrypted_under_another_key_is_a_described_problem(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, settings: Any
) -> None:
    before = settings.SECRET_KEY
    settings.SECRET_KEY = "another one"
    happen(ada)
    work()
    assert "SECRET_KEY was changed: rotate it" in Attempt.objects.get().problem
    assert receiver.got == []
    settings.SECRET_KEY_FALLBACKS = [before]
    assert webhooks.secret_of(hook).startswith("whsec_")


def test_only_what_a_webhook_chose_comes_and_only_its_own_customers(
    ada: Any, receivers: Any, happen: Any, work: Any, settings: Any
) -> None:
    from access.models import Customer

    bob = Customer.objects.create(name="Bob")
    all_of_ada, some_of_ada, all_of_bob, all_of_staff = (receivers() for _ in range(4))
    webhooks.create(ada.pk, name="all", url=all_of_ada.url)
    webhooks.create(ada.pk, name="some", url=some_of_ada.url, kinds=["key.expired"])
    webhooks.create(bob.pk, name="all", url=all_of_bob.url)
    webhooks.create(None, name="all", url=all_of_staff.url)
    happen(ada, "key.revoked")
    happen(ada, "key.expired")
    happen(bob, "key.resumed")
    happen(None, "alarm.opened")
    work()

    def kinds(receiver: Any) -> list[str]:
        return [json.loads(body)["type"] for _path, _headers, body in receiver.got]

    assert kinds(all_of_ada) == ["key.revoked", "key.expired"]
    assert kinds(some_of_ada) == ["key.expired"]
    assert kinds(all_of_bob) == ["key.resumed"]
    assert kinds(all_of_staff) == ["alarm.opened"]
    work()
    assert len(all_of_ada.got) == 2


def test_failures_are_tried_again_at_growing_intervals_and_then_given_up(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    receiver.status, receiver.text = 503, b"not now"
    happen(ada)
    for number, delay in enumerate(DELAYS, start=1):
        work()
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.tries) == ("waiting", number)
        wait = delivery.due_at - clock.now
        assert delay * (1 - JITTER) <= wait <= delay * (1 + JITTER)
        clock.now = delivery.due_at - timedelta(milliseconds=1)
        work()
        assert len(receiver.got) == number
        clock.now = delivery.due_at
    work()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries) == ("failed", len(DELAYS) + 1)
    assert len(set(_ids(receiver))) == 1
    row = Attempt.objects.last()
    assert row is not None
    assert (row.status, row.answer, row.problem) == (503, "not now", "answered 503, not 2xx")
    webhook = Webhook.objects.get()
    assert webhook.is_enabled
    assert webhook.failing_since is not None
    assert webhook.last_problem == "answered 503, not 2xx"

    receiver.status = 200
    webhooks.redeliver(delivery.pk, now=clock.now)
    work()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    assert len(set(_ids(receiver))) == 1
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.last_problem) == (None, "")
    assert webhook.delivered_at == clock.now


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("", 0),
        ("1", 1),
        ("90", 90),
        ("99999999999999999999", 6 * 3_600),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Fri, 31 Dec 2199 23:59:59 GMT", 6 * 3_600),
        ("soon", 0),
        ("-90", 0),
    ],
)
def test_retry_after_is_respected_within_bounds(clock: Any, asked: str, seconds: int) -> None:
    again = next_attempt_at(1, now=clock.now, retry_after=asked)
    assert again is not None
    assert abs((again - clock.now).total_seconds() - seconds) <= seconds * JITTER


def test_retry_after_comes_from_the_answer(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    happen(ada)
    work()
    assert Delivery.objects.get().due_at == clock.now + timedelta(seconds=600)


def test_gone_switches_the_webhook_off_and_says_so_by_mail(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any, mailoutbox: Any
) -> None:
    receiver.status = 410
    happen(ada)
    happen(ada)
    work()
    ada.email = "ada@example.com"
    ada.save()
    work()
    hook.refresh_from_db()
    assert not hook.is_enabled
    assert hook.disabled_reason == "its receiver answered 410 Gone"
    assert set(Delivery.objects.filter(webhook=hook).values_list("state", flat=True)) == {"failed"}
    assert len(receiver.got) == 1
    assert mailoutbox[-1].subject == "Webhook was switched off: webhook Ada's hook"
    event = Event.objects.get(kind="webhook.disabled")
    assert event.customer == ada
    assert event.data["webhookId"] == hook.pk


def test_a_webhook_that_fails_for_three_days_is_switched_off(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    receiver.status = 500
    happen(ada)
    work()
    clock.move(days=2, hours=23)
    happen(ada)
    work()
    hook.refresh_from_db()
    assert hook.is_enabled
    clock.move(hours=1)
    happen(ada)
    work()
    hook.refresh_from_db()
    assert not hook.is_enabled
    assert "all deliveries failed for 3 days; last: answered 500" in hook.disabled_reason
    assert Event.objects.filter(kind="webhook.disabled", customer=ada).count() == 1

    receiver.status = 200
    webhooks.enable(hook.pk)
    webhooks.send_test(hook.pk, now=clock.now)
    work()
    assert "test" in [json.loads(body)["type"] for _path, _headers, body in receiver.got]


def test_a_worker_killed_before_it_recorded_leaves_the_delivery_to_the_next(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    happen(ada)
    routing.route_events(now=clock.now, staff_mail=[])
    (turn,) = delivering.claim(now=clock.now, most=5, failing=False)
    moments = iter([clock.now])  # the clock's second reading is never reached alive
    with pytest.raises(StopIteration):
        delivering.deliver(turn, clock=lambda: next(moments))
    assert len(receiver.got) == 1
    work()
    assert len(receiver.got) == 1, "the dead worker's turn has not ended yet"
    clock.now += delivering.TURN
    work()
    assert len(receiver.got) == 2
    assert len(set(_ids(receiver))) == 1
    assert Delivery.objects.get().state == "delivered"


def test_a_slow_claim_takes_no_turn_that_was_renewed_meanwhile(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    """Between its reading of the clock and its statement, on a busy machine."""
    happen(ada)
    routing.route_events(now=clock.now, staff_mail=[])
    clock.now += timedelta(seconds=5)  # it is due in the slow one's past, too
    (turn,) = delivering.claim(now=clock.now, most=5, failing=False)
    for late in (timedelta(milliseconds=1), timedelta(seconds=2)):
        assert not delivering.claim(now=clock.now - late, most=5, failing=False)
    assert delivering.deliver(turn, clock=clock) == 1
    assert len(receiver.got) == 1


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_lost_during_a_turn_holds_no_webhook(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    from django.db import connection

    happen(ada, about="key 1")
    routing.route_events(now=clock.now, staff_mail=[])
    (turn,) = delivering.claim(now=clock.now, most=5, failing=False)
    receiver.may_answer.clear()
    problems: list[BaseException] = []

    def worker() -> None:
        try:
            delivering.deliver(turn, clock=clock)
        except AWAY as problem:
            problems.append(problem)
        finally:
            connection.close()

    thread = threading.Thread(target=worker)
    thread.start()
    assert receiver.was_asked.wait(PATIENCE_SECONDS)
    connection.close()
    end_sessions()
    receiver.may_answer.set()
    thread.join(PATIENCE_SECONDS)
    assert problems
    happen(ada, about="key 2")
    work()
    told = [json.loads(body)["data"]["about"] for _path, _headers, body in receiver.got]
    assert told == ["key 1", "key 2"], "each once, and the second at once"
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}


def test_a_late_record_of_a_worker_changes_nothing(
    ada: Any, hook: Any, receiver: Any, happen: Any, clock: Any
) -> None:
    from alerts.posting import Answer
    from alerts.services import attempts

    happen(ada)
    routing.route_events(now=clock.now, staff_mail=[])
    late = Delivery.objects.get()
    (turn,) = delivering.claim(now=clock.now, most=5, failing=False)
    assert delivering.deliver(turn, clock=clock) == 1
    assert not attempts.record(late, Answer(None, "too late", "", 1), now=clock.now)
    assert Delivery.objects.get().state == "delivered"
    assert Attempt.objects.count() == 1


def test_events_come_in_order_and_a_failure_lets_the_later_ones_wait_a_round(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    for number in range(5):
        happen(ada, about=f"key {number}")
    work()
    order = [json.loads(body)["data"]["about"] for _path, _headers, body in receiver.got]
    assert order == [f"key {number}" for number in range(5)]
    receiver.status = 500
    happen(ada, about="key 5")
    happen(ada, about="key 6")
    work()
    assert len(receiver.got) == 6


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_one_delivers(ada: Any, receiver: Any, happen: Any, clock: Any) -> None:
    """Eight threads route, claim and deliver at once, ten events to three webhooks."""
    from django.db import connection

    for number in range(3):
        webhooks.create(ada.pk, name=f"hook {number}", url=f"{receiver.url}/{number}")
    for number in range(10):
        happen(ada, about=f"key {number}")
    begin = threading.Barrier(8)
    problems: list[BaseException] = []

    def worker() -> None:
        try:
            begin.wait(PATIENCE_SECONDS)
            routing.route_events(now=clock.now, staff_mail=[])
            for turn in delivering.claim(now=clock.now, most=5, failing=False):
                delivering.deliver(turn, clock=clock)
        except BaseException as problem:
            problems.append(problem)
        finally:
            connection.close()

    for _ in range(2):  # a claim may have come before the routing
        threads = [threading.Thread(target=worker) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        begin.reset()
    assert not problems
    for number in range(3):
        mine = [body for path, _headers, body in receiver.got if path.endswith(f"/{number}")]
        order = [json.loads(body)["data"]["about"] for body in mine]
        assert order == [f"key {number}" for number in range(10)]
    assert Delivery.objects.filter(state="delivered").count() == 30


@pytest.mark.django_db(transaction=True)
def test_a_slow_receiver_delays_no_other(ada: Any, receivers: Any, happen: Any) -> None:
    from alerts import tasks

    slow, quick = receivers(), receivers()
    slow.may_answer.clear()
    webhooks.create(ada.pk, name="slow", url=slow.url)
    webhooks.create(ada.pk, name="quick", url=quick.url)
    happen(ada)
    tasks.deliver_events()
    assert slow.was_asked.wait(PATIENCE_SECONDS)
    happen(ada)
    happen(ada)
    tasks.deliver_events()
    assert quick.was_asked.wait(PATIENCE_SECONDS)

    def quick_has_all() -> bool:
        tasks.deliver_events()
        return len(quick.got) == 3

    wait(quick_has_all, "the quick one has all")
    assert len(slow.got) == 1, "one request at a time"
    slow.may_answer.set()
    assert tasks._working.wait(PATIENCE_SECONDS)
    tasks.deliver_events()
    assert tasks._working.wait(PATIENCE_SECONDS)
    assert len(slow.got) == 3
    assert Delivery.objects.filter(state="delivered").count() == 6
