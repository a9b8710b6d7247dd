"""POST /: the standard node's methods, passed on to the node; and what becomes of it when not."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from django.utils import timezone

from access import usage
from access.models import KeyDay, UsageMinute
from access.services import keys, monthly_quotas
from access.tasks import roll_up_usage
from gateway.hosts import EVERY
from priority.proxy.services import forwarding
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS
from tests.priority.odd_nodes import OddNode
from upstream.connection_pools import pool_for

Issue = Callable[..., keys.IssuedKey]
Post = Callable[..., Any]
Node = Callable[..., OddNode]
pytestmark = pytest.mark.django_db


def call(method: str, *params: Any, identity: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": list(params)}


def result(value: Any) -> Callable[[bytes], tuple[int, bytes]]:
    """A node that answers every call, or each of a batch in reverse, with the value."""

    def answer(body: bytes) -> tuple[int, bytes]:
        calls = json.loads(body)
        if isinstance(calls, dict):
            return 200, json.dumps({"jsonrpc": "2.0", "result": value, "id": calls["id"]}).encode()
        answers = [{"jsonrpc": "2.0", "id": each["id"], "result": value} for each in calls]
        return 200, json.dumps(answers[::-1]).encode()

    return answer


def text(content: str, status: int = 200) -> Callable[[bytes], tuple[int, bytes]]:
    return lambda body: (status, content.encode())


def reason(response: Any) -> str:
    assert response.status_code == 200, response.content
    error = response.json()["error"]
    assert isinstance(error["code"], int) and isinstance(error["message"], str)
    return str(error["data"]["reason"])


def test_a_call_is_answered_as_the_node_answers_it(chain: Localnet, post: Post) -> None:
    for method, *params in (
        ["getGenesisHash"],
        ["getMinimumBalanceForRentExemption", 165],
        ["getBlocks", 0, 3],
        ["getEpochSchedule"],
    ):
        response = post(call(str(method), *params, identity="mine"))
        assert response.json() == {
            "jsonrpc": "2.0",
            "id": "mine",
            "result": chain.call(str(method), *params),
        }
        assert response["X-Request-Id"] and response["Access-Control-Allow-Origin"] == "*"


def test_the_nodes_error_is_passed_on_as_it_is(chain: Localnet, post: Post) -> None:
    for method, *params in (["getBalance", "nonsense"], ["getBlock", 2**40]):
        answer = post(call(str(method), *params)).json()
        assert answer["error"] == chain.answer(str(method), *params)["error"]
        assert answer["id"] == 1 and "result" not in answer


def test_a_batch_mixes_our_own_and_the_nodes_and_goes_to_the_node_once(
    node: Node, post: Post
) -> None:
    odd = node(result({"value": 7}))
    body = [
        call("getSlot", identity="a"),
        call("getHealthy", identity=2),
        {"jsonrpc": "2.0", "method": "getSlot"},
        call("getBalance", "x", {"commitment": "processed"}, identity=3),
    ]
    first, unknown, bad, last = post(body).json()
    assert first == {"jsonrpc": "2.0", "id": "a", "result": {"value": 7}}
    assert unknown["error"]["code"] == -32601
    assert bad["error"]["code"] == -32600
    assert last == {"jsonrpc": "2.0", "id": 3, "result": {"value": 7}}
    (sent,) = odd.bodies
    assert [(each["method"], each["params"]) for each in json.loads(sent)] == [
        ("getSlot", []),
        ("getBalance", ["x", {"commitment": "processed"}]),
    ]


def test_numbers_and_texts_pass_both_ways_byte_for_byte(node: Node, post: Post) -> None:
    answer = (
        b'{"id":0,"jsonrpc":"2.0" , "result": {"a":18446744073709551615,"b":1.50,"c":"\\u00e9"}}'
    )
    odd = node(lambda body: (200, answer))
    params = b'[ 18446744073709551615,1.0e2 ,"\\u00e9" ]'
    body = b'{"jsonrpc":"2.0","id":"i","method":"getBalance","params":' + params + b"}"
    response = post(body)
    spliced = b'{"a":18446744073709551615,"b":1.50,"c":"\\u00e9"}'
    assert response.content == b'{"jsonrpc":"2.0","id":"i","result":' + spliced + b"}"
    assert params in odd.bodies[0]


def test_connections_to_the_node_are_kept(node: Node, post: Post) -> None:
    odd = node(result(1))
    for _ in range(5):
        assert post(call("getSlot")).json()["result"] == 1
    assert (len(odd.bodies), odd.connections) == (5, 1)


def test_a_method_that_is_not_passed_on_is_unknown(
    chain: Localnet, settings: Any, post: Post
) -> None:
    # Localnet's own switches are nobody's business outside.
    for method in ("setFaults", "getFaults", "getTransactionsForAddress", ""):
        assert post(call(method)).json()["error"]["code"] == -32601
    settings.PROXY_METHODS = frozenset({"getSlot"})
    assert "result" in post(call("getSlot")).json()
    assert post(call("getBlockHeight")).json()["error"]["data"]["reason"] == "method_not_found"


def test_a_large_answer_is_compressed_as_any_other(node: Node, post: Post) -> None:
    value = ["account data " * 10] * 40_000
    node(result(value))
    response = post(call("getProgramAccounts"), HTTP_ACCEPT_ENCODING="zstd")
    assert response["Content-Encoding"] == "zstd"
    content = zstandard.ZstdDecompressor().decompressobj().decompress(response.content)
    assert json.loads(content)["result"] == value


def test_a_node_that_does_not_listen_is_told(settings: Any, post: Post) -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        settings.UPSTREAM_RPC_URL = f"http://127.0.0.1:{door.getsockname()[1]}"
    response = post(call("getSlot"))
    assert reason(response) == "upstream_unreachable"
    assert response.json()["error"]["code"] == -32005
    first, second = post([call("getSlot"), call("nonsense")]).json()
    assert first["error"]["data"]["reason"] == "upstream_unreachable"
    assert second["error"]["data"]["reason"] == "method_not_found"
    assert reason(post(call("getHealth"))) == "upstream_unreachable"


def test_what_the_node_does_not_answer_is_not_counted(
    settings: Any, post: Post, issue: Issue
) -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        settings.UPSTREAM_RPC_URL = f"http://127.0.0.1:{door.getsockname()[1]}"
    issued = issue(calls_per_month=100)
    post(call("getSlot"), key=issued.secret)
    post([call("getSlot"), call("nonsense"), call("getSlot")], key=issued.secret)
    usage.flush()
    roll_up_usage()
    day = KeyDay.objects.get(key=issued.key)
    assert (day.calls, day.counted, day.failed, day.refused) == (4, 1, 3, 0)
    month = monthly_quotas.usage_of(issued.key.pk, timezone.now())
    assert month is not None and month.used == 1


def test_without_a_node_there_is_nothing_to_pass_on_to(settings: Any, post: Post) -> None:
    settings.UPSTREAM_RPC_URL = ""
    assert reason(post(call("getSlot"))) == "no_upstream_node"
    assert reason(post(call("getHealth"))) == "no_upstream_node"


def test_a_node_that_takes_too_long_is_told(node: Node, settings: Any, post: Post) -> None:
    done = threading.Event()

    def hang(body: bytes) -> tuple[int, bytes]:
        done.wait(PATIENCE_SECONDS)
        return 200, b"{}"

    node(hang)
    settings.PROXY_TIMEOUT_SECONDS = 1
    try:
        response = post(call("getSlot"))
        assert reason(response) == "upstream_timeout"
        assert response.json()["error"]["data"]["maximum"] == 1
    finally:
        done.set()


def test_a_node_that_hangs_keeps_a_few_threads_and_no_more(
    node: Node, settings: Any, post: Post
) -> None:
    done, waiting = threading.Event(), threading.Semaphore(0)

    def hang(body: bytes) -> tuple[int, bytes]:
        waiting.release()
        done.wait(PATIENCE_SECONDS)
        return result(5)(body)

    odd = node(hang)
    found: list[Any] = []

    def ask() -> None:
        found.extend(
            forwarding.forward(
                [("getSlot", b"[]")], node=pool_for(odd.url), seconds=PATIENCE_SECONDS
            )
        )

    threads = [threading.Thread(target=ask) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            assert waiting.acquire(timeout=PATIENCE_SECONDS)
        assert reason(post(call("getSlot"))) == "upstream_busy"
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert [bytes(each) for each in found] == [b"5"] * 8
    assert post(call("getSlot")).json()["result"] == 5


@pytest.mark.parametrize(
    "answer",
    [
        text("<html>Bad gateway</html>", 502),
        text("", 503),
        text("[]"),
        text("{}"),
        text('{"jsonrpc":"2.0","id":0}'),
        text('{"jsonrpc":"2.0","id":0,"error":null}'),
        text("[" * 100_000),
        text('{"result":1'),
        text('"text"'),
        lambda body: (200, b'{"id":0,"result":"\xff"'),
    ],
)
def test_an_answer_that_is_no_json_rpc_is_told(node: Node, post: Post, answer: Any) -> None:
    node(answer)
    assert reason(post(call("getSlot"))) == "upstream_answer_unreadable"
    (only,) = post([call("getSlot")]).json()
    assert only["error"]["data"]["reason"] == "upstream_answer_unreadable"


def test_a_node_that_answers_part_of_a_batch_leaves_the_rest_with_a_reason(
    node: Node, post: Post
) -> None:
    node(text('[{"jsonrpc":"2.0","id":1,"result":"second"}]'))
    first, second = post([call("getSlot"), call("getSlot", identity=2)]).json()
    assert first["error"]["data"]["reason"] == "upstream_answer_unreadable"
    assert second["result"] == "second"


def test_a_node_that_refuses_a_batch_as_a_whole_refuses_each_call(node: Node, post: Post) -> None:
    error = {"code": -32600, "message": "no batches"}
    node(text(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}), 400))
    answers = post([call("getSlot"), call("getSlot", identity=2)]).json()
    assert [(each["id"], each["error"]) for each in answers] == [(1, error), (2, error)]


def test_health_is_the_nodes_own(chain: Localnet, node: Node, post: Post) -> None:
    assert post(call("getHealth")).json()["result"] == "ok"
    behind = {"code": -32005, "message": "Node is behind", "data": {"numSlotsBehind": 42}}
    node(text(json.dumps({"jsonrpc": "2.0", "id": 0, "error": behind})))
    error = post(call("getHealth")).json()["error"]
    assert (error["code"], error["message"]) == (-32005, "Node is behind by 42 slots")
    assert error["data"] == {"reason": "node_behind", "numSlotsBehind": 42}
    node(text('{"jsonrpc":"2.0","id":0,"error":{"code":-32005,"message":"x","data":{}}}'))
    assert post(call("getHealth")).json()["error"]["data"]["numSlotsBehind"] is None


def test_every_host_serves_it_and_a_browser_sees_the_page(
    node: Node, post: Post, client: Any, settings: Any
) -> None:
    node(result(1))
    settings.ALLOWED_HOSTS = ["localhost", ".localhost"]
    for label in EVERY:
        assert post(call("getSlot"), host=f"{label}.localhost").json()["result"] == 1, label
    page = client.get("/", HTTP_HOST="localhost")
    assert page.status_code == 200 and b"| Tidemark</title>" in page.content
    assert client.get("/", HTTP_HOST="basic.rpc.localhost").status_code == 405
    assert client.put("/", HTTP_HOST="localhost").status_code == 405
    assert post(call("getSlot"), host="lite.rpc.localhost").status_code == 404
    preflight = client.options("/", HTTP_HOST="localhost")
    assert preflight.status_code == 204
    assert preflight["Access-Control-Allow-Methods"] == "POST, OPTIONS"


def test_keyless_callers_are_served_within_their_limit_and_keys_need_the_scope(
    node: Node, post: Post, tier: Any, issue: Issue
) -> None:
    node(result(1))
    tier("anonymous", 0, requests_per_second=5, requests_burst=5)
    codes = [
        post(call("getSlot"), key="", host="public.rpc.localhost").status_code for _ in range(20)
    ]
    assert codes[0] == 200 and set(codes) == {200, 429}
    without = issue(scopes=["historical"])
    response = post(call("getSlot"), key=without.secret)
    assert response.status_code == 403
    assert response.json()["error"]["data"]["reason"] == "scope_missing"
    within = issue(scopes=["proxy"])
    assert post(call("getSlot"), key=within.secret).json()["result"] == 1
    assert post(call("getSlot"), key="nonsense").status_code == 401


def test_calls_are_counted_by_method_and_outcome(
    node: Node, post: Post, issue: Issue, settings: Any
) -> None:
    node(text('{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}'))
    issued = issue()
    post(call("getSlot"), key=issued.secret)
    post(call("nonsense"), key=issued.secret)
    usage.flush()
    roll_up_usage()
    rows = UsageMinute.objects.filter(key=issued.key)
    assert {(row.method, row.status) for row in rows} == {
        ("getSlot", "node_error"),
        ("unknown", "method_not_found"),
    }
