"""getTransactionFate and its kin: what became of a submission, from its acceptance on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from access import store
from access.services import keys
from priority.models import Bundle, Submission
from priority.submissions import State, pending_key
from tests.conftest import Rpc
from tests.priority.submitted import (
    NOW,
    as_base64,
    bundled,
    landed,
    signature,
    stored,
    tipping_transaction,
    tried,
)

pytestmark = pytest.mark.django_db

Get = Callable[..., Any]
SENDING = {"encoding": "base64", "skipPreflight": True}


@pytest.fixture
def key(api_key: str) -> Any:
    """The row of the key that `rpc` calls with."""
    from access.models import ApiKey

    return ApiKey.objects.get()


@pytest.fixture
def get(client: Any, api_key: str) -> Get:
    """`get("/priority/fates", key=…)`: the HTTP answer."""

    def ask(path: str, *, key: str = api_key, **headers: str) -> Any:
        given = {"Authorization": key} if key else {}
        return client.get(path, headers={**given, **headers})

    return ask


def stranger() -> keys.IssuedKey:
    """A key of another customer."""
    from access.models import Tier

    other = store.customer_by_name("somebody else")
    return keys.issue_key(other, tier=Tier.objects.all()[0], name="theirs")


def test_a_landed_transaction_is_told_with_everything_that_was_done(
    rpc: Rpc, get: Get, key: Any
) -> None:
    tip = Keypair().pubkey()
    row = landed(
        key, tip_address=tip, tip_lamports=1_000_000, tip_instruction_index=3, only=["leaders"]
    )
    tried(row, outcome="refused", answer="too late")
    tried(row, 2)
    fate = rpc("/priority", "getTransactionFate", str(signature()))["result"]
    assert fate == {
        "signature": str(signature()),
        "state": "landed",
        "final": True,
        "commitment": "finalized",
        "slot": 102,
        "transactionIndex": 7,
        "slotsAfterAcceptance": 2,
        "err": None,
        "reason": None,
        "acceptedAt": row.accepted_at.timestamp(),
        "acceptedSlot": 100,
        "sentAt": row.sent_at and row.sent_at.timestamp(),
        "queueMilliseconds": 1_000,
        "seenAt": row.seen_at and row.seen_at.timestamp(),
        "settledAt": row.settled_at and row.settled_at.timestamp(),
        "lastValidBlockHeight": 250,
        "durableNonce": False,
        "nonceAccount": None,
        "sending": None,
        "sendingStopped": None,
        "willFail": None,
        "tip": {"address": str(tip), "lamports": 1_000_000, "instructionIndex": 3},
        "bundleId": None,
        "edge": "edge-1",
        "tier": "basic",
        "onlyUpstreams": ["leaders"],
        "maxRetries": None,
        "tries": 2,
        "attempts": [
            {
                "upstream": "leaders",
                "target": "127.0.0.1:8009",
                "number": number,
                "startedAt": NOW.timestamp(),
                "latencyMicroseconds": 1_234,
                "outcome": outcome,
                "answer": answer,
            }
            for number, outcome, answer in ((1, "refused", "too late"), (2, "sent", ""))
        ],
    }
    answer = get(f"/priority/fate/{signature()}")
    assert answer.status_code == 200 and answer.json() == fate
    assert answer["X-Request-Id"] and answer["Access-Control-Allow-Origin"] == "*"


def test_what_failed_and_what_expired_say_why(rpc: Rpc, key: Any) -> None:
    error = {"InstructionError": [0, {"Custom": 1}]}
    landed(key, 1, state=State.FAILED, err=error)
    stored(key, 2, state=State.EXPIRED, reason="blockhash_dead", settled_at=NOW)
    failed, expired, unknown = rpc(
        "/priority", "getTransactionFates", [str(signature(number)) for number in (1, 2, 3)]
    )["result"]
    assert (failed["state"], failed["err"], failed["final"]) == ("failed", error, True)
    assert (expired["state"], expired["reason"]) == ("expired", "blockhash_dead")
    assert expired["lastValidBlockHeight"] == 250 and expired["slot"] is None
    assert unknown is None
    assert "attempts" not in failed


def test_what_was_accepted_has_a_fate_before_any_row_is_written(rpc: Rpc, get: Get) -> None:
    transaction = tipping_transaction(Keypair())
    sent = rpc("/priority", "sendTransaction", as_base64(transaction), SENDING)["result"]
    assert Submission.objects.count() == 0
    fate = rpc("/priority", "getTransactionFate", sent)["result"]
    assert (fate["state"], fate["final"], fate["attempts"]) == ("received", False, [])
    assert abs(fate["acceptedAt"] - timezone.now().timestamp()) < 30
    assert rpc("/priority", "getTransactionFates", [sent])["result"][0]["state"] == "received"
    assert rpc("/bundle", "getBundleFate", sent)["result"]["state"] == "received"
    other = get(f"/priority/fate/{sent}", key=stranger().secret)
    assert other.status_code == 404 and other.json()["error"] == "signature_unknown"


def test_what_no_lander_read_for_long_is_found_in_the_queue(rpc: Rpc, get: Get) -> None:
    from priority.fates.services import backlog
    from priority.submissions import ACCEPTED_STREAM
    from shared_state.redis_client import client

    sent = rpc("/priority", "sendTransaction", as_base64(tipping_transaction(Keypair())), SENDING)
    redis = client()
    entries: Any = redis.xrange(ACCEPTED_STREAM)
    ((_, fields),) = entries
    redis.flushdb()
    # As if the lander had been down for an hour, and what Redis remembered were forgotten.
    seconds = redis.time()[0] - 3_600
    redis.xadd(ACCEPTED_STREAM, fields, id=f"{seconds * 1_000}-0")
    backlog.forget()
    fate = rpc("/priority", "getTransactionFate", sent["result"])["result"]
    assert fate["state"] == "received"
    assert get(f"/priority/fate/{sent['result']}", key=stranger().secret).status_code == 404


def test_a_submission_that_starts_anew_is_not_called_expired(rpc: Rpc, key: Any) -> None:
    from shared_state.redis_client import client

    row = stored(key, state=State.EXPIRED, settled_at=NOW)
    name = pending_key(bytes(signature()))
    # What it was accepted with at first, as Redis and the column round it.
    client().set(name, f"{row.accepted_at.timestamp() + 0.0004}|{key.pk}")
    assert rpc("/priority", "getTransactionFate", str(signature()))["result"]["state"] == "expired"
    client().set(name, f"{NOW.timestamp() + 5}|{key.pk}")
    fate = rpc("/priority", "getTransactionFate", str(signature()))["result"]
    assert (fate["state"], fate["acceptedAt"]) == ("received", NOW.timestamp() + 5)


def test_a_rotated_key_sees_what_its_forerunner_sent_and_others_see_nothing(
    get: Get, key: Any
) -> None:
    landed(key)
    rotated = keys.rotate_key(key.pk, overlap=timedelta(0), now=timezone.now())
    path = f"/priority/fate/{signature()}"
    assert get(path).status_code == 401
    assert get(path, key=rotated.secret).json()["state"] == "landed"
    answer = get(path, key=stranger().secret)
    assert answer.status_code == 404
    assert answer.json()["error"] == "signature_unknown" and answer.json()["keptDays"] == 30


def test_sweeps_are_nobodys(get: Get) -> None:
    landed(None, kind=Submission.Kind.SWEEP)
    assert get(f"/priority/fate/{signature()}").status_code == 404


def test_what_is_no_signature_or_has_no_key_is_refused(rpc: Rpc, get: Get, key: Any) -> None:
    answer = get("/priority/fate/nonsense")
    assert answer.status_code == 400
    assert answer.json()["error"] == "bad_query" and answer.json()["found"] == "nonsense"
    assert get(f"/priority/fate/{signature()}", key="").json()["error"] == "key_required"
    assert get(f"/priority/fate/{signature()}", Host="public.rpc.localhost").status_code == 404
    error = rpc("/priority", "getTransactionFate", "nonsense")["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid param: WrongSize")
    error = rpc("/priority", "getTransactionFate", str(signature()))["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, "signature_unknown")
    error = rpc("/priority", "getTransactionFates", [str(signature())] * 257)["error"]
    assert error["data"] == {"reason": "too_many_fates", "found": 257, "maximum": 256}


def test_without_redis_what_is_stored_is_told_and_the_rest_is_not_called_unknown(
    rpc: Rpc, get: Get, key: Any, settings: Any
) -> None:

    landed(key)
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    assert get(f"/priority/fate/{signature()}").json()["state"] == "landed"
    answer = get(f"/priority/fate/{signature(2)}")
    error = rpc("/priority", "getTransactionFate", str(signature(2)))["error"]
    assert answer.status_code == 503 and answer.json()["error"] == "fates_unavailable"
    assert (error["code"], error["data"]["reason"]) == (-32005, "fates_unavailable")


def test_the_newest_fates_come_first_page_by_page(get: Get, key: Any) -> None:
    rotated = keys.rotate_key(key.pk, overlap=timedelta(hours=1), now=timezone.now()).key
    theirs = stranger().key
    for number in range(9):
        stored((key, rotated, theirs)[number % 3], number)
    mine = [str(signature(number)) for number in (7, 6, 4, 3, 1, 0)]
    assert [fate["signature"] for fate in get("/priority/fates").json()] == mine
    page = get("/priority/fates?limit=2").json()
    assert [fate["signature"] for fate in page] == mine[:2]
    page = get(f"/priority/fates?limit=3&before={mine[1]}").json()
    assert [fate["signature"] for fate in page] == mine[2:5]
    assert get(f"/priority/fates?before={signature(8)}").status_code == 404
    for limit in ("0", "257", "-1", "x", "1.5", "٣"):
        answer = get(f"/priority/fates?limit={limit}")
        assert (answer.status_code, answer.json()["error"]) == (400, "bad_query"), limit


def test_a_bundle_tells_its_transactions_and_the_engines_ids(rpc: Rpc, get: Get, key: Any) -> None:
    made = bundled(
        key,
        (1, 2),
        {"state": State.SENT, "reason": "tip_too_low: 5", "engine_ids": {"engine": "abc"}},
    )
    fate = rpc("/bundle", "getBundleFate", made.bundle_id)["result"]
    assert (fate["state"], fate["final"], fate["reason"]) == ("sent", False, "tip_too_low: 5")
    assert fate["engineIds"] == {"engine": "abc"}
    assert [each["signature"] for each in fate["transactions"]] == [
        str(signature(1)),
        str(signature(2)),
    ]
    assert {each["bundleId"] for each in fate["transactions"]} == {made.bundle_id}
    # What sendBundle answers names it as well.
    by_all = rpc("/bundle", "getBundleFate", [str(signature(1)), str(signature(2))])["result"]
    by_one = rpc("/bundle", "getBundleFate", str(signature(2)))["result"]
    assert by_all == by_one == fate == get(f"/bundle/fate/{made.bundle_id}").json()
    assert rpc("/priority", "getTransactionFate", str(signature(1)))["result"]["bundleId"]
    assert get(f"/bundle/fate/{made.bundle_id}", key="").status_code == 404
    assert get(f"/bundle/fate/{'0' * 64}").json()["error"] == "bundle_unknown"
    assert get("/bundle/fate/xyz").json()["error"] == "bundle_id_malformed"


def test_a_transaction_that_came_alone_is_a_bundle_of_one(rpc: Rpc, key: Any) -> None:
    from shared_state.redis_client import client

    row = landed(key)
    # Redis remembers it for minutes.
    client().set(pending_key(bytes(signature())), f"{row.accepted_at.timestamp()}|{key.pk}")
    fate = rpc("/bundle", "getBundleFate", str(signature()))["result"]
    assert (fate["state"], fate["slot"], len(fate["transactions"])) == ("landed", 102, 1)


def test_what_settled_long_ago_is_forgotten_with_its_bundles(key: Any, settings: Any) -> None:
    from priority.tasks import forget_submissions

    old = NOW - timedelta(days=settings.SUBMISSION_DAYS, seconds=1)
    settled = {"state": State.EXPIRED, "accepted_at": old, "settled_at": old}
    tried(stored(key, 1, **settled))
    bundled(key, (2, 3), **settled)
    stored(key, 4, accepted_at=old)  # without a fate it stays however old it is
    stored(key, 5, **{**settled, "settled_at": NOW})
    stored(key, 6)
    forget_submissions()
    left = {str(row.signature) for row in Submission.objects.all()}
    assert left == {str(signature(number)) for number in (4, 5, 6)}
    assert Bundle.objects.count() == 0
    forget_submissions()
    assert Submission.objects.count() == 3
