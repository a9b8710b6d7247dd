"""How late the queue is: told with each answer, and above the limit new submissions are refused."""

import json
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from priority.acceptance.services.accepting import submit_own
from priority.queue.store import CLAIM, queue_state
from priority.submissions import ACCEPTED_STREAM, FIELD, LANDERS, TIER_FIELD, Accepted, pack
from shared_state.redis_client import client, run_script
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS, wait
from tests.priority.landing import lander, start_lander, upstream
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import (
    SENT,
    pay,
    queued,
    result,
    signature,
    signed,
    static_address,
    text,
    tip,
)
from tests.priority.test_landing_batches import TAKEN

Door = Callable[..., Any]
HEADER = "X-Queue-Milliseconds"


def send(door: Door, transaction: VersionedTransaction, **options: Any) -> Any:
    return door("/priority", "sendTransaction", text(transaction), SENT, **options)


def queue_ms(door: Door, known: VersionedTransaction) -> int:
    """As the answer to what is in flight already says."""
    response = send(door, known)
    assert result(response) == signature(known)
    return int(response.headers[HEADER])


def flood(count: int, tier: str, *, seconds_old: float = 0) -> None:
    """Entries that nobody sends."""
    since = f"{int((time.time() - seconds_old) * 1_000)}-*" if seconds_old else "*"
    entry = Accepted("transaction", [bytes(64)], [b"\0"], time.time(), None, tier, "edge", "flood")
    with client().pipeline(transaction=False) as pipe:
        for _ in range(count):
            pipe.xadd(ACCEPTED_STREAM, {FIELD: pack(entry), TIER_FIELD: tier}, id=since)
        pipe.execute()
    # One look takes up a part of them.
    wait(lambda: queue_state().unsent >= count, "all are counted")


@pytest.mark.django_db
def test_every_answer_says_how_long_the_oldest_has_waited(door: Door, post: Any) -> None:
    first = signed(tip())
    response = send(door, first)
    assert (response.status_code, response.headers[HEADER]) == (200, "0")
    assert HEADER in response.headers["Access-Control-Expose-Headers"]
    wait(lambda: queue_ms(door, first) >= 50, "it waits")
    assert int(send(door, signed(tip())).headers[HEADER]) >= 50
    bundle = [text(signed(tip()))]
    response = door("/bundle", "sendBundle", bundle, {"encoding": "base64"})
    assert result(response)
    assert int(response.headers[HEADER]) >= 50


@pytest.mark.django_db
def test_what_would_come_too_late_is_refused_with_when_to_come_again(
    door: Door, settings: Any
) -> None:
    settings.LANDING_BEHIND_SLOTS = 1
    first, second = signed(tip()), signed(tip())
    result(send(door, first))
    wait(lambda: queue_ms(door, first) > 400, "it is late")
    response = send(door, second)
    assert response.status_code == 503
    answer = response.json()
    data = answer["error"]["data"]
    assert (answer["id"], answer["error"]["code"], data["reason"]) == (1, -32005, "landing_behind")
    assert data["found"] > data["maximum"] == 400
    assert data["unsent"] == 1
    # Nobody reports that anything is sent: a lander has to be started first.
    assert response.headers["Retry-After"] == str(data["retryAfterSeconds"]) == "5"
    assert response.headers[HEADER] == str(data["found"])
    assert [entry.signatures for entry in queued()] == [[bytes(first.signatures[0])]]
    # What tips nobody, or tips a dead address, is told that: waiting would not help.
    untipped = send(door, signed(pay(Keypair().pubkey(), 1)))
    assert untipped.json()["error"]["data"]["reason"] == "tip_missing"
    settings.LANDING_BEHIND_SLOTS = 0
    assert result(send(door, second)) == signature(second)


@pytest.mark.django_db
def test_in_a_batch_and_of_a_bundle_it_is_refused_likewise(
    door: Door, client: Any, api_key: str, settings: Any
) -> None:
    settings.LANDING_BEHIND_SLOTS = 1
    first = signed(tip())
    result(send(door, first))
    wait(lambda: queue_ms(door, first) > 400, "it is late")
    response = door("/bundle", "sendBundle", [text(signed(tip()))], {"encoding": "base64"})
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "sendTransaction",
            "params": [text(each), SENT],
        }
        for number, each in enumerate([first, signed(tip())])
    ]
    response = client.post(
        "/priority",
        json.dumps(calls),
        content_type="application/json",
        headers={"Authorization": api_key},
    )
    known, refused = response.json()
    assert known["result"] == signature(first)
    assert refused["error"]["data"]["reason"] == "landing_behind"
    assert len(queued()) == 1


