"""POST / on our own web server: calls for the node are waited for on its loop, and long answers
pass through as they come.
"""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any

import pytest
import zstandard
from solders.message import TransactionConfig

from access import usage
from access.models import UsageMinute
from access.tasks import roll_up_usage
from tests.patience import PATIENCE_SECONDS
from tests.priority.odd_nodes import OddNode, Write, odd_node, raw_node
from tests.priority.sending import SENT, signed_v1, text, tip
from tests.web_server import service_worker
from tests.webserver.client import Client, get, post
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)

Ask = Callable[..., bytes]
RawNode = Callable[[Write], OddNode]

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_HEAD = b'{"jsonrpc":"2.0","result":'
_END = b',"id":0}'


@cache
def _long() -> bytes:
    """A result of 5 MB, not a constant: each process that collects the tests would have it."""
    return json.dumps(["account data " * 20] * 20_000).encode()


@pytest.fixture
def front(settings: Any) -> Iterator[Callable[[], int]]:
    """`front()`: the port of the whole service."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(serving(service_worker()))


@pytest.fixture
def ask(api_key: str) -> Ask:
    """`ask("getSlot", 1, identity="x")`: the bytes of a request."""

    def request(method: str, *params: Any, identity: Any = 1, version: str = "1.1", **headers: str):
        body = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        return sent(json.dumps(body).encode(), version=version, **headers)

    def sent(body: bytes, *, version: str = "1.1", **headers: str) -> bytes:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        authorization = f"Authorization: {api_key}"
        made = post("/", body, "Content-Type: application/json", authorization, *lines)
        return made.replace(b"HTTP/1.1", b"HTTP/" + version.encode(), 1)

    request.body = sent  # type: ignore[attr-defined]
    return request


@pytest.fixture
def raw(settings: Any) -> Iterator[RawNode]:
    """`raw(write)`: the node behind `/` writes its answers so."""
    with ExitStack() as nodes:

        def start(write: Write) -> OddNode:
            node = nodes.enter_context(raw_node(write))
            settings.UPSTREAM_RPC_URL = node.url
            return node

        yield start


def plain(content: bytes, status: bytes = b"200 OK") -> Write:
    """Answers with these bytes, told by their length."""
    head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status, len(content))
    return lambda connection, _body: connection.sendall(head + content)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def reason(reply: Any) -> str:
    assert reply.status == 200, reply
    return str(reply.json["error"]["data"]["reason"])


def counted() -> set[tuple[str, str]]:
    usage.flush()
    roll_up_usage()
    return {(row.method, row.status) for row in UsageMinute.objects.all()}


def test_a_transaction_that_will_fail_is_told_so(raw: RawNode, front: Any, ask: Ask) -> None:
    raw(plain(b'{"jsonrpc":"2.0","result":"sent","id":0}'))
    wire = text(signed_v1(tip(), config=TransactionConfig()))
    with Client(front()) as client:
        for options, is_told in ((SENT, True), ({"encoding": "base64"}, False)):
            reply = client.send(ask("sendTransaction", wire, options)).reply()
            assert reply.json["result"] == "sent"
            assert ("x-advice" in reply.headers) is is_told


def test_calls_of_one_connection_use_one_connection_to_the_node(
    raw: RawNode, front: Any, ask: Ask
) -> None:
    node = raw(plain(b'{"id":0 , "jsonrpc":"2.0","result": {"a":18446744073709551615,"b":1.50}}'))
    with Client(front()) as client:
        for identity in (7, "mine", -1):
            reply = client.send(ask("getBalance", "x", 1.5, identity=identity)).reply()
            told = json.dumps(identity).encode()
            spliced = b'{"a":18446744073709551615,"b":1.50}'
            assert reply.body == b'{"jsonrpc":"2.0","id":' + told + b',"result":' + spliced + b"}"
            assert reply.headers["x-request-id"]
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["content-length"] == str(len(reply.body))
    assert (len(node.bodies), node.connections) == (3, 1)
    assert json.loads(node.bodies[0])["params"] == ["x", 1.5]


def test_the_envelope_is_our_own(raw: RawNode, front: Any, ask: Any) -> None:
    """A member given twice means one thing to us and to the node."""
    node = raw(plain(b'{"jsonrpc":"2.0","result":1,"id":0}'))
    body = b'{"jsonrpc":"2.0","id":1,"method":"setFaults","params":[],"method":"getSlot"}'
    with Client(front()) as client:
        assert client.send(ask.body(body)).reply().json["result"] == 1
    assert b"setFaults" not in node.bodies[0]
    assert json.loads(node.bodies[0])["method"] == "getSlot"


def test_the_nodes_error_and_status_are_passed_on(raw: RawNode, front: Any, ask: Ask) -> None:
    error = b'{"code":-32602,"message":"no","data":{"logs":["%b"]}}' % (b"x" * 300_000)
    answer = b'{"jsonrpc":"2.0","error":' + error + b',"id":0}'
    raw(plain(answer, status=b"500 Internal Server Error"))
    with Client(front()) as client:
        reply = client.send(ask("getBalance", identity="i")).reply()
        assert reply.status == 200
        assert reply.body == b'{"jsonrpc":"2.0","id":"i","error":' + error + b"}"
    assert counted() == {("getBalance", "node_error")}


def test_a_batch_of_our_own_and_the_nodes_calls_is_answered_whole(
    front: Any, ask: Any, settings: Any
) -> None:
    def answer(body: bytes) -> tuple[int, bytes]:
        calls = json.loads(body)
        return 200, json.dumps(
            [{"id": each["id"], "result": each["method"]} for each in calls]
        ).encode()

    with odd_node(answer) as node:
        settings.UPSTREAM_RPC_URL = node.url
        methods = ["getSlot", "whoami", "nonsense", "getBlockHeight"]
        calls = [
            {"jsonrpc": "2.0", "id": number, "method": method}
            for number, method in enumerate(methods)
        ]
        with Client(front()) as client:
            answers = client.send(ask.body(json.dumps(calls).encode())).reply().json
    assert [each["id"] for each in answers] == [0, 1, 2, 3]
    assert (answers[0]["result"], answers[3]["result"]) == ("getSlot", "getBlockHeight")
    assert "result" in answers[1] and answers[2]["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (b'{"jsonrpc":"2.0","result":', b',"id":0}'),
        (b' {\n "id" : 0 , "jsonrpc" : "2.0",\n "result" : ', b"\n}\n"),
        (b'{"result":', b',"error":null,"id":0,"jsonrpc":"2.0"}\r\n'),
        (b'{"jsonrpc":"2.0","node":"a","result":', b',"id":0,"took":1.5}'),
        (b'{"jsonrpc":"2.0","seen":{"slot":5},"result":', b',"id":0}'),
    ],
)
def test_a_long_result_is_the_nodes_whatever_stands_around_it(
    raw: RawNode, front: Any, ask: Ask, before: bytes, behind: bytes
) -> None:
    node = raw(plain(before + _long()[: 3 << 20] + b'"]' + behind))
    with Client(front()) as client:
        for _ in range(2):
            reply = client.send(ask("getProgramAccounts", identity="i")).reply()
            assert reply.body == (
                b'{"jsonrpc":"2.0","id":"i","result":' + _long()[: 3 << 20] + b'"]}'
            )
    assert node.connections == 1
    assert counted() == {("getProgramAccounts", "ok")}


@pytest.mark.parametrize("size", [65_000, 65_536, 65_537, 65_700, 66_000, 300_000])
def test_results_about_as_long_as_is_held_come_whole(
    raw: RawNode, front: Any, ask: Ask, size: int
) -> None:
    value = b'"' + b"x" * size + b'"'
    answer = _HEAD + value + _END

    def slowly(connection: socket.socket, _body: bytes) -> None:
        connection.sendall(_CHUNKED)
        for at in range(0, len(answer), 16_411):
            connection.sendall(chunk(answer[at : at + 16_411]))
        connection.sendall(b"0\r\n\r\n")

    raw(slowly)
    with Client(front()) as client:
        reply = client.send(ask("getAccountInfo")).reply()
        assert reply.body == b'{"jsonrpc":"2.0","id":1,"result":' + value + b"}"


@pytest.mark.parametrize("size", [2_000, 40_000, 5_000_000])
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_answers_are_compressed_as_the_client_likes(
    raw: RawNode, front: Any, ask: Ask, size: int, encoding: str
) -> None:
    raw(plain(_HEAD + b'"' + b"account " * (size // 8) + b'"' + _END))
    with Client(front()) as client:
        reply = client.send(ask("getProgramAccounts", Accept_Encoding=encoding)).reply()
        assert reply.headers["content-encoding"] == encoding
        assert reply.headers["vary"] == "Accept-Encoding"
        if encoding == "gzip":
            content = gzip.decompress(reply.body)
        else:
            content = zstandard.ZstdDecompressor().decompressobj().decompress(reply.body)
        assert json.loads(content)["result"] == "account " * (size // 8)


def test_a_node_that_compresses_unasked_is_understood(raw: RawNode, front: Any, ask: Ask) -> None:
    for value in (b'"short"', _long()):
        packed = gzip.compress(_HEAD + value + _END, 1)
        raw(plain(packed, b"200 OK\r\nContent-Encoding: gzip"))
        with Client(front()) as client:
            reply = client.send(ask("getProgramAccounts")).reply()
            assert reply.body == b'{"jsonrpc":"2.0","id":1,"result":' + value + b"}"


def test_old_clients_get_a_long_result_until_the_end_of_the_connection(
    raw: RawNode, front: Any, ask: Ask
) -> None:
    raw(plain(_HEAD + _long() + _END))
    with Client(front()) as client:
        reply = client.send(ask("getProgramAccounts", version="1.0")).reply()
        assert reply.json["result"] == json.loads(_long())


def test_a_long_answer_is_read_no_faster_than_its_client_does(
    raw: RawNode, front: Any, ask: Ask
) -> None:
    whole = 100_000_000
    written = [0]

    def write(connection: socket.socket, body: bytes) -> None:
        if json.loads(body)["method"] != "getProgramAccounts":
            return plain(_HEAD + b"1" + _END)(connection, body)
        connection.sendall(_CHUNKED + chunk(_HEAD + b'"'))
        while written[0] < whole:
            connection.sendall(chunk(b"x" * 100_000))
            written[0] += 100_000
        connection.sendall(chunk(b'"' + _END) + b"0\r\n\r\n")

    raw(write)
    port = front()
    with Client(port) as client, Client(port) as other:
        client.send(ask("getProgramAccounts"))
        before = -1
        while before != written[0] or not written[0]:  # until it stands still
            before = written[0]
            for _ in range(50):
                assert other.send(ask("getSlot")).reply().json["result"] == 1
        assert written[0] < 50_000_000
        reply = client.reply()
        assert len(reply.body) == len(b'{"jsonrpc":"2.0","id":1,"result":""}') + whole


def cut(connection: socket.socket, _body: bytes) -> None:
    """Half of what the head says."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6000000\r\n\r\n" + _HEAD + _long())
    connection.close()


