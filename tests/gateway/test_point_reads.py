"""Async methods on the event loop of the whole service: the same answers, limits and refusals."""

import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from solders.signature import Signature

from historical.blocks.services.text_caches import recent_texts
from tests.databases import end_sessions
from tests.upstream import sample_blocks as sample
from tests.web_server import service_worker
from tests.webserver.client import Client, post
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)
_JSON = "Content-Type: application/json"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where calls ran: `loop` for each that the loop admitted, and `lane` behind it for a plain
    method; `thread` for each that the application answered in a thread.
    """
    from gateway.known_heads import Turn
    from webserver.worker import Worker

    found: list[str] = []
    on_loop, submit, take = Worker._answer_on_loop, Worker._submit, Turn.take

    async def answer(self: Any, *args: Any) -> None:
        found.append("loop")
        await on_loop(self, *args)

    def in_thread(self: Any, *args: Any) -> None:
        found.append("thread")
        submit(self, *args)

    async def in_lane(self: Any, *args: Any) -> Any:
        found.append("lane")
        return await take(self, *args)

    monkeypatch.setattr(Turn, "take", in_lane)
    monkeypatch.setattr(Worker, "_answer_on_loop", answer)
    monkeypatch.setattr(Worker, "_submit", in_thread)
    return found


@pytest.fixture
def python_calls() -> Iterator[list[str]]:
    """The Python functions that threads begun from here on call, the web server's among them."""
    found: list[str] = []

    def note(frame: Any, event: str, _arg: object) -> None:
        if event == "call":
            found.append(frame.f_code.co_qualname)

    threading.setprofile(note)
    yield found
    threading.setprofile(None)  # type: ignore[arg-type]


@pytest.fixture
def port(tmp_path: Any) -> Iterator[int]:
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file())
    call_command("import_blocks", str(path), "--genesis", "mainnet", stdout=io.StringIO())
    with serving(service_worker()) as found:
        yield found


@pytest.fixture
def call(port: int, api_key: str) -> Callable[..., Any]:
    """`call("getSlot")`: the answer's object."""

    def ask(method: str, *params: Any, key: str | None = api_key, path: str = "/historical") -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        headers = [_JSON] if key is None else [_JSON, f"Authorization: {key}"]
        with Client(port) as client:
            reply = client.send(post(path, json.dumps(body).encode(), *headers)).reply()
        return reply.status, json.loads(reply.body)

    return ask


def test_reads_are_answered_on_the_loop_as_in_a_thread(call, rpc, begun):
    block = rpc("/historical", "getBlock", sample.SLOT, {"transactionDetails": "signatures"})
    signature = block["result"]["signatures"][0]
    versions = {"maxSupportedTransactionVersion": 0}
    calls: list[tuple[Any, ...]] = [
        ("getSlot",),
        ("getSlot", {"minContextSlot": 2**40}),
        ("getTransaction", signature, {**versions, "encoding": "base64"}),
        ("getTransaction", signature, {**versions, "encoding": "jsonParsed"}),
        ("getTransaction", signature[::-1]),
        ("getTransaction", "no signature"),
        ("getSignatureStatuses", [signature]),
        ("getSignaturesForAddress", "Vote111111111111111111111111111111111111111"),
        ("getSignaturesForAddress", "1" * 32, {"limit": 3, "before": signature}),
        ("getSignaturesForAddress", "1" * 32, {"limit": 1_001}),
        ("getSignaturesForAddress", "1" * 32, {"before": signature[::-1]}),
        ("getSignatureStatuses", [signature, signature[::-1]]),
    ]
    call("getSlot")  # the key is read from its table, which takes a thread
    begun.clear()
    for each in calls:
        status, answer = call(*each)
        assert status == 200
        expected = rpc("/historical", *each)
        del answer["id"], expected["id"]
        assert answer == expected
    assert begun == ["loop"] * len(calls)


def test_other_lists_are_read_in_threads(call, rpc, begun):
    call("getSlot")
    begun.clear()
    calls: list[tuple[Any, ...]] = [
        ("getTransactionsForAddress", "1" * 32),
        ("getBlocks", sample.SLOT, sample.SLOT),
        ("getBlockTime", sample.SLOT),
        ("getFirstAvailableBlock",),
    ]
    for each in calls:
        assert call(*each)[1]["result"] == rpc("/historical", *each)["result"]
    assert begun == ["loop", "lane"] * len(calls)


@pytest.mark.parametrize("details", ["signatures", "none", "full", "accounts"])
def test_a_block_that_is_in_memory_takes_no_thread(call, rpc, begun, details):
    call("getSlot")
    recent_texts.forget()
    options = {"transactionDetails": details, "maxSupportedTransactionVersion": 0}
    begun.clear()
    for _ in range(2):
        expected = rpc("/historical", "getBlock", sample.SLOT, options)["result"]
        recent_texts.forget()
        assert call("getBlock", sample.SLOT, options)[1]["result"] == expected
        assert call("getBlock", sample.SLOT, options)[1]["result"] == expected
    # A block's head alone needs no text.
    first = ["loop"] if details == "none" else ["loop", "lane"]
    assert begun == [*first, "loop"] * 2
    begun.clear()
    for refused in (
        {**options, "commitment": "processed"},
        {**options, "minContextSlot": 2**40},
        {**options, "transactionDetails": "some"},
    ):
        expected = rpc("/historical", "getBlock", sample.SLOT, refused)["error"]
        assert call("getBlock", sample.SLOT, refused)[1]["error"] == expected
    assert begun == ["loop", "lane"] * 3


