"""The client's address behind proxies: HTTP, WebSocket and gRPC read it alike."""

import contextlib
import random
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.web_server import service_worker
from tests.webserver.client import Client, post
from tests.webserver.serving import serving
from tests.yellowstone.bare_client import BareCall
from tests.yellowstone.conftest import serving_geyser
from upstream.protobuf import geyser_pb2 as schema

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]
_CALL = b'{"jsonrpc":"2.0","id":1,"method":"whoami"}'
_JSON = "Content-Type: application/json"


class Doors:
    """A key that is allowed from 198.51.100.0/24, and three ways to use it."""

    def __init__(self, web: int, geyser: int, key: str) -> None:
        self._web, self._geyser, self._key = web, geyser, key

    def outcomes(self, fields: list[str]) -> list[str]:
        given = [("X-Forwarded-For", field) for field in fields]
        return [self.http(given), self.websocket(given), self.grpc(given)]

    def http(self, fields: list[tuple[str, str]]) -> str:
        headers = [f"{name}: {field}" for name, field in fields]
        authorization = f"Authorization: {self._key}"
        with Client(self._web) as client:
            reply = client.send(post("/historical", _CALL, _JSON, authorization, *headers)).reply()
        return {200: "ok", 403: "forbidden", 400: "unreadable"}[reply.status]

    def websocket(self, fields: list[tuple[str, str]]) -> str:
        headers = [*fields, ("Authorization", self._key)]
        url = f"ws://127.0.0.1:{self._web}/"
        try:
            with connect(url, additional_headers=headers, compression=None):
                return "ok"
        except InvalidStatus as refusal:
            return {403: "forbidden", 400: "unreadable"}[refusal.response.status_code]

    def grpc(self, fields: list[tuple[str, str]]) -> str:
        # Not by grpcio: it sends only the last of several fields of this name.
        forwarded = [(name.lower(), field) for name, field in fields]
        with BareCall(self._geyser, self._key, "Ping", forwarded) as call:
            call.send(schema.PingRequest(count=1))
            answered = bool(call.frames())
            while answered and not call.trailers:
                call.frames()
        status = int(call.trailers["grpc-status"])
        return {0: "ok", 7: "forbidden", 3: "unreadable"}[status]


@pytest.fixture
def doors(settings: Any, issue: Callable[..., Any]) -> Iterator[Doors]:
    from gateway.addresses import is_trusted

    settings.TRUSTED_PROXIES = (ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8"))
    is_trusted.cache_clear()
    issued = issue(networks=["198.51.100.0/24"], requests_per_second=1_000, requests_burst=1_000)
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(serving(service_worker()))
        geyser = stack.enter_context(serving_geyser())
        yield Doors(web, geyser, issued.secret)
    is_trusted.cache_clear()


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        (["198.51.100.9"], "ok"),
        (["198.51.100.9", "10.0.0.2"], "ok"),
        (["203.0.113.1", "198.51.100.9", "10.0.0.2"], "ok"),
        (["198.51.100.9, 10.0.0.3", "10.0.0.2"], "ok"),
        (["198.51.100.9", "203.0.113.1"], "forbidden"),
        (["198.51.100.9:1234"], "ok"),
        (["[2001:db8::5]:443"], "forbidden"),
        (["198.51.100.9", "unknown"], "unreadable"),
        ([], "forbidden"),  # the proxy's own
    ],
)
def test_every_protocol_reads_the_same_address(
    doors: Doors, fields: list[str], outcome: str
) -> None:
    assert doors.outcomes(fields) == [outcome] * 3


def test_any_fields_are_read_alike(doors: Doors) -> None:
    chance = random.Random(38)
    elements = ["198.51.100.9", "198.51.100.7:80", "203.0.113.1", "10.0.0.2", "10.0.0.2:1", "x", ""]
    seen = set()
    for _ in range(25):
        fields = [
            ", ".join(chance.choices(elements, k=chance.randrange(1, 4)))
            for _ in range(chance.randrange(1, 4))
        ]
        found = doors.outcomes(fields)
        assert len(set(found)) == 1, (fields, found)
        seen |= set(found)
    assert seen == {"ok", "forbidden", "unreadable"}


@pytest.mark.parametrize(
    ("schemes", "outcome"),
    [
        (["https"], "ok"),
        ([], "ok"),
        (["http"], "forbidden"),
        (["HTTP"], "forbidden"),
        (["http", "https"], "forbidden"),
        (["https", "http"], "ok"),  # between two proxies
    ],
)
def test_a_key_that_came_without_tls_is_refused(
    doors: Doors, settings: Any, schemes: list[str], outcome: str
) -> None:
    settings.TRUSTED_PROXIES = (ip_network("127.0.0.1/32"),)
    settings.BEHIND_HTTPS = True
    from gateway.addresses import is_trusted

    is_trusted.cache_clear()
    given = [("X-Forwarded-Proto", scheme) for scheme in schemes]
    given.append(("X-Forwarded-For", "198.51.100.9"))
    assert [doors.http(given), doors.websocket(given), doors.grpc(given)] == [outcome] * 3
    # Where the service is not behind TLS at all, that is how it is used.
    settings.BEHIND_HTTPS = False
    assert doors.http(given) == "ok"
