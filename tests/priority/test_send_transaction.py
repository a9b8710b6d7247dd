"""sendTransaction on /priority: what is accepted, how it is queued, and what happens twice."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext
from solders.hash import Hash

from chain.encodings import b58encode
from priority import chain_events
from priority.acceptance.services import selection
from priority.acceptance.services.accepting import submit_own
from priority.queue.store import CLAIM, REPORT
from priority.submissions import Tip, pack, pending_key, unpack
from priority.upstreams.models import Upstream
from shared_state import script_socket
from shared_state.redis_client import client
from tests.priority.sending import (
    MINIMUM,
    SENT,
    advance_nonce,
    pay,
    queued,
    refusal,
    result,
    signature,
    signed,
    signed_v0,
    static_address,
    text,
    tip,
)

Door = Callable[..., Any]
pytestmark = pytest.mark.django_db


def test_an_accepted_transaction_waits_with_all_that_a_lander_needs(
    door: Door, issue: Any, settings: Any
) -> None:
    issued = issue(tier=None)
    transaction = signed(pay(static_address(), 5), tip(MINIMUM + 1), tip(MINIMUM + 2))
    before = datetime.now(UTC).timestamp()
    config = {**SENT, "maxRetries": 3, "preflightCommitment": "processed", "minContextSlot": 9}
    response = door(
        "/priority",
        "sendTransaction",
        text(transaction),
        config,
        key=issued.secret,
        HTTP_X_REQUEST_ID="mine-1",
    )
    assert result(response) == signature(transaction)
    (entry,) = queued()
    assert entry.kind == "transaction"
    assert entry.signatures == [bytes(transaction.signatures[0])]
    assert entry.wires == [bytes(transaction)]
    assert before <= entry.received_at <= datetime.now(UTC).timestamp()
    assert (entry.key_id, entry.tier) == (issued.key.pk, "basic")
    assert (entry.edge, entry.request_id) == (settings.EDGE_NAME, "mine-1")
    assert entry.tip == Tip(bytes(static_address()), MINIMUM + 1, 0, 1)
    assert (entry.max_retries, entry.only, entry.bundle_id) == (3, [], "")
    assert unpack(pack(entry)) == entry
    key = pending_key(entry.signatures[0])
    assert client().get(key) == f"{entry.received_at}|{issued.key.pk}".encode()
    assert 0 < client().ttl(key) <= 300


@pytest.mark.parametrize("encoding", ["base58", None])
def test_base58_is_what_is_meant_where_nothing_is_said(door: Door, encoding: str | None) -> None:
    transaction = signed_v0(tip())
    config = {"skipPreflight": True} if encoding is None else {**SENT, "encoding": encoding}
    response = door("/priority", "sendTransaction", b58encode(bytes(transaction)), config)
    assert result(response) == signature(transaction)
    assert len(queued()) == 1


def test_the_same_transaction_is_queued_once_however_many_send_it(
    door: Door, live_keys: list[str]
) -> None:
    transaction = text(signed(tip()))
    together = threading.Barrier(len(live_keys))

    def send(key: str) -> Any:
        together.wait()
        answer = result(door("/priority", "sendTransaction", transaction, SENT, key=key))
        connection.close()
        return answer

    with ThreadPoolExecutor(len(live_keys)) as threads:
        answers = set(threads.map(send, live_keys))
    assert len(answers) == 1
    assert len(queued()) == 1


@pytest.fixture
def live_keys(transactional_db: None, issue: Any) -> list[str]:
    made = issue(requests_per_second=1_000, requests_burst=1_000)
    return [made.secret] * 8


def test_nothing_is_asked_of_the_database(
    door: Door, known_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection._upstreams, "_seconds", 3_600.0)  # a busy machine takes its time
    fetched = signed(tip()).message.account_keys[0]
    client().set(f"tidemark:tip:{bytes(fetched).hex()}", 2**40)
    first = signed(tip())
    result(door("/priority", "sendTransaction", text(first), SENT))  # the key is read once
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for transaction in (signed(tip()), signed(pay(fetched, MINIMUM)), first):
            result(door("/priority", "sendTransaction", text(transaction), SENT))
    assert [each["sql"] for each in queries] == []
    assert len(queued()) == 3


def test_a_blockhash_is_refused_only_when_it_is_known_to_be_dead(door: Door) -> None:
    old, young = Hash.new_unique(), Hash.new_unique()
    redis = client()
    redis.hset(chain_events.BLOCKHASHES, mapping={bytes(old): 1_000, bytes(young): 1_001})
    redis.hset(chain_events.HEAD, mapping={"slot": 1_300, "height": 1_151, "at": 1})
    refused = refusal(
        door("/priority", "sendTransaction", text(signed(tip(), blockhash=old)), SENT)
    )
    assert refused["reason"] == "blockhash_expired"
    assert (refused["required"], refused["found"]) == (1_150, 1_151)
    for transaction in (
        signed(tip(), blockhash=young),
        signed(tip(), blockhash=Hash.new_unique()),
        signed(advance_nonce(), tip(), blockhash=old),
    ):
        result(door("/priority", "sendTransaction", text(transaction), SENT))
    assert len(queued()) == 3


def test_an_advance_that_is_not_first_is_named_where_the_blockhash_is_unknown(door: Door) -> None:
    known = Hash.new_unique()
    client().hset(chain_events.BLOCKHASHES, mapping={bytes(known): 1_000})
    for transaction, advised in (
        (signed(tip(), advance_nonce()), True),
        (signed(tip(), advance_nonce(), blockhash=known), False),
        (signed(advance_nonce(), tip()), False),
        (signed(tip()), False),
    ):
        response = door("/priority", "sendTransaction", text(transaction), SENT)
        assert result(response) == signature(transaction)
        advice = response.headers.get("X-Advice", "")
        assert advice.startswith("nonce_not_first: instruction 1 advances a nonce") == advised
        assert bool(advice) == advised


def test_upstreams_are_chosen_by_the_query_and_the_config_together(door: Door) -> None:
    Upstream.objects.create(name="Fast", kind="node", url="http://fast.example")
    for told, query, expected in (
        (["FAST", "node"], "", ["fast", "node"]),
        ("leaders, bundle", "?only=fast", ["leaders", "bundle", "fast"]),
        (None, "?only=node,,node&api_key=", ["node"]),
        ([], "?only=", []),
        ("", "", []),
    ):
        config = {**SENT} if told is None else {**SENT, "onlyUpstreams": told}
        result(door(f"/priority{query}", "sendTransaction", text(signed(tip())), config))
        assert queued()[-1].only == expected


def test_an_upstream_that_cannot_be_chosen_is_http_400(door: Door, tier: Any) -> None:
    elite = Upstream.objects.create(name="elite-only", kind="node", url="http://e.example")
    elite.tiers.add(tier("elite", 30))
    Upstream.objects.create(name="off", kind="node", url="http://o.example", is_enabled=False)
    for name in ("elite-only", "off", "engine", "nowhere"):
        config = {**SENT, "onlyUpstreams": ["node", name]}
        response = door("/priority", "sendTransaction", text(signed(tip())), config)
        refused = refusal(response, status=400)
        assert refused["reason"] == "unknown_upstream"
        assert refused["found"] == [name]
        assert refused["selectable"] == ["leaders", "node", "bundle"]
        assert response.json()["id"] == 1
        assert response.json()["error"]["message"].startswith("Unknown upstream name: ")
    response = door("/priority?only=bundle", "sendTransaction", text(signed(tip())), SENT)
    assert refusal(response, status=400)["reason"] == "no_upstream_chosen"


def test_only_what_is_enabled_for_the_hosts_tier_can_be_chosen(door: Door, tier: Any) -> None:
    elite = Upstream.objects.create(name="elite-only", kind="node", url="http://e.example")
    elite.tiers.add(tier("elite", 30))
    Upstream.objects.filter(kind="block_engine").update(is_enabled=False)
    config = {**SENT, "onlyUpstreams": "elite-only"}
    for host in ("elite.rpc.localhost", "elite.qos.localhost"):
        result(door("/priority", "sendTransaction", text(signed(tip())), config, host=host))
    assert {entry.tier for entry in queued()} == {"elite"}
    client().flushdb()
    response = door(
        "/priority", "sendTransaction", text(signed(tip())), config, host="basic.qos.localhost"
    )
    assert refusal(response, status=400)["selectable"] == ["leaders", "node"]


def test_a_selection_in_a_batch_is_refused_by_itself(client: Any, api_key: str) -> None:
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "sendTransaction",
            "params": [text(signed(tip())), {**SENT, "onlyUpstreams": names}],
        }
        for number, names in enumerate([["nowhere"], ["node"]])
    ]
    response = client.post(
        "/priority", calls, content_type="application/json", headers={"Authorization": api_key}
    )
    assert response.status_code == 200
    first, second = response.json()
    assert first["error"]["data"]["reason"] == "unknown_upstream"
    assert "result" in second
    assert len(queued()) == 1


def test_a_full_queue_takes_no_more(door: Door, settings: Any) -> None:
    settings.ACCEPTED_MOST = 2
    for _ in range(2):
        result(door("/priority", "sendTransaction", text(signed(tip())), SENT))
    response = door("/priority", "sendTransaction", text(signed(tip())), SENT)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (200, -32005)
    assert error["data"] == {"reason": "queue_full", "found": 2, "maximum": 2}
    assert len(queued()) == 2


@pytest.fixture
def silent_redis(settings: Any) -> Any:
    """Redis takes what it is sent and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.REDIS_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        script_socket.forget()
        yield
    script_socket.forget()


