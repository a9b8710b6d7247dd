"""The landing share, the tips and the ends of watches concern every submitter, and only them."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.models import Event
from alerts.services import rules
from priority.fates.services import retention, settling
from priority.fates.store.settling import FoundRow
from priority.models import Submission
from priority.reports.services import counting, thresholds
from tests.priority.sending import MINIMUM, signed, tip
from tests.priority.submitters import Customer, Door, another_key, land, send, stored

pytestmark = pytest.mark.django_db


def rule(customer: Customer, trigger: str, **condition: Any) -> None:
    now = datetime.now(UTC)
    owner = customer.key.customer_id
    rules.create(owner, name="r", trigger=trigger, condition=condition, mails=True, now=now)


def watched(after: timedelta = timedelta(0)) -> dict[int, list[Any]]:
    """What the rules of each customer say once the worker has counted: lamports, or how many
    landed of how many.
    """
    now = datetime.now(UTC) + after
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    thresholds.watch(now=now)
    found: dict[int, list[Any]] = defaultdict(list)
    for event in Event.objects.filter(kind__in=["tips.above", "landing_share.low"]).order_by("pk"):
        data = event.data
        value = data.get("lamports") or (data["landed"], data["settled"])
        found[event.customer_id or 0].append(value)
    return found


def test_each_customers_share_and_tips_have_a_transaction_once(
    door: Door, customers: list[Customer]
) -> None:
    first, second, third = customers
    again = another_key("second")
    for each in customers:
        rule(each, "tip_spend", above_lamports=1)
        rule(each, "landing_share", below_percent=60, least_submissions=1)
    both, own = signed(tip()), signed(tip())
    for secret in (first.secret, second.secret, again.secret):
        send(door, both, secret)
    send(door, own, second.secret)
    stored(both, first.key)
    stored(own, second.key)
    Submission.objects.update(tip_lamports=MINIMUM)
    land(both)
    lost = Submission.objects.get(settled_at__isnull=True)
    settling.settle_lost({lost.pk: "blockhash_expired"}, now=datetime.now(UTC))
    found = watched()
    assert found[first.key.customer_id] == [MINIMUM], "all of the first one's landed"
    assert sorted(found[second.key.customer_id], key=str) == [(1, 2), MINIMUM]
    assert third.key.customer_id not in found


def test_a_transaction_counts_when_the_customer_submitted_it(
    door: Door, customers: list[Customer]
) -> None:
    first, second, _third = customers
    for each in (first, second):
        rule(each, "tip_spend", above_lamports=1, period="hour")
    sent = signed(tip())
    send(door, sent, first.secret)
    stored(sent, first.key)
    long_ago = datetime.now(UTC) - timedelta(hours=3)
    Submission.objects.update(tip_lamports=MINIMUM, accepted_at=long_ago)
    send(door, sent, second.secret)
    land(sent)
    assert watched() == {second.key.customer_id: [MINIMUM]}


def test_a_transaction_that_was_counted_before_counts_for_a_late_customer_too(
    door: Door, customers: list[Customer]
) -> None:
    first, second, _third = customers
    for each in (first, second):
        rule(each, "landing_share", below_percent=60, minutes=360, least_submissions=1)
    sent = signed(tip())
    send(door, sent, first.secret)
    stored(sent, first.key)
    failed = FoundRow(bytes(sent.signatures[0]), 7, 0, '"AccountNotFound"')
    settling.settle_found([failed], now=datetime.now(UTC))
    assert watched() == {first.key.customer_id: [(0, 1)]}
    send(door, sent, second.secret)
    # The worker was away for so long that this step of time is not a new one.
    both = {each.key.customer_id: [(0, 1)] for each in (first, second)}
    assert watched(timedelta(hours=1)) == both


def test_the_end_of_a_watch_is_reported_to_both(door: Door, customers: list[Customer]) -> None:
    first, second, third = customers
    sent = signed(tip())
    for secret in (first.secret, second.secret, another_key("second").secret):
        send(door, sent, secret)
    stored(sent, first.key)
    Submission.objects.update(is_nonced=True, is_watched=True)
    for _ in range(2):
        retention.forget(timedelta(0), now=datetime.now(UTC) + timedelta(seconds=1))
    ended = Event.objects.filter(kind="submission.watch_ended").order_by("pk")
    assert [event.customer_id for event in ended] == [
        first.key.customer_id,
        second.key.customer_id,
    ]
    assert [event.data["keyId"] for event in ended] == [first.key.pk, second.key.pk]
    assert third.heard() == []
