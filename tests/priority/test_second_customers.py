"""What one customer submits after another: brought out once, and both are told."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from access import store as access_store
from access.models import ApiKey, Tier
from access.services import keys
from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.services import retention
from priority.lander.services.active_submissions import active_submission
from priority.lander.services.rows import bundle_row, submission_rows
from priority.lander.store.submissions import insert_bundles, insert_submissions
from priority.models import Bundle, CoSubmitter, Submission
from priority.submissions import Accepted, State
from tests.priority.sending import SENT, queued, result, signed, text, tip
from tests.priority.submitted import as_base64, stored, tipping_transaction, tried

pytestmark = pytest.mark.django_db

Door = Callable[..., Any]
NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def _no_trial(settings: Any) -> None:
    settings.BUNDLE_SIMULATION = False


@pytest.fixture
def first(api_key: str) -> ApiKey:
    """The key that `door` calls with."""
    return ApiKey.objects.get()


@pytest.fixture
def others(first: ApiKey) -> Iterator[list[keys.IssuedKey]]:
    """Keys of two other customers."""
    yield [
        keys.issue_key(
            access_store.customer_by_name(name),
            tier=Tier.objects.order_by("-rank")[0],
            name=name,
        )
        for name in ("second", "third")
    ]


def fate(door: Door, name: str, **key: Any) -> Any:
    """The fate, or the reason why none is told."""
    answer = door("/priority", "getTransactionFate", name, **key).json()
    return answer["result"] if "result" in answer else answer["error"]["data"]["reason"]


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


def read_by_a_lander(transaction: VersionedTransaction, key: ApiKey, *, in_bundle: bool) -> None:
    signature = bytes(transaction.signatures[0])
    submission = active_submission(
        b"0-1",
        Accepted(
            kind="bundle" if in_bundle else "transaction",
            signatures=[signature],
            wires=[bytes(transaction)],
            received_at=NOW.timestamp(),
            key_id=key.pk,
            tier="basic",
            edge="here",
            request_id="",
            bundle_id=bundle_id_of([signature]) if in_bundle else "",
        ),
    )
    bundles = insert_bundles([bundle_row(submission)] if in_bundle else [])
    rows = submission_rows(submission)
    for row in rows:
        row.bundle_id = next(iter(bundles.values()), None)
    insert_submissions(rows)


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
