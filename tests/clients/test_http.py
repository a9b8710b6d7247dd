"""Plain HTTP against the running server: compression, tier hosts, connections kept open."""

import gzip
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.patience import PATIENCE_SECONDS

from .service import Service
from .sources import MADE, MODERN, SKIPPED, made_block, modern_block


@pytest.fixture
def connection(service: Service) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(service.host, service.port, timeout=PATIENCE_SECONDS)
    yield connection
    connection.close()


def post(
    connection: http.client.HTTPConnection, key: str, method: str, *params: Any, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    sent = {"Content-Type": "application/json", "Authorization": key}
    sent |= {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request("POST", "/historical", body, sent)
    response = connection.getresponse()
    return response, response.read()


def result(text: bytes) -> Any:
    return json.loads(text)["result"]


@pytest.mark.parametrize(
    ("encoding", "decode"),
    [("gzip", gzip.decompress), ("zstd", lambda raw: zstandard.decompress(raw))],
)
def test_a_compressed_block_decodes_to_the_plain_one(
    ledger: Service,
    blocks: Path,
    connection: http.client.HTTPConnection,
    encoding: str,
    decode: Any,
) -> None:
    config = {"encoding": "base64", "maxSupportedTransactionVersion": 0}
    plain, text = post(connection, ledger.key, "getBlock", MODERN, config)
    assert plain.getheader("Content-Encoding") is None
    packed, raw = post(connection, ledger.key, "getBlock", MODERN, config, Accept_Encoding=encoding)
    assert packed.getheader("Content-Encoding") == encoding
    assert "Accept-Encoding" in (packed.getheader("Vary") or "")
    assert len(raw) < len(text)
    assert decode(raw) == text
    assert result(text) == modern_block(blocks)


def test_a_made_block_is_served_on_every_installation(
    service: Service, connection: http.client.HTTPConnection
) -> None:
    _, text = post(connection, service.key, "getBlock", MADE, {"encoding": "base64"})
    expected = made_block()
    del expected["transactions"][0]["version"]  # the caller did not say that it knows versions
    assert result(text) == expected


def test_a_key_opens_the_hosts_of_its_own_tier_and_below(
    service: Service, connection: http.client.HTTPConnection
) -> None:
    def status(key: str, host: str) -> int:
        return post(connection, service.keys[key], "getSlot", Host=host)[0].status

    assert status("basic", "basic.rpc.localhost") == 200
    assert status("epic", "basic.rpc.localhost") == 200
    assert status("epic", "epic.rpc.localhost") == 200
    assert status("basic", "epic.rpc.localhost") == 403
    assert status("basic", "nowhere.rpc.localhost") == 404


def test_one_connection_carries_answers_and_errors_alike(
    service: Service, connection: http.client.HTTPConnection
) -> None:
    connection.connect()
    socket = connection.sock
    for method in ["getSlot", "none", "getBlock"] * 10:
        response, text = post(connection, service.key, method)
        assert response.status == 200 and json.loads(text)["id"] == 1
        assert connection.sock is socket, "the server closed the connection"


@pytest.mark.parametrize(
    ("path", "key", "host", "status"),
    [
        ("/historical", "wrong", "localhost", 401),
        ("/historical", "basic", "epic.rpc.localhost", 403),
        ("/historical", "epic", "nowhere.rpc.localhost", 404),
        ("/nowhere", "epic", "localhost", 404),
    ],
)
def test_a_refusal_reaches_a_client_that_is_still_sending_and_its_connection_goes_on(
    service: Service,
    connection: http.client.HTTPConnection,
    path: str,
    key: str,
    host: str,
    status: int,
) -> None:
    connection.connect()
    socket = connection.sock
    for _ in range(3):
        connection.putrequest("POST", path, skip_host=True)
        connection.putheader("Host", host)
        connection.putheader("Authorization", service.keys.get(key, key))
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "60000")
        connection.endheaders()
        for _ in range(6):
            time.sleep(0.02)
            connection.send(b" " * 10_000)
        response = connection.getresponse()
        response.read()
        assert response.status == status
        assert connection.sock is socket, "the server closed the connection"


def test_the_limit_of_a_key_stands_in_every_answer(
    service: Service, connection: http.client.HTTPConnection
) -> None:
    response, _ = post(connection, service.keys["basic"], "getBlock", SKIPPED)
    assert int(response.getheader("X-RateLimit-Limit") or 0) > 0
    assert response.getheader("X-RateLimit-Remaining") is not None
    assert response.getheader("X-Request-Id")