def test_a_method_runs_on_the_loop_though_a_thread_admitted_its_caller(port, rpc, tier, begun):
    """Without a key limits are counted by address, which blocks; in a batch all is in a thread."""
    tier("anonymous", 0, requests_per_second=1_000, requests_burst=1_000)
    one = {"jsonrpc": "2.0", "id": 7, "method": "getSlot", "params": []}
    with Client(port) as client:
        for body, expected in ((one, "result"), ([one, one], None)):
            request = post("/historical", json.dumps(body).encode(), _JSON)
            found = client.send(request).reply().json
            first = found if expected else found[1]
            assert first["result"] == sample.SLOT
    assert begun == ["thread"] * 2


def test_a_key_that_is_not_known_yet_is_read_in_a_thread(call, begun):
    assert call("getSlot")[1]["result"] == sample.SLOT
    assert begun == ["loop"]
    begun.clear()
    assert call("getSlot")[1]["result"] == sample.SLOT
    assert begun == ["loop"]
    status, answer = call("getSlot", key="tmk_no_such_key")
    assert (status, answer["error"]["data"]["reason"]) == (401, "key_malformed")


def test_other_methods_are_left_to_threads_whatever_their_body_says(call, begun):
    call("getSlot")
    begun.clear()
    status, answer = call("getTransactionsForAddress", "getSlot", path="/historical")
    assert (status, answer["error"]["code"]) == (200, -32602)
    assert begun == ["loop", "lane"]
    begun.clear()
    nowhere = "11111111111111111111111111111112"
    assert call("getTransactionsForAddress", nowhere)[1]["result"]["data"] == []
    assert begun == ["loop", "lane"]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_limit_is_exact_however_its_calls_are_answered(port, call, tier, keyed, begun):
    from access.models import ApiKey, Customer
    from access.prefetched_tokens import SHARE_OF_BURST
    from access.services.keys import issue_key

    # So few that none is prefetched: those expire where the machine pauses (prefetched_tokens.py).
    limits = {"requests_per_second": 0.001, "requests_burst": SHARE_OF_BURST - 1}
    key = None
    if keyed:
        limited = tier("limited", 40, **limits)
        key = issue_key(Customer.objects.create(name="limited"), tier=limited, name="k").secret
        assert ApiKey.objects.count() >= 1
    else:
        tier("anonymous", 0, **limits)
    statuses: list[int] = []

    def ask() -> None:
        for number in range(15):
            method = ("getSlot", "getBlocks")[number % 3 == 0]
            params = () if method == "getSlot" else (sample.SLOT, sample.SLOT)
            statuses.append(call(method, *params, key=key)[0])

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for each in askers:
        each.start()
    for each in askers:
        each.join()
    assert sorted(statuses) == [200] * 15 + [429] * 45


def test_a_call_whose_key_may_have_changed_is_counted_once(call, tier, begun):
    from access.models import Customer
    from access.prefetched_tokens import SHARE_OF_BURST
    from access.services.keys import issue_key

    burst = SHARE_OF_BURST - 1
    limited = tier("limited", 40, requests_per_second=0.001, requests_burst=burst)
    customer = Customer.objects.create(name="limited")
    key = issue_key(customer, tier=limited, name="k").secret
    statuses = []
    for number in range(burst + 5):
        issue_key(customer, tier=limited, name=f"other {number}")  # each changes the generation
        statuses.append(call("getSlot", key=key)[0])
    assert statuses == [200] * burst + [429] * 5


def test_a_removed_block_is_gone_with_the_commit(call):
    from historical.recording.services.removal import remove_blocks

    assert call("getSlot")[1]["result"] == sample.SLOT
    assert call("getBlockTime", sample.SLOT)[1]["result"] is not None
    remove_blocks(0, 2**40)
    assert call("getSlot")[1]["error"]["data"]["reason"] == "ledger_empty"
    assert "error" in call("getBlockTime", sample.SLOT)[1]


def test_a_restarted_database_fails_no_call_that_comes_later(call):
    assert call("getSlot")[1]["result"] == sample.SLOT
    call("getBlockTime", sample.SLOT + 1)
    connection.close()
    end_sessions()
    for _ in range(5):
        assert call("getBlockTime", sample.SLOT + 1)[1]["error"]["data"]["reason"] != "outage"
        assert call("getSlot")[1]["result"] == sample.SLOT
        assert call("getTransaction", str(Signature(os.urandom(64))))[1]["result"] is None


def test_requests_sent_at_once_are_answered_in_their_order(port, api_key):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getSlot"}).encode()
    with Client(port) as client:
        for number in range(1, 60):
            method = ("getSlot", "getBlockTime", "getBlocks")[number % 3]
            params = {"getSlot": [], "getBlockTime": [sample.SLOT + number]}.get(
                method, [sample.SLOT, sample.SLOT]
            )
            body = json.dumps(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            ).encode()
            client.send(post("/historical", body, _JSON, f"Authorization: {api_key}"))
        for number in range(1, 60):
            assert json.loads(client.reply().body)["id"] == number


def test_a_remembered_transaction_takes_at_most_100_python_calls(python_calls, port, api_key):
    """From the request's bytes to the response's; docs/benchmarks.md has the figures."""
    signature = sample.block_json("json")["transactions"][0]["transaction"]["signatures"][0]
    body = {"jsonrpc": "2.0", "id": 7, "method": "getTransaction"}
    body["params"] = [signature, {"maxSupportedTransactionVersion": 0}]
    request = post("/historical", json.dumps(body).encode(), _JSON, f"Authorization: {api_key}")
    counts = []
    with Client(port) as client:
        for _ in range(40):
            python_calls.clear()
            reply = client.send(request).reply()
            counts.append(len(python_calls))
            assert json.loads(reply.body)["result"]["slot"] == sample.SLOT
    # Timers of the server run now and then; the first calls fill what the rest finds in memory.
    assert 40 < min(counts) <= 100
