"""What one customer submits after another: brought out once, and both are told."""

from datetime import timedelta

import pytest
from solders.keypair import Keypair

from access.models import ApiKey
from access.services import keys
from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.services import retention
from priority.models import Bundle, CoSubmitter, Submission
from priority.submissions import State
from tests.priority.sending import SENT, queued, result, signed, text, tip
from tests.priority.submitted import as_base64, stored, tipping_transaction, tried
from tests.priority.submitters import NOW, Door, fate, read_by_a_lander

pytestmark = pytest.mark.django_db


def test_the_same_transaction_of_two_customers(
    door: Door, first: ApiKey, others: list[keys.IssuedKey]
) -> None:
    second, third = (each.secret for each in others)
    transaction = signed(tip())
    ask = ("/priority", "sendTransaction", text(transaction), SENT)
    name = result(door(*ask))
    assert result(door(*ask, key=second)) == name == result(door(*ask, key=second))
    assert len(queued()) == 1
    assert fate(door, name, key=third) == "signature_unknown"
    told = fate(door, name, key=second)
    assert (told["state"], told["final"], told["attempts"]) == ("received", False, [])
    row = Submission.objects.create(
        signature=transaction.signatures[0],
        kind="transaction",
        key=first,
        tier="epic",
        edge="here",
        only=["leaders"],
        max_retries=3,
        blockhash=transaction.message.recent_blockhash,
        accepted_at=NOW - timedelta(seconds=9),
        state=State.LANDED,
        commitment="confirmed",
        slot=7,
        tries=4,
    )
    tried(row)
    own, shared = fate(door, name), fate(door, name, key=second)
    assert (own["tier"], own["onlyUpstreams"], len(own["attempts"])) == ("epic", ["leaders"], 1)
    assert (shared["state"], shared["slot"], shared["commitment"]) == ("landed", 7, "confirmed")
    hidden = ("tier", "edge", "maxRetries", "bundleId", "onlyUpstreams", "attempts", "tries")
    assert [shared[each] for each in hidden] == [None, None, None, None, [], [], 0]
    assert shared["acceptedAt"] > own["acceptedAt"]
    (short,) = result(door("/priority", "getTransactionFates", [name], key=second))
    assert short == {key: value for key, value in shared.items() if key != "attempts"}
    assert fate(door, name, key=third) == "signature_unknown"


def test_the_same_bundle_of_two_customers(
    door: Door, first: ApiKey, others: list[keys.IssuedKey]
) -> None:
    from priority.upstreams.models import Upstream

    Upstream.objects.get_or_create(name="engine", kind="block_engine")
    second, third = (each.secret for each in others)
    pair = [signed(tip()), tipping_transaction(Keypair())]
    names = [str(each.signatures[0]) for each in pair]
    bundle_id = bundle_id_of([bytes(each.signatures[0]) for each in pair])
    ask = ("/bundle", "sendBundle", [as_base64(each) for each in pair])
    assert result(door(*ask)) == names == result(door(*ask, key=second))
    assert len(queued()) == 1
    for asked in (names, bundle_id):
        told = result(door("/bundle", "getBundleFate", asked, key=second))
        assert (told["bundleId"], told["state"]) == (bundle_id, "received")
    bundle = Bundle.objects.create(
        bundle_id=bundle_id,
        key=first,
        accepted_at=NOW,
        state="landed",
        slot=7,
        engine_ids={"e": "1"},
    )
    for index, each in enumerate(pair):
        row = stored(first, index, bundle=bundle, bundle_index=index, state="landed", slot=7)
        Submission.objects.filter(pk=row.pk).update(signature=each.signatures[0])
    told = result(door("/bundle", "getBundleFate", bundle_id, key=second))
    assert (told["state"], told["slot"], told["engineIds"]) == ("landed", 7, {})
    assert [each["signature"] for each in told["transactions"]] == names
    assert {each["tier"] for each in told["transactions"]} == {None}
    (status,) = result(door("/bundle", "getBundleStatuses", [bundle_id], key=second))["value"]
    assert (status["slot"], status["transactions"]) == (7, names)
    assert result(door("/bundle", "getBundleStatuses", [bundle_id], key=third))["value"] == [None]


@pytest.mark.parametrize("in_bundle", [False, True])
@pytest.mark.parametrize("before", [State.SENT, State.LANDED, State.EXPIRED])
def test_one_that_was_there_for_longer_than_redis_remembers(
    door: Door, first: ApiKey, others: list[keys.IssuedKey], before: State, in_bundle: bool
) -> None:
    second, third = others
    transaction = tipping_transaction(Keypair())
    name = str(transaction.signatures[0])
    read_by_a_lander(transaction, first, in_bundle=in_bundle)
    assert not CoSubmitter.objects.exists()
    settled = {"state": before, "settled_at": None if before is State.SENT else NOW}
    earlier = {**settled, "slot": 7, "accepted_at": NOW - timedelta(seconds=900)}
    Submission.objects.update(**earlier)
    Bundle.objects.update(**earlier)
    read_by_a_lander(transaction, second.key, in_bundle=in_bundle)
    state = "received" if before is State.EXPIRED else before.value
    for key in ({}, {"key": second.secret}):
        assert fate(door, name, **key)["state"] == state
        if in_bundle:
            assert result(door("/bundle", "getBundleFate", name, **key))["state"] == state
    assert fate(door, name, key=third.secret) == "signature_unknown"
    retention.forget(timedelta(days=30), now=NOW + timedelta(days=31))
    assert not CoSubmitter.objects.exists()
