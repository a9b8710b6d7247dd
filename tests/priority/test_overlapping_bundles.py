"""Bundles that have transactions of earlier bundles in them: each has a fate of its own."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.services import retention, settling
from priority.models import Bundle, Submission
from shared_state.redis_client import client as redis_client
from tests.patience import wait
from tests.priority.landing import lander, upstream
from tests.priority.sending import SENT, queued, result, text
from tests.priority.submitted import as_base64, tipping_transaction
from tests.priority.submitters import Customer, Door, fate, land

pytestmark = pytest.mark.django_db(transaction=True)

Sent = Sequence[VersionedTransaction]


@pytest.fixture
def pair(customers: list[Customer]) -> list[VersionedTransaction]:
    """Two transactions; a block engine that cannot be reached would have them."""
    upstream("far-engine", "block_engine", url="http://127.0.0.1:1")
    return [tipping_transaction(Keypair()), tipping_transaction(Keypair())]


def names(bundle: Sent) -> list[str]:
    return [str(each.signatures[0]) for each in bundle]


def send(door: Door, *submitted: tuple[Customer, Sent]) -> None:
    """One after another; landers store them, and Redis forgets them."""
    for customer, bundle in submitted:
        wires = [as_base64(each) for each in bundle]
        assert result(door("/bundle", "sendBundle", wires, key=customer.secret))
    wanted = {bundle_id_of([bytes(one.signatures[0]) for one in each]) for _, each in submitted}
    fresh = datetime.now(UTC) - timedelta(seconds=60)

    def stored() -> bool:
        found = Bundle.objects.filter(bundle_id__in=wanted, accepted_at__gt=fresh)
        return found.count() == len(wanted)

    with lander(None):
        wait(stored, "the bundles are stored")
    redis_client().flushdb()
    settling.settle_bundles(now=datetime.now(UTC))


def told(door: Door, customer: Customer, bundle: Sent) -> dict[str, Any]:
    found = result(door("/bundle", "getBundleFate", names(bundle), key=customer.secret))
    assert [each["signature"] for each in found["transactions"]] == names(bundle)
    return dict(found)


def lose(*bundle: VersionedTransaction) -> None:
    rows = Submission.objects.filter(signature__in=[each.signatures[0] for each in bundle])
    settling.settle_lost(
        dict.fromkeys(rows.values_list("pk", flat=True), "x"), now=datetime.now(UTC)
    )


def test_a_bundle_of_anothers_transactions_lands_with_them(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, third = customers
    swapped, single = pair[::-1], pair[:1]
    send(door, (first, pair), (second, swapped), (second, single), (third, swapped))
    asked = [(first, pair), (second, swapped), (second, single), (third, swapped)]
    for customer, bundle in asked:
        found = told(door, customer, bundle)
        assert (found["state"], found["final"]) == ("received", False)
        (status,) = result(
            door("/bundle", "getInflightBundleStatuses", [names(bundle)], key=customer.secret)
        )["value"]
        assert status["status"] == "Pending"
    land(*pair)
    for customer, bundle in asked:
        found = told(door, customer, bundle)
        assert (found["state"], found["final"], found["slot"]) == ("landed", True, 7)
        assert found["reason"] is None
        (status,) = result(
            door("/bundle", "getBundleStatuses", [names(bundle)], key=customer.secret)
        )["value"]
        assert (status["slot"], status["transactions"]) == (7, names(bundle))
    for customer, bundle in asked[1:]:
        for each in told(door, customer, bundle)["transactions"]:
            assert (each["tier"], each["edge"], each["acceptedSlot"]) == (None, None, None)
            assert {one["upstream"] for one in each["attempts"]} <= {"far-engine"}
    unknown = door("/bundle", "getBundleFate", names(pair), key=second.secret).json()
    assert unknown["error"]["data"]["reason"] == "bundle_unknown"


def test_what_waits_for_a_lander_is_known_to_each_of_its_senders(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, third = customers
    last = tipping_transaction(Keypair())
    other = [pair[1], last]
    for customer, bundle in ((first, pair), (second, other)):
        wires = [as_base64(each) for each in bundle]
        assert result(door("/bundle", "sendBundle", wires, key=customer.secret)) == names(bundle)
    for customer, bundle in ((first, pair), (second, other)):
        found = told(door, customer, bundle)
        assert (found["state"], found["final"]) == ("received", False)
        for name in names(bundle):
            assert fate(door, name, key=customer.secret)["state"] == "received"
    assert fate(door, names(pair)[0], key=second.secret) == "signature_unknown"
    assert fate(door, names(other)[1], key=first.secret) == "signature_unknown"
    for name in {*names(pair), *names(other)}:
        assert fate(door, name, key=third.secret) == "signature_unknown"


def test_anothers_bundle_keeps_nobody_from_sending_one_of_it_alone(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, third = customers
    wires = [as_base64(each) for each in pair]
    assert result(door("/bundle", "sendBundle", wires, key=first.secret)) == names(pair)
    for customer in (first, second, second, third, first):
        name = result(
            door("/priority", "sendTransaction", text(pair[0]), SENT, key=customer.secret)
        )
        assert fate(door, name, key=customer.secret)["state"] == "received"
    assert [(each.kind, each.key_id) for each in queued()] == [
        ("bundle", first.key.pk),
        ("transaction", second.key.pk),
    ]


def test_bundles_that_share_one_transaction_count_all_of_theirs(
    door: Door, customers: list[Customer], pair: Sent, admin_client: Client
) -> None:
    first, second, _ = customers
    last = tipping_transaction(Keypair())
    other = [pair[1], last]
    send(door, (first, pair), (second, other))
    land(*pair)
    assert told(door, first, pair)["state"] == "landed"
    assert told(door, second, other)["final"] is False
    lose(last)
    found = told(door, second, other)
    assert (found["state"], found["final"]) == ("failed", True)
    assert found["reason"] == "landed_in_part: 1 of 2 landed, 0 failed"
    row = Bundle.objects.get(key=second.key)
    page = admin_client.get(f"/admin/priority/bundle/{row.pk}/change/").content.decode()
    assert all(name in page for name in names(other))


def test_what_an_upstream_answered_to_the_first_is_not_for_the_second(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, _ = customers
    swapped = pair[::-1]
    send(door, (first, pair), (second, swapped))
    Submission.objects.update(reason="upstream_refused: of the first", sent_at=None)
    Bundle.objects.update(reason="")
    lose(*pair)
    found = told(door, second, swapped)
    assert (found["state"], found["final"], found["reason"]) == ("refused", True, "not_accepted")
    assert "of the first" not in str(found)
    assert told(door, first, pair)["reason"] == "upstream_refused: of the first"


def test_a_later_bundle_of_the_same_customer_lands_with_the_earlier(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, *_ = customers
    send(door, (first, pair), (first, pair[:1]))
    assert told(door, first, pair[:1])["final"] is False
    land(pair[0])
    assert told(door, first, pair[:1])["state"] == "landed"
    assert told(door, first, pair)["final"] is False


def test_a_bundle_whose_transactions_another_one_took_over_keeps_them(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, _ = customers
    send(door, (first, pair))
    lose(*pair)
    assert told(door, first, pair)["final"] is True
    send(door, (second, pair[::-1]))
    told(door, first, pair)
    land(*pair)
    assert told(door, first, pair)["state"] == "landed"
    assert told(door, second, pair[::-1])["state"] == "landed"


def test_bundles_are_forgotten_with_the_last_of_their_transactions(
    door: Door, customers: list[Customer], pair: Sent
) -> None:
    first, second, _ = customers
    send(door, (first, pair), (second, pair[::-1]))
    land(*pair)
    retention.forget(timedelta(days=30), now=datetime.now(UTC) + timedelta(days=31))
    assert not Bundle.objects.exists()
