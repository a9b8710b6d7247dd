"""The WSGI handler's short way answers what Django's own would."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler

from gateway.wsgi import EndpointsFirst

# A handler closes the connection of a transaction that it does not know.
pytestmark = pytest.mark.django_db(transaction=True)

CALL = b'{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[]}'


def serve(handler: Any, path: str, body: bytes = CALL, **more: Any) -> tuple[str, dict, bytes]:
    """Status line, headers (lower-case names) and body, as a server would send them."""
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost:8000",
        "HTTP_X_REQUEST_ID": "same",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        **more,
    }
    sent: list[Any] = []
    chunks = handler(environ, lambda status, headers, *_: sent.extend((status, headers)))
    content = b"".join(chunks)
    if hasattr(chunks, "close"):
        chunks.close()
    return sent[0], {name.lower(): value for name, value in sent[1]}, content


@pytest.mark.parametrize(
    ("path", "body", "more"),
    [
        ("/ledger", CALL, {}),
        ("/ledger", b"{", {}),
        ("/ledger", b"[" + CALL + b"," + CALL + b"]", {}),
        ("/ledger", CALL, {"HTTP_AUTHORIZATION": "wrong"}),
        ("/ledger", CALL, {"HTTP_HOST": "evil.example"}),
        ("/ledger", CALL, {"HTTP_HOST": "basic.qos.localhost"}),
        ("/ledger", CALL, {"CONTENT_TYPE": "text/plain"}),
        ("/ledger", CALL, {"CONTENT_LENGTH": "9999999"}),
        ("/ledger", b'{"jsonrpc":"2.0","id":1,"method":"long","params":[999]}',
         {"HTTP_ACCEPT_ENCODING": "gzip"}),
        ("/ledger", CALL, {"REQUEST_METHOD": "GET"}),
        ("/ledger", CALL, {"REQUEST_METHOD": "OPTIONS"}),
        ("/land", CALL, {}),
        ("/nothing", CALL, {}),
        ("/healthz", b"", {"REQUEST_METHOD": "GET"}),
    ],
)  # fmt: skip
def test_both_ways_answer_alike(
    door: Any, tier: Any, path: str, body: bytes, more: dict[str, str]
) -> None:
    tier("anonymous", 0, requests_per_second=None)
    assert serve(EndpointsFirst(), path, body, **more) == serve(WSGIHandler(), path, body, **more)


def test_the_limits_headers_come_along(door: Any, issue: Callable[..., Any]) -> None:
    secret = issue(requests_per_second=0.001, requests_burst=10).secret
    handler = EndpointsFirst()
    for remaining in ("9", "8"):
        status, headers, content = serve(handler, "/ledger", HTTP_AUTHORIZATION=secret)
        assert status == "200 OK"
        assert json.loads(content)["result"] == 301_999_999
        assert headers["x-ratelimit-remaining"] == remaining
        assert headers["x-request-id"] == "same"


@pytest.mark.django_db(transaction=True)
def test_a_database_connection_that_the_server_ended_costs_no_call(
    door: Any, issue: Callable[..., Any]
) -> None:
    from django.db import connection

    from access import key_cache

    secret = issue().secret
    handler = EndpointsFirst()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [pid] = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    other.close()
    key_cache.forget()
    assert connection.connection.info.backend_pid == pid
    status, _, _ = serve(handler, "/ledger", HTTP_AUTHORIZATION=secret)
    assert status == "200 OK"
    assert connection.connection.info.backend_pid != pid
