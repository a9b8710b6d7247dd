"""Customers, keys, usage and who acted."""

import csv
import io
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from tidemark import Management, Tidemark, errors
from tidemark.management_types import Customer, IssuedKey, RuleCondition


@pytest.fixture
def issued(management: Management, customer: Customer) -> IssuedKey:
    return management.keys.create(customer=customer.id, tier="basic", name="trading")


def test_a_key_lives_from_its_issue_to_its_end(
    url: str, management: Management, issued: IssuedKey
) -> None:
    with Tidemark(url, issued.secret) as client:
        assert client.node.whoami().tier == "basic"
    restricted = management.keys.change(
        issued.id, version=issued.version, scopes=["historical"], calls_per_month=1_000
    )
    assert (restricted.scopes, restricted.calls_per_month) == (["historical"], 1_000)
    unlimited = management.keys.change(issued.id, version=restricted.version, calls_per_month=None)
    assert (unlimited.scopes, unlimited.calls_per_month) == (["historical"], None)
    rotated = management.keys.rotate(issued.id, overlap_hours=1)
    assert rotated.rotated_from == issued.id and rotated.secret != issued.secret
    assert management.keys.suspend(rotated.id).state == "suspended"
    assert management.keys.resume(rotated.id).state == "active"
    assert management.keys.revoke(rotated.id).state == "revoked"
    entry = next(iter(management.audit.list(page_size=1)))
    assert (entry.verb, entry.subject_id) == ("revoked", str(rotated.id))
    assert entry.who.startswith("root key ")


def test_a_change_does_not_undo_another_one(management: Management, issued: IssuedKey) -> None:
    management.keys.change(issued.id, version=issued.version, name="sniping")
    with pytest.raises(errors.VersionChanged) as refused:
        management.keys.change(issued.id, version=issued.version, name="late")
    assert refused.value.status == 412
    found = management.keys.get(issued.id)
    assert found.name == "sniping" and found.version == refused.value.data["required"]


def test_a_repeated_write_takes_effect_once(management: Management, customer: Customer) -> None:
    name = str(uuid.uuid4())
    first, again = (
        management.keys.create(
            customer=customer.id, tier="basic", name="once", idempotency_key=name
        )
        for _ in range(2)
    )
    assert first == again
    with pytest.raises(errors.IdempotencyKeyReused):
        management.keys.create(
            customer=customer.id, tier="basic", name="other", idempotency_key=name
        )
    assert [each.id for each in management.keys.list(customer=customer.id)] == [first.id]


def test_lists_are_iterated_over_pages(management: Management, customer: Customer) -> None:
    issued = [
        management.keys.create(customer=customer.id, tier="basic", name=f"key {number}").id
        for number in range(5)
    ]
    found = [each.id for each in management.keys.list(customer=customer.id, page_size=2)]
    assert found == issued[::-1]


def test_what_is_not_valid_is_named(
    management: Management, customer: Customer, issued: IssuedKey
) -> None:
    with pytest.raises(errors.InvalidFields) as refused:
        management.keys.create(customer=customer.id, tier="none", name="x")
    assert list(refused.value.data["fields"]) == ["tier"]
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(errors.ActionRefused):
        management.keys.change(issued.id, version="*", expires_at=yesterday)
    with pytest.raises(errors.NotFound):
        management.keys.get(10**9)


def test_usage_is_read_and_downloaded(management: Management, customer: Customer) -> None:
    usage = management.usage.read(span="24h", customer=customer.id)
    assert usage.counts.counted == 0
    rows = list(csv.reader(io.StringIO(management.usage.csv(span="24h", customer=customer.id))))
    assert "method" in rows[0] and rows[1:] in ([], [[]])


def test_an_event_rule_lives_and_its_deliveries_are_replayed(
    management: Management, customer: Customer
) -> None:
    management.customers.change(customer.id, version="*", email="ada@example.org")
    made = management.rules.create(
        customer=customer.id,
        name="share",
        trigger="landing_share",
        condition=RuleCondition(below_percent=80, minutes=15),
        mails=True,
    )
    assert (made.condition.minutes, made.condition.least_submissions) == (15, 20)
    changed = management.rules.change(
        made.id, version=made.version, condition=RuleCondition(below_percent=50)
    )
    assert (changed.condition.below_percent, changed.condition.minutes) == (50, 60)
    management.rules.test(made.id)
    (delivery,) = management.deliveries.list(rule=made.id)
    assert (delivery.kind, delivery.mail_to) == ("landing_share.low", "ada@example.org")
    since = datetime.now(UTC) - timedelta(hours=1)
    assert management.rules.replay(made.id, since=since, states=["failed"]).queued == 0
    assert not management.rules.disable(made.id).is_enabled
    with pytest.raises(errors.ActionRefused, match="enable it first"):
        management.rules.test(made.id)
    assert [each.id for each in management.rules.list(customer=customer.id)] == [made.id]
    management.rules.delete(made.id)
    with pytest.raises(errors.NotFound):
        management.rules.get(made.id)
