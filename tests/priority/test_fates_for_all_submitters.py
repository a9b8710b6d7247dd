"""Event rules of every customer that submitted a transaction hear of its fate, once each."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from access import store as access_store
from access.models import ApiKey, Tier
from access.services import keys
from alerts.models import Rule
from alerts.services import rules, webhooks
from priority.fates.services import settling
from priority.fates.store.settling import FoundRow
from priority.models import CoSubmitter, Submission
from priority.submissions import pending_key
from shared_state.redis_client import client as redis_client
from tests.alerts.conftest import Receiver
from tests.lock_waits import until_waiting
from tests.patience import PATIENCE_SECONDS
from tests.portal.test_rules import work
from tests.priority.landing import lander, wait
from tests.priority.sending import SENT, result, signed, text, tip
from tests.priority.submitted import as_base64, tipping_transaction

pytestmark = pytest.mark.django_db

Door = Callable[..., Any]


class Customer:
    """A key, and the receiver of a rule on all fates of its customer's."""

    def __init__(self, key: ApiKey, secret: str | None) -> None:
        self.key, self.secret, self.receiver = key, secret, Receiver()
        hook = webhooks.create(key.customer_id, name="hook", url=self.receiver.url)
        now = datetime.now(UTC)
        rules.create(
            *(key.customer_id,), name="r", trigger="submission", condition={}, webhook=hook, now=now
        )

    def heard(self) -> list[tuple[str, Any, Any]]:
        """(type, key, bundle) of each event so far."""
        contents = [json.loads(body) for _path, _headers, body in self.receiver.got]
        return [(c["type"], c["data"]["keyId"], c["data"]["bundleId"]) for c in contents]


@pytest.fixture
def customers(api_key: str, settings: Any) -> Iterator[list[Customer]]:
    """Three of them; the first one's is the key that `door` calls with."""
    settings.WEBHOOKS_PRIVATE, settings.BUNDLE_SIMULATION = True, False
    found = [Customer(ApiKey.objects.get(), None)]
    for name in ("second", "third"):
        issued = another_key(name)
        found.append(Customer(issued.key, issued.secret))
    yield found
    for each in found:
        each.receiver.stop()


def another_key(name: str) -> keys.IssuedKey:
    tier = Tier.objects.order_by("-rank")[0]
    return keys.issue_key(access_store.customer_by_name(name), tier=tier, name=name)


def send(door: Door, sent: VersionedTransaction, secret: str | None) -> None:
    assert result(door("/priority", "sendTransaction", text(sent), SENT, key=secret))


def stored(sent: VersionedTransaction, key: ApiKey | None) -> None:
    Submission.objects.create(
        signature=sent.signatures[0],
        kind="transaction",
        key=key,
        blockhash=sent.message.recent_blockhash,
        accepted_at=datetime.now(UTC),
        state="sent",
        sent_at=datetime.now(UTC),
    )


def land(*sent: VersionedTransaction) -> None:
    found = [FoundRow(bytes(each.signatures[0]), 7, index, None) for index, each in enumerate(sent)]
    settling.settle_found(found, now=datetime.now(UTC))


def test_both_customers_hear_of_a_transaction_that_both_submitted(
    door: Door, customers: list[Customer]
) -> None:
    first, second, third = customers
    sent, own, again = signed(tip()), signed(tip()), another_key("second")
    for secret in (first.secret, second.secret, again.secret, second.secret):
        send(door, sent, secret)
    send(door, own, second.secret)
    stored(sent, first.key)
    stored(own, second.key)
    land(sent, own)
    land(sent)
    work()
    assert first.heard() == [("submission.landed", first.key.pk, None)]
    assert second.heard() == [("submission.landed", second.key.pk, None)] * 2
    signatures = [json.loads(body)["data"]["signature"] for _p, _h, body in second.receiver.got]
    assert sorted(signatures) == sorted(str(each.signatures[0]) for each in (sent, own))
    assert third.heard() == []


def test_a_rule_on_one_key_hears_of_what_that_key_submitted_second(
    door: Door, customers: list[Customer]
) -> None:
    first, second, _third = customers
    again = another_key("second")
    rule = Rule.objects.get(customer=second.key.customer_id)
    rules.edit(rule.pk, condition={"states": ["expired"], "keys": [again.key.pk]})
    sent = signed(tip())
    for secret in (first.secret, second.secret, again.secret):
        send(door, sent, secret)
    stored(sent, first.key)
    row = Submission.objects.get()
    settling.settle_lost({row.pk: "blockhash_expired"}, now=datetime.now(UTC))
    work()
    assert second.heard() == [("submission.expired", again.key.pk, None)]


def test_a_customer_that_submits_what_is_settled_hears_at_once(
    door: Door, customers: list[Customer]
) -> None:
    first, second, third = customers
    sent = signed(tip())
    send(door, sent, first.secret)
    stored(sent, first.key)
    land(sent)
    for secret in (second.secret, second.secret):
        send(door, sent, secret)
    work()
    assert first.heard() == [("submission.landed", first.key.pk, None)]
    assert second.heard() == [("submission.landed", second.key.pk, None)]
    assert third.heard() == []


@pytest.mark.django_db(transaction=True)
def test_a_customer_that_submits_what_is_just_being_settled_hears_of_it(
    door: Door, customers: list[Customer]
) -> None:
    first, second, _third = customers
    sent = signed(tip())
    send(door, sent, first.secret)
    stored(sent, first.key)

    def submit() -> None:
        try:
            send(door, sent, second.secret)
        finally:
            connection.close()

    thread = threading.Thread(target=submit)
    with transaction.atomic():
        land(sent)
        thread.start()
        until_waiting(1)
    thread.join(PATIENCE_SECONDS)
    work()
    assert second.heard() == [("submission.landed", second.key.pk, None)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("settled", [False, True])
def test_what_redis_has_forgotten_is_found_by_the_lander(
    door: Door, customers: list[Customer], settled: bool
) -> None:
    first, second, third = customers
    sent = signed(tip())
    send(door, sent, first.secret)
    with lander(None):
        wait(lambda: Submission.objects.exists(), "it is stored")
        if settled:
            land(sent)
        redis_client().delete(pending_key(bytes(sent.signatures[0])))
        send(door, sent, second.secret)
        wait(lambda: CoSubmitter.objects.exists(), "it is read again")
    if not settled:
        land(sent)
    work()
    assert first.heard() == [("submission.landed", first.key.pk, None)]
    assert second.heard() == [("submission.landed", second.key.pk, None)]
    assert third.heard() == []


@pytest.mark.parametrize("sender", ["another customer", "nobody"])
def test_the_bundle_of_another_is_its_own_business(
    door: Door, customers: list[Customer], sender: str
) -> None:
    from priority.upstreams.models import Upstream

    Upstream.objects.get_or_create(name="engine", kind="block_engine")
    first, second, _third = customers
    sent = tipping_transaction(Keypair())
    for secret in (first.secret if sender == "another customer" else "", second.secret):
        assert result(door("/bundle", "sendBundle", [as_base64(sent)], key=secret))
    stored(sent, first.key if sender == "another customer" else None)
    land(sent)
    work()
    assert second.heard() == [("submission.landed", second.key.pk, None)]
