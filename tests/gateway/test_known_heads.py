"""Calls that the event loop answers without Django: the same answers, headers, limits and refusals
as by Django, also where a connection repeats its head.
"""

import io
import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from gateway import known_heads
from gateway.known_heads import KnownHead
from tests.lock_waits import until_waiting
from tests.upstream import sample_blocks as sample
from tests.web_server import service_worker
from tests.webserver.client import Client, Reply, post
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def port(tmp_path: Any) -> Iterator[int]:
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file())
    call_command("import_blocks", str(path), "--genesis", "mainnet", stdout=io.StringIO())
    with serving(service_worker()) as found:
        yield found


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each request that was tried without Django: whether it was answered so."""
    found: list[bool] = []
    answer = KnownHead.answer

    async def noting(self: KnownHead, *args: Any, **how: Any) -> Any:
        response = await answer(self, *args, **how)
        found.append(response is not None)
        return response

    monkeypatch.setattr(KnownHead, "answer", noting)
    return found


def _request(key: str | None, method: str, *params: Any, path: str = "/historical", **more: str):
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    headers = {"Content-Type": "application/json", **more}
    if key is not None:
        headers["Authorization"] = key
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return post(path, json.dumps(body).encode(), *lines)


def _replies(port: int, request: bytes, count: int = 3) -> list[Reply]:
    with Client(port) as client:
        return [client.send(request).reply() for _ in range(count)]


def _without(reply: Reply, *names: str) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name not in names}


@pytest.mark.parametrize("accepted", ["", "gzip", "zstd, gzip;q=0.5"])
def test_a_known_head_is_answered_as_by_django(port, issue, rpc, short, accepted, monkeypatch):
    key = issue(requests_per_second=10_000, requests_burst=10_000).secret
    block = rpc("/historical", "getBlock", sample.SLOT, {"transactionDetails": "signatures"})
    versions = {"maxSupportedTransactionVersion": 0, "encoding": "base64"}
    more = {"Accept_Encoding": accepted} if accepted else {}
    calls: list[tuple[Any, ...]] = [
        ("getSlot",),
        ("getTransaction", block["result"]["signatures"][0], versions),
        ("getTransaction", "no signature"),
        ("getSignatureStatuses", [block["result"]["signatures"][0]]),
        ("getBlock", sample.SLOT, versions),
        ("getBlock", sample.SLOT + 1),
        ("getBlocks", sample.SLOT, sample.SLOT + 5),
        ("rpc.discover",),
    ]
    _replies(port, _request(key, "getSlot"))
    short.clear()
    for each in calls:
        with monkeypatch.context() as patch:
            patch.setattr(known_heads, "_known", lambda *_: None)
            (first,) = _replies(port, _request(key, *each, **more), 1)
        others = _replies(port, _request(key, *each, **more))
        for other in others:
            assert (other.status, other.body) == (first.status, first.body)
            changing = ("date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
            assert _without(other, *changing) == _without(first, *changing)
            assert other.headers.keys() == first.headers.keys()
            assert int(other.headers["x-ratelimit-remaining"]) < 10_000
        assert len({each.headers["x-request-id"] for each in (first, *others)}) == 4
    assert short == [True] * 3 * len(calls)


def test_the_clients_own_request_id_comes_back_where_it_is_sane(port, api_key, short):
    for _ in range(2):  # the key is known by then
        replies = _replies(port, _request(api_key, "getSlot", X_Request_Id="mine-1"))
        assert [each.headers["x-request-id"] for each in replies] == ["mine-1"] * 3
        replies = _replies(port, _request(api_key, "getSlot", X_Request_Id="not sane"))
        assert len({each.headers["x-request-id"] for each in replies} - {"not sane"}) == 3
    assert True in short


def test_the_limit_of_a_key_is_exact(port, issue, short):
    key = issue(requests_per_second=0.001, requests_burst=20).secret
    replies = _replies(port, _request(key, "getSlot"), 30)
    assert [each.status for each in replies] == [200] * 20 + [429] * 10
    assert replies[-1].json["error"]["data"]["reason"] == "rate_limited"
    assert replies[-1].headers["retry-after"]
    assert short.count(True) >= 10


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ("suspend", 403, "key_suspended"),
        ("revoke", 401, "key_revoked"),
        ("expire", 401, "key_expired"),
        ("narrow", 403, "method_not_allowed"),
    ],
)
def test_a_key_that_changes_is_refused_on_its_open_connection(
    port, issue, short, change, status, reason
):
    from access.services import keys

    issued, now = issue(), datetime.now(UTC)
    request = _request(issued.secret, "getSlot")
    with Client(port) as client:
        assert [client.send(request).reply().status for _ in range(4)] == [200] * 4
        assert short[-1] is True
        key = issued.key
        if change == "suspend":
            keys.suspend_key(key.id, now=now)
        elif change == "revoke":
            keys.revoke_key(key.id, now=now)
        elif change == "expire":
            key.expires_at = now - timedelta(seconds=1)
            key.save()
        else:
            key.methods = ["getBlock"]
            key.save()
        reply = client.send(request).reply()
        assert (reply.status, reply.json["error"]["data"]["reason"]) == (status, reason)
        replies = [client.send(request).reply() for _ in range(2)]
        assert [each.status for each in replies] == [status] * 2


def test_what_is_not_for_it_is_left_to_the_application(port, api_key, tier, short):
    tier("anonymous", 0, requests_per_second=1_000, requests_burst=1_000)
    _replies(port, _request(api_key, "getSlot"))
    short.clear()
    cases: list[tuple[bytes, int]] = [
        (_request(api_key, "getSlot", Content_Encoding="gzip"), 415),
        (_request(None, "getSlot"), 200),
        (_request(api_key, "getSlot", path="/historical//"), 404),
        (_request(api_key, "getNothing"), 200),
    ]
    for request, status in cases:
        first, *others = _replies(port, request)
        assert {each.status for each in (first, *others)} == {status}
        assert {each.body for each in others} == {first.body}
    assert True not in short


@pytest.mark.parametrize(
    ("refused", "status", "reason", "method"),
    [
        ("unknown", 401, "key_unknown", "none"),
        ("malformed", 401, "key_malformed", "none"),
        ("suspended", 403, "key_suspended", "none"),
        ("scope", 403, "scope_missing", "getSlot"),
    ],
)
def test_a_key_is_refused_on_the_loop_as_by_django(
    port, issue, short, refused, status, reason, method, monkeypatch
):
    from access.models import UsageMinute
    from access.services import keys

    issued = issue(scopes=["priority"] if refused == "scope" else ["historical"])
    key = "tmk_x" if refused == "malformed" else issued.secret
    if refused == "unknown":
        issued.key.delete()
    if refused == "suspended":
        keys.suspend_key(issued.key.id, now=datetime.now(UTC))
    with monkeypatch.context() as patch:
        patch.setattr(known_heads, "_known", lambda *_: None)
        (first,) = _replies(port, _request(key, "getSlot"), 1)
    assert not short
    others = _replies(port, _request(key, "getSlot"))
    for each in (first, *others):
        assert (each.status, each.json["error"]["data"]["reason"]) == (status, reason)
        assert _without(each, "date", "x-request-id") == _without(first, "date", "x-request-id")
        assert each.body == first.body
    assert len(short) == 3
    counted = UsageMinute.objects.filter(method=method, status=reason)
    assert _calls(counted) == 4


def _calls(rows: Any) -> int:
    from access import usage
    from access.tasks import roll_up_usage

    usage.flush()
    roll_up_usage()
    return sum(row.calls for row in rows)


def test_calls_are_counted_once_each(port, issue, short):
    from access import usage
    from access.models import UsageMinute
    from access.tasks import roll_up_usage

    issued = issue(requests_per_second=10_000, requests_burst=10_000)
    usage.flush()
    _replies(port, _request(issued.secret, "getSlot"), 9)
    _replies(port, _request(issued.secret, "getTransaction", "no signature"), 4)
    usage.flush()
    roll_up_usage()
    rows = UsageMinute.objects.filter(key_id=issued.key.id)
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        found[row.method, row.status] = found.get((row.method, row.status), 0) + row.calls
    assert found == {("getSlot", "ok"): 9, ("getTransaction", "invalid_params"): 4}
    assert True in short


def test_answers_keep_their_order_on_a_connection(port, api_key, short):
    answer: Callable[[bytes], Any] = lambda body: json.loads(body)["id"]  # noqa: E731
    with Client(port) as client:
        for number in range(10, 60):
            body = {"jsonrpc": "2.0", "id": number, "method": "getSlot", "params": []}
            headers = ("Content-Type: application/json", f"Authorization: {api_key}")
            client.send(post("/historical", json.dumps(body).encode(), *headers))
            assert answer(client.reply().body) == number
    assert short.count(True) >= 40


def test_a_call_whose_client_left_before_its_turn_is_not_run(port, issue, short, settings):
    from access import usage
    from access.models import UsageMinute
    from access.tasks import roll_up_usage

    key = issue(requests_per_second=10_000, requests_burst=10_000)
    _replies(port, _request(key.secret, "getSlot"), 1)
    usage.flush()
    at_once = settings.DEAR_CALLS_OF_KEY
    with psycopg.connect(**connection.get_connection_params()) as other, ExitStack() as clients:
        other.execute("LOCK TABLE historical_block IN ACCESS EXCLUSIVE MODE")
        # As many wait for the lock as may run, and then one behind them.
        waiting = [clients.enter_context(Client(port)) for _ in range(at_once)]
        for number, client in enumerate(waiting):
            client.send(_request(key.secret, "getBlock", sample.SLOT + 1 + number))
        until_waiting(at_once)
        with Client(port) as leaving:
            leaving.send(_request(key.secret, "getBlock", sample.SLOT + 100))
            leaving.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Behind the reset, which the loop has seen after some turns.
        with Client(port) as following:
            for _ in range(20):
                following.send(_request(key.secret, "getSlot")).reply()
        other.rollback()
        assert [client.reply().status for client in waiting] == [200] * at_once
    assert _replies(port, _request(key.secret, "getBlock", sample.SLOT), 1)[0].status == 200
    usage.flush()
    roll_up_usage()
    rows = UsageMinute.objects.filter(key_id=key.key.id, method="getBlock")
    assert sum(row.calls for row in rows) == at_once + 1
