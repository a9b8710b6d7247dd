"""Event rules of every customer that submitted a transaction hear of its fate, once each."""

import json
import threading
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from solders.keypair import Keypair

from alerts.models import Rule
from alerts.services import rules
from priority.fates.services import settling
from priority.models import CoSubmitter, Submission
from priority.submissions import pending_key
from shared_state.redis_client import client as redis_client
from tests.lock_waits import until_waiting
from tests.patience import PATIENCE_SECONDS, wait
from tests.portal.test_rules import work
from tests.priority.landing import lander
from tests.priority.sending import result, signed, tip
from tests.priority.submitted import as_base64, tipping_transaction
from tests.priority.submitters import Customer, Door, another_key, land, send, stored

pytestmark = pytest.mark.django_db


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
