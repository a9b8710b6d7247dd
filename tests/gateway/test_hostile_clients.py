"""What strangers did to the service's front, each tried on the whole of it."""

import fcntl
import http.client
import json
import socket
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from tests.patience import PATIENCE_SECONDS
from tests.web_server import service_worker
from tests.webserver.client import Client, get, post
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)
_CALL = b'{"jsonrpc":"2.0","id":1,"method":"whoami"}'
_JSON = "Content-Type: application/json"
_CHUNKED = "Transfer-Encoding: chunked"
Serve = Callable[..., int]


@pytest.fixture
def serve(tier: Callable[..., Any]) -> Iterator[Serve]:
    """`serve(body_seconds=1)`: the port of the whole service under these limits. Callers without a
    key have no limit: what is tried here comes before theirs.
    """
    from contextlib import ExitStack

    tier("anonymous", 0, requests_per_second=None)

    with ExitStack() as stack:
        yield lambda **limits: stack.enter_context(serving(service_worker(**limits)))


def alive(port: int) -> bool:
    """Both what the loop answers and what a thread does."""
    for request in (get("/healthz"), post("/historical", _CALL, _JSON)):
        with Client(port) as client:
            if client.send(request).reply().status != 200:
                return False
    return True


def test_http_2_streams_that_hold_back_their_bodies_hold_nothing(serve: Serve) -> None:
    port = serve()
    connections = []
    for _ in range(4):
        client, http2 = Client(port), H2Connection(H2Configuration(client_side=True))
        http2.initiate_connection()
        for _ in range(20):
            fields = [(":method", "POST"), (":scheme", "http"), (":authority", "localhost")]
            fields += [(":path", "/historical"), ("authorization", "x"), ("content-length", "100")]
            http2.send_headers(http2.get_next_available_stream_id(), fields)
        client.send(http2.data_to_send())
        connections.append(client)
    for client in connections:
        reply = client.reply()
        assert (reply.status, reply.json["error"]) == (400, "request_malformed")
        assert client.is_closed
        client.close()
    assert alive(port)