def cut_chunk(connection: socket.socket, _body: bytes) -> None:
    """No last chunk, though all of the JSON."""
    connection.sendall(_CHUNKED + chunk(_HEAD + _long() + _END))
    connection.close()


def cut_json(connection: socket.socket, _body: bytes) -> None:
    """HTTP's end before JSON's."""
    connection.sendall(_CHUNKED + chunk(_HEAD + _long()) + b"0\r\n\r\n")


def cut_until_close(connection: socket.socket, _body: bytes) -> None:
    """As long as the connection lasts, which is not long enough."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + _HEAD + _long()[:-100])
    connection.close()


def nonsense(connection: socket.socket, _body: bytes) -> None:
    """A chunk that is none."""
    connection.sendall(_CHUNKED + chunk(_HEAD + _long()) + b"zz\r\n")
    connection.recv(1)


@pytest.mark.parametrize(
    ("breaks_off", "status"),
    [
        (cut, "upstream_unreachable"),
        (cut_chunk, "upstream_unreachable"),
        (cut_json, "upstream_answer_unreadable"),
        (cut_until_close, "upstream_answer_unreadable"),
        (nonsense, "upstream_unreachable"),
    ],
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_that_breaks_off_is_broken_off_for_the_client(
    raw: RawNode, front: Any, ask: Ask, breaks_off: Write, status: str, encoding: str
) -> None:
    raw(breaks_off)
    port = front()
    with Client(port) as client:
        client.send(ask("getProgramAccounts", Accept_Encoding=encoding))
        found = b""
        with suppress(ConnectionResetError):
            while piece := client.sock.recv(1 << 20):
                found += piece
        assert found.startswith(b"HTTP/1.1 200 OK\r\n")
        assert not found.endswith(b"0\r\n\r\n") and not found.rstrip().endswith(b"}")
    assert counted() == {("getProgramAccounts", status)}
    raw(plain(_HEAD + b"1" + _END))
    with Client(port) as client:
        assert client.send(ask("getSlot")).reply().json["result"] == 1


def test_a_client_that_goes_frees_its_connection_to_the_node(
    raw: RawNode, front: Any, ask: Ask, settings: Any
) -> None:
    settings.PROXY_CONNECTIONS = 1
    over = threading.Event()

    def endless(connection: socket.socket, body: bytes) -> None:
        if json.loads(body)["method"] == "getSlot":
            return plain(_HEAD + b"1" + _END)(connection, body)
        connection.sendall(_CHUNKED + chunk(_HEAD + b'"'))
        try:
            while True:
                connection.sendall(chunk(b"x" * 10_000))
        finally:
            over.set()

    raw(endless)
    port = front()
    with Client(port) as client:
        client.send(ask("getProgramAccounts"))
        assert client.sock.recv(1_000)
    assert over.wait(PATIENCE_SECONDS)
    with Client(port) as client:
        assert client.send(ask("getSlot")).reply().json["result"] == 1


def test_a_node_that_hangs_holds_no_thread_and_not_all_of_the_connections(
    raw: RawNode, front: Any, ask: Ask, settings: Any, issue: Callable[..., Any]
) -> None:
    settings.PROXY_CONNECTIONS = 8
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def hang(connection: socket.socket, body: bytes) -> None:
        waiting.release()
        assert go_on.wait(PATIENCE_SECONDS)
        plain(_HEAD + b"5" + _END)(connection, body)

    raw(hang)
    port = front()
    key = issue(requests_per_second=1_000, requests_burst=1_000).secret
    with ExitStack() as stack:
        stack.callback(go_on.set)
        held = [stack.enter_context(Client(port)) for _ in range(6)]
        for client in held:
            client.send(ask("getSlot"))
            assert waiting.acquire(timeout=PATIENCE_SECONDS)
        # Six of eight are one holder's: it waits, and another is served at once.
        with Client(port) as client:
            assert reason(client.send(ask("getSlot")).reply()) == "upstream_busy"
        body = b'{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
        other = post("/", body, "Content-Type: application/json", f"Authorization: {key}")
        last = stack.enter_context(Client(port)).send(other)
        assert waiting.acquire(timeout=PATIENCE_SECONDS)
        with Client(port) as client:
            assert "result" in client.send(ask("whoami")).reply().json
        go_on.set()
        assert [client.reply().json["result"] for client in [*held, last]] == [5] * 7


def test_more_calls_than_connections_take_turns(
    raw: RawNode, front: Any, ask: Ask, settings: Any
) -> None:
    settings.PROXY_CONNECTIONS = 2
    running, most = [0], [0]
    lock = threading.Lock()

    def slowly(connection: socket.socket, body: bytes) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.01)
        with lock:
            running[0] -= 1
        plain(_HEAD + b"5" + _END)(connection, body)

    node = raw(slowly)
    port = front()
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(port)) for _ in range(40)]
        for client in clients:
            client.send(ask("getSlot"))
        answers = [client.reply().json for client in clients]
        assert [each.get("result", each) for each in answers] == [5] * 40
    assert most[0] <= 2 and node.connections <= 2


@pytest.mark.parametrize("begun", [b"", _CHUNKED, _CHUNKED + chunk(_HEAD)])
def test_a_node_that_takes_too_long_is_told(
    raw: RawNode, front: Any, ask: Ask, settings: Any, begun: bytes
) -> None:
    settings.PROXY_TIMEOUT_SECONDS = 1
    done = threading.Event()

    def hang(connection: socket.socket, _body: bytes) -> None:
        connection.sendall(begun)
        done.wait(PATIENCE_SECONDS)

    raw(hang)
    with Client(front()) as client:
        reply = client.send(ask("getSlot")).reply()
        done.set()
        assert reason(reply) == "upstream_timeout"
        assert reply.json["error"]["data"]["maximum"] == 1


def test_a_node_that_closes_idle_connections_is_asked_on_another(
    raw: RawNode, front: Any, ask: Ask
) -> None:
    def once(connection: socket.socket, body: bytes) -> None:
        plain(_HEAD + b"1" + _END)(connection, body)
        connection.close()

    node = raw(once)
    with Client(front()) as client:
        for _ in range(5):
            assert client.send(ask("getSlot")).reply().json["result"] == 1
    assert node.connections == 5


def test_a_node_that_is_away_is_told(front: Any, ask: Ask, settings: Any) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        settings.UPSTREAM_RPC_URL = f"http://127.0.0.1:{held.getsockname()[1]}"
        with Client(front()) as client:
            assert reason(client.send(ask("getSlot")).reply()) == "upstream_unreachable"
            settings.UPSTREAM_RPC_URL = ""
            assert reason(client.send(ask("getSlot")).reply()) == "no_upstream_node"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 6\r\n\r\n<html>", "upstream_answer_unreadable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "upstream_answer_unreadable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "upstream_answer_unreadable"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
            "upstream_answer_unreadable",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "upstream_answer_unreadable"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + b" " * 5_000_000,
            "upstream_answer_too_large",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n", "upstream_answer_too_large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "upstream_unreachable"),
        (b"HTTP/1.1 101 Up\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "upstream_unreachable"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, "upstream_unreachable"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1_000, "upstream_unreachable"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * 300_000, "upstream_unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", "upstream_unreachable"),
        (b"nonsense\r\n\r\n", "upstream_unreachable"),
    ],
)
def test_an_answer_that_is_none_is_told(
    raw: RawNode, front: Any, ask: Ask, answer: bytes, status: str
) -> None:
    def write(connection: socket.socket, _body: bytes) -> None:
        with suppress(OSError):
            connection.sendall(answer)
            connection.recv(1)

    raw(write)
    with Client(front()) as client:
        assert reason(client.send(ask("getSlot")).reply()) == status


def test_what_a_node_sends_unasked_is_nobodys_answer(raw: RawNode, front: Any, ask: Ask) -> None:
    more = plain(_HEAD + b'"smuggled"' + _END)
    numbers = iter(range(100))
    has_spoken = threading.Semaphore(0)

    def write(connection: socket.socket, body: bytes) -> None:
        plain(_HEAD + b"%d" % next(numbers) + _END)(connection, body)
        with suppress(OSError):
            more(connection, body)
        has_spoken.release()

    raw(write)
    found = []
    with Client(port := front()) as client, Client(port) as other:
        for _ in range(20):
            found.append(client.send(ask("getSlot")).reply().json["result"])
            assert has_spoken.acquire(timeout=PATIENCE_SECONDS)
            # A turn of the loop, which has then seen what came.
            assert other.send(get("/healthz")).reply().status == 200
    assert found == sorted(found) and "smuggled" not in found