@pytest.mark.django_db
def test_our_own_transactions_wait_and_are_never_refused(door: Door, settings: Any) -> None:
    from datetime import UTC, datetime

    settings.LANDING_BEHIND_SLOTS = 1
    first = signed(tip())
    result(send(door, first))
    wait(lambda: queue_ms(door, first) > 400, "it is late")
    submit_own(bytes(signed(pay(static_address(), 1))), kind="sweep", now=datetime.now(UTC))
    assert [entry.kind for entry in queued()] == ["transaction", "sweep"]


@pytest.mark.django_db
def test_a_burst_that_takes_too_long_to_send_is_refused_before_it_is_old(
    door: Door, settings: Any, issue: Any, tier: Any
) -> None:
    """A third of 60 s at the first rate of 100 a second. Other tiers keep their share."""
    settings.LANDING_BEHIND_SLOTS = 150
    epic, basic = issue(tier=tier("epic", 40)), issue(tier=tier("basic"))
    flood(5_000, "epic")
    response = send(door, signed(tip()), key=epic.secret)
    data = response.json()["error"]["data"]
    assert (response.status_code, data["reason"]) == (503, "landing_behind")
    assert data["found"] < data["maximum"] == 60_000
    assert data["unsent"] == 5_000
    assert result(send(door, signed(tip()), key=basic.secret))
    assert queued()[-1].tier == "basic"


@pytest.mark.django_db
def test_what_goes_before_a_tier_counts_for_it_too(
    door: Door, settings: Any, issue: Any, tier: Any
) -> None:
    """What has waited for a third of the limit, and what landers hold, is sent before all else."""
    settings.LANDING_BEHIND_SLOTS = 150
    basic = issue(tier=tier("basic"))

    def refusal() -> dict[str, Any]:
        response = send(door, signed(tip()), key=basic.secret)
        found: dict[str, Any] = response.json().get("error", {}).get("data", {})
        return found

    flood(2_500, "epic", seconds_old=30)
    assert refusal()["reason"] == "landing_behind"
    assert 30_000 <= refusal()["found"] < refusal()["maximum"] == 60_000
    client().flushdb()
    flood(2_500, "epic")
    assert refusal() == {}, "young ones of another tier only take their turns"
    client().xgroup_createconsumer(ACCEPTED_STREAM, LANDERS, "a lander")
    words = ["a lander", 2_200, 150, 400]
    assert len(run_script(CLAIM, args=words)[0]) == 2_200
    assert refusal()["reason"] == "landing_behind"


@pytest.mark.django_db(transaction=True)
def test_a_submission_is_sent_when_an_upstream_has_answered(door: Door, followed: Localnet) -> None:
    first, second = signed(tip()), signed(tip())
    answers = threading.Event()

    def answer(_: bytes) -> tuple[int, bytes]:
        answers.wait(PATIENCE_SECONDS)
        return 200, TAKEN

    with odd_node(answer) as node:
        upstream("slow", url=node.url, timeout_ms=60_000)
        with lander(followed):
            result(send(door, first))
            result(send(door, second))
            wait(lambda: len(node.bodies) == 2, "both are under way")
            wait(lambda: queue_ms(door, first) > 100, "they count as unsent")
            assert queue_state().unsent == 2
            answers.set()
            wait(lambda: queue_ms(door, first) == 0, "nothing waits")


@pytest.mark.django_db(transaction=True)
def test_a_stopped_lander_shows_and_a_drained_queue_accepts_again(
    door: Door, followed: Localnet, payer: Keypair, settings: Any
) -> None:
    settings.LANDING_BEHIND_SLOTS = 4
    first, second, third = (signed(tip()) for _ in range(3))

    def answer(_: bytes) -> tuple[int, bytes]:
        return 200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": "sent"}).encode()

    with odd_node(answer) as node:
        upstream("sink", url=node.url)
        process = start_lander(followed)
        try:
            wait(lambda: send(door, first).status_code == 200, "the first is accepted")
            wait(lambda: node.bodies, "it is sent")
            wait(lambda: queue_ms(door, first) == 0, "nothing waits")
            process.send_signal(signal.SIGSTOP)
            assert result(send(door, second)) == signature(second)
            wait(lambda: queue_ms(door, second) > 1_600, "it grows old")
            response = send(door, third)
            assert response.status_code == 503
            assert 1 <= int(response.headers["Retry-After"]) <= 30
            assert queue_ms(door, second) > 1_600, "what is known is answered as before"
            process.send_signal(signal.SIGCONT)
            wait(lambda: send(door, third).status_code == 200, "it is accepted again")
            fate = wait(lambda: sent_fate(door, second), "the second has been sent")
            assert fate["queueMilliseconds"] > 1_600
            waited = 1_000 * (fate["sentAt"] - fate["acceptedAt"])
            assert abs(fate["queueMilliseconds"] - waited) <= 1
        finally:
            process.kill()
            process.wait()


def sent_fate(door: Door, transaction: VersionedTransaction) -> Any:
    fate = result(door("/priority", "getTransactionFate", signature(transaction)))
    return fate if fate["sentAt"] is not None else None