@pytest.mark.parametrize("method", ["FOO", "POSTS", "get", "CONNECT"])
def test_a_method_that_no_path_has_is_named(serve: Serve, method: str) -> None:
    request = get("localhost:80", method=method)
    with Client(serve()) as client:
        if method == "POSTS":  # the first part could be that of another
            client.send(request[:3])
            time.sleep(0.05)
            request = request[3:]
        reply = client.send(request).reply()
    assert (reply.status, reply.json["error"]) == (405, "http_method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
    assert reply.json["found"] == method


@pytest.mark.parametrize(
    "half",
    [
        b"GET /healthz HTTP/1.1\r\nHost: loc",
        post("/historical", _CALL, _JSON)[:-5],
        post("/historical", _CALL, _JSON, "Authorization: x")[:-5],
        post("/", _CALL, _JSON)[:-5],
        b"GET /priority/fates/stream HTTP/1.1\r\nHost: loc",
        b"",
    ],
    ids=["head", "body", "body, bad key", "body to /", "stream", "nothing"],
)
def test_clients_that_stop_half_way_stop_nobody(serve: Serve, half: bytes) -> None:
    port = serve(first_seconds=1, head_seconds=1, body_seconds=1)
    held = [Client(port).send(half) for _ in range(80)]
    assert alive(port)
    for client in held:
        if half:
            reply = client.reply()
            assert reply.status == 408
            assert "request_timed_out" in json.dumps(reply.json)
        assert client.is_closed
        client.close()
    assert alive(port)


@pytest.mark.parametrize(
    "path", ["/admin/login/", "/portal/sign-in/", "/docs/", "/historical", "/", "/static/x", "/no"]
)
def test_nothing_is_uploaded_anywhere(serve: Serve, path: str) -> None:
    port = serve()
    before = _spooled()
    with Client(port) as client:
        client.send(
            get(
                path,
                "Cookie: tidemark_csrf=" + "a" * 32,
                "Content-Type: multipart/form-data; boundary=XX",
                "Content-Length: 125000000",
                method="POST",
            )
            + b'--XX\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n'
        )
        with pytest.raises(OSError):
            for _ in range(120):
                client.send(bytes(1 << 20))
    with Client(port) as client:
        client.send(get(path, "Content-Type: multipart/form-data; boundary=XX", method="POST"))
        reply = client.reply()
        assert reply.status == 415
        assert reply.json["error"]["data"]["reason"] == "content_type_unsupported"
    assert _spooled() == before


def _spooled() -> set[str]:
    """Uploads that lie in the folder for them, or are open without a name."""
    found = {str(file) for file in Path(tempfile.gettempdir()).glob("*.upload*")}
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue
        if ".upload" in target:
            found.add(target)
    return found


def _key(issue: Callable[..., Any]) -> str:
    """The header with a key of wide limits."""
    return f"Authorization: {issue(requests_per_second=10_000, requests_burst=10_000).secret}"


def test_a_batch_is_answered_within_its_budget(
    serve: Serve, settings: Any, issue: Callable[..., Any]
) -> None:
    """Each call of it alone would be answered; what does not fit any more is refused by itself."""
    settings.MAX_ANSWER = 20_000
    key = _key(issue)
    call = {"jsonrpc": "2.0", "method": "whoami"}
    body = json.dumps([{**call, "id": f"{n}" + "a" * 1_000} for n in range(100)]).encode()
    port = serve()
    with Client(port) as client:
        reply = client.send(post("/historical", body, _JSON, key)).reply()
    assert reply.status == 200
    answers = reply.json
    assert [each["id"] for each in answers] == [each["id"] for each in json.loads(body)]
    reasons = [each["error"]["data"]["reason"] for each in answers if "error" in each]
    assert reasons and set(reasons) == {"answer_too_large"}
    assert "result" in answers[0]


def test_a_header_with_underscores_is_not_the_proxys(
    serve: Serve, settings: Any, issue: Callable[..., Any]
) -> None:
    settings.TRUSTED_PROXIES = (ip_network("127.0.0.1/32"),)
    from gateway.addresses import is_trusted

    is_trusted.cache_clear()
    key, port = _key(issue), serve()
    claims = ["X_Forwarded_For: 6.6.6.6", "x_forwarded-for: 6.6.6.6", "X-Forwarded_For: 6.6.6.6"]
    for claim in claims:
        for headers in (("X-Forwarded-For: 9.9.9.9", claim), (claim, "X-Forwarded-For: 9.9.9.9")):
            with Client(port) as client:
                reply = client.send(post("/historical", _CALL, _JSON, key, *headers)).reply()
            assert reply.json["result"]["address"] == "9.9.9.9"
    # Nor is what stands behind a body in chunks.
    with Client(port) as client:
        client.send(
            get("/historical", _JSON, key, "X-Forwarded-For: 9.9.9.9", _CHUNKED, method="POST")
            + b"%x\r\n%b\r\n0\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n" % (len(_CALL), _CALL)
        )
        assert client.reply().json["result"]["address"] == "9.9.9.9"
    is_trusted.cache_clear()


def test_a_body_behind_an_upgrade_is_no_request(serve: Serve) -> None:
    """A proxy that passes the header on would share its connection with what was smuggled."""
    port = serve()
    smuggled = get("/priority/ping")
    upgrade = ("Connection: Upgrade", "Upgrade: h2c")
    with Client(port) as client:
        client.send(post("/historical", smuggled, _JSON, *upgrade))
        client.sock.shutdown(socket.SHUT_WR)
        assert [each.json["error"]["code"] for each in client.replies()] == [-32700]


def test_little_is_read_behind_a_head_that_is_refused(serve: Serve) -> None:
    """As much as a large body was read, for every connection."""
    with Client(serve()) as client:
        client.send(b"GET /healthz HTTP/1.1\r\n\r\n")
        with pytest.raises(OSError):
            for _ in range(12):
                client.send(bytes(1 << 20))
                until = time.monotonic() + 5.0  # where it is not read at all, sending times out
                while fcntl.ioctl(client.sock, termios.TIOCOUTQ, bytes(4)) != bytes(4):
                    if time.monotonic() > until:
                        break
                    time.sleep(0.001)


def test_a_caller_that_leaves_the_connection_open_is_served_again(serve: Serve) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", serve(), timeout=PATIENCE_SECONDS)
    for _ in range(10):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read().startswith(b'{"status": "ok"')
    connection.close()


def test_a_node_that_hangs_holds_up_nobody_who_does_not_ask_it(serve: Serve, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as node:
        settings.UPSTREAM_RPC_URL = f"http://127.0.0.1:{node.getsockname()[1]}"
        settings.PROXY_TIMEOUT_SECONDS = 60
        port = serve()
        asking = []
        for method in ("getBalance", "getHealth", "simulateBundle", "sendTransaction"):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
            asking += [
                Client(port).send(post("/", body.encode(), _JSON, f"X-Request-Id: {n}"))
                for n in range(30)
            ]
        for _ in range(3):
            assert alive(port)
        for client in asking:
            client.close()