def test_without_redis_nothing_is_claimed(door: Door, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result(door("/priority", "sendTransaction", text(signed(tip())), SENT))  # the key is known
    ours, settings.REDIS_URL = settings.REDIS_URL, f"redis://127.0.0.1:{port}/0"
    script_socket.forget()
    for _ in range(2):
        response = door("/priority", "sendTransaction", text(signed(tip())), SENT)
        error = response.json()["error"]
        assert error["code"] == -32005
        assert error["data"] == {
            "reason": "redis_unavailable",
            "retryAfterSeconds": 2,
            "mayBeQueued": False,
        }
        assert response.headers["Retry-After"] == "2"
    settings.REDIS_URL = ours
    assert len(queued()) == 1


def test_an_answer_that_does_not_come_is_told_as_such(door: Door, silent_redis: None) -> None:
    response = door("/priority", "sendTransaction", text(signed(tip())), SENT)
    error = response.json()["error"]
    assert error["data"] == {
        "reason": "queue_unavailable",
        "retryAfterSeconds": 2,
        "mayBeQueued": True,
    }


@pytest.mark.usefixtures("own_redis")
def test_a_redis_that_is_full_is_named_the_same_by_every_call(door: Door, settings: Any) -> None:
    sent = text(signed(tip()))
    result(door("/priority", "sendTransaction", sent, SENT))  # the key is known
    with redis.Redis.from_url(settings.REDIS_URL) as full:
        full.config_set("maxmemory", "1")
        for _ in range(2):  # the second one does not ask Redis
            response = door("/priority", "sendTransaction", text(signed(tip())), SENT)
            assert response.json()["error"]["data"] == {
                "reason": "redis_full",
                "retryAfterSeconds": 30,
                "mayBeQueued": False,
            }
        full.config_set("maxmemory", "0")


def test_one_of_our_own_is_queued_once_and_tips_nobody() -> None:
    transaction = signed(pay(static_address(), 1))
    now = datetime(2026, 11, 21, tzinfo=UTC)
    for _ in range(3):
        submit_own(bytes(transaction), kind="sweep", now=now)
    (entry,) = queued()
    assert (entry.kind, entry.tip, entry.key_id) == ("sweep", None, None)
    assert entry.wires == [bytes(transaction)]
    assert entry.received_at == now.timestamp()
    assert client().get(pending_key(entry.signatures[0])) == f"{now.timestamp()}|".encode()


def test_health_tells_of_a_stopped_lander(door: Door, chain: Any) -> None:
    assert result(door("/priority", "getHealth")) == "ok"
    result(door("/priority", "sendTransaction", text(signed(tip())), SENT))
    assert result(door("/priority", "getHealth")) == "ok"
    # An entry of long ago; nobody has read it.
    client().flushdb()
    client().xadd("tidemark:landing:accepted", {"s": b""}, id="1000-0")
    error = door("/priority", "getHealth").json()["error"]
    assert (error["code"], error["data"]["reason"]) == (-32005, "landing_stalled")
    # A lander that claims it and does not send it changes nothing.
    claimed: Any = client().eval(CLAIM, 0, "one", 10, 16, 400)
    assert [entry_id for entry_id, _ in claimed[0]] == [b"1000-0"]
    assert door("/priority", "getHealth").json()["error"]["data"]["reason"] == "landing_stalled"
    client().eval(REPORT, 0, 1, "1000-0", 0)
    assert result(door("/priority", "getHealth")) == "ok"


def test_a_ping_costs_nothing_and_asks_for_no_key(client: Any) -> None:
    for host in ("localhost", "basic.rpc.localhost", "ultra.qos.localhost"):
        response = client.get("/priority/ping", headers={"Host": host, "Authorization": "no key"})
        assert (response.status_code, response.json()) == (200, {"result": "pong"})
        assert "X-RateLimit-Limit" not in response.headers
        assert response.headers["X-Request-Id"]
    assert client.get("/priority/ping", headers={"Host": "public.rpc.localhost"}).status_code == 404
    assert client.post("/priority/ping").status_code == 405
