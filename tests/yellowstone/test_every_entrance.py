"""A caller that is refused is refused for the same reason by HTTP in a thread, by the quick path on
the event loop, by WebSocket and by gRPC.
"""

import json
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import grpc
import pytest
import requests
from django.utils import timezone
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from access.services import keys
from gateway import addresses
from gateway.known_heads import KnownHead
from tests.patience import PATIENCE_SECONDS
from tests.web_server import service_worker
from tests.webserver.serving import serving
from tests.yellowstone.conftest import serving_geyser
from upstream.protobuf import geyser_pb2 as schema

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("empty_redis", "nothing_remembered"),
]

_CALL = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["1" * 32]}


class Entrances(NamedTuple):
    web: int
    grpc: int


@pytest.fixture
def entrances(settings: Any) -> Iterator[Entrances]:
    settings.UPSTREAM_RPC_URL = ""  # who is admitted hears so
    with serving(service_worker()) as web, serving_geyser() as port:
        yield Entrances(web, port)


def by_thread(entrances: Entrances, key: str | None, host: str = "localhost", **more: str) -> str:
    """A batch is answered in a thread."""
    return _posted(entrances, [_CALL], _headers(key, host, more))


def by_loop(entrances: Entrances, key: str | None, host: str = "localhost", **more: str) -> str:
    return _posted(entrances, _CALL, _headers(key, host, more))


def _headers(key: str | None, host: str, more: dict[str, str]) -> dict[str, str]:
    found = {"Host": host, **{name.replace("_", "-"): value for name, value in more.items()}}
    return found if key is None else {**found, "Authorization": key}


def _posted(entrances: Entrances, body: Any, headers: dict[str, str]) -> str:
    sent = requests.post(
        f"http://127.0.0.1:{entrances.web}/", json=body, headers=headers, timeout=PATIENCE_SECONDS
    ).json()
    found = sent[0] if isinstance(sent, list) else sent
    return str(found["error"]["data"]["reason"])


def by_websocket(
    entrances: Entrances, key: str | None, host: str = "localhost", **more: str
) -> str:
    headers = _headers(key, host, more)
    url = f"ws://{headers.pop('Host')}:{entrances.web}/"
    connection = socket.create_connection(("127.0.0.1", entrances.web))
    try:
        with connect(url, sock=connection, additional_headers=headers):
            return "admitted"
    except InvalidStatus as refused:
        return str(json.loads(refused.response.body or b"{}")["error"])


def by_grpc(entrances: Entrances, key: str | None, host: str = "localhost", **more: str) -> str:
    metadata = [(name.lower().replace("_", "-"), value) for name, value in more.items()]
    if key is not None:
        metadata.append(("x-token", key))
    options = [("grpc.default_authority", host)]
    with grpc.insecure_channel(f"127.0.0.1:{entrances.grpc}", options=options) as channel:
        get_version = channel.unary_unary(
            "/geyser.Geyser/GetVersion",
            request_serializer=schema.GetVersionRequest.SerializeToString,
            response_deserializer=schema.GetVersionResponse.FromString,
        )
        try:
            get_version(schema.GetVersionRequest(), metadata=metadata, timeout=PATIENCE_SECONDS)
        except grpc.RpcError as error:
            return str(error.details()).partition(":")[0]
    return "admitted"


ENTRANCES = (by_thread, by_loop, by_websocket, by_grpc)


def _suspended(issue: Callable[..., Any]) -> str:
    issued = issue()
    keys.suspend_key(issued.key.id, now=timezone.now())
    return str(issued.secret)


def _revoked(issue: Callable[..., Any]) -> str:
    issued = issue()
    keys.revoke_key(issued.key.id, now=timezone.now())
    return str(issued.secret)


def _expired(issue: Callable[..., Any]) -> str:
    return str(issue(expires_at=timezone.now() - timedelta(seconds=1)).secret)


def _unknown(issue: Callable[..., Any]) -> str:
    issued = issue()
    issued.key.delete()
    return str(issued.secret)


def _spent(issue: Callable[..., Any]) -> str:
    issued = issue(calls_per_month=5)
    issued.key.quota_used = 5
    issued.key.quota_reached_until = timezone.now() + timedelta(days=1)
    issued.key.save()
    return str(issued.secret)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda issue: "x", "key_malformed"),
        (_unknown, "key_unknown"),
        (_suspended, "key_suspended"),
        (_revoked, "key_revoked"),
        (_expired, "key_expired"),
        (_spent, "monthly_quota_reached"),
        (lambda issue: issue(networks=["192.0.2.0/24"]).secret, "address_not_allowed"),
        (lambda issue: issue(scopes=["historical"]).secret, "scope_missing"),
    ],
)
def test_a_key_is_refused_alike(
    made: Callable[[Any], str], reason: str, issue: Any, entrances: Entrances
) -> None:
    key = made(issue)
    for _ in range(2):  # the second time the key is remembered
        assert [each(entrances, key) for each in ENTRANCES] == [reason] * len(ENTRANCES)


@pytest.mark.parametrize(
    ("host", "more", "reason"),
    [
        ("epic.rpc.localhost", {}, "tier_too_low"),
        ("ultra.qos.localhost", {}, "tier_too_low"),
        ("misspelt.rpc.localhost", {}, "host_unknown"),
        ("elsewhere.example", {}, "host_unknown"),
        ("lite.rpc.localhost", {}, "path_not_served"),
        ("localhost", {"X_Forwarded_Proto": "http"}, "tls_required"),
        ("localhost", {"X_Forwarded_For": "nowhere"}, "forwarded_address_unreadable"),
        ("localhost", {"X_Forwarded_For": "198.51.100.7"}, "address_not_allowed"),
    ],
)
def test_a_head_is_refused_alike(
    host: str,
    more: dict[str, str],
    reason: str,
    issue: Any,
    entrances: Entrances,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.BEHIND_HTTPS = True
    monkeypatch.setattr(addresses, "is_trusted", lambda address: address == "127.0.0.1")
    key = issue(networks=["127.0.0.0/8", "192.0.2.0/24"]).secret
    proxied = {"X_Forwarded_For": "192.0.2.9", "X_Forwarded_Proto": "https"}
    for _ in range(2):
        for each in ENTRANCES:
            assert each(entrances, key, **proxied) in ("admitted", "no_upstream_node")
            assert each(entrances, key, host, **{**proxied, **more}) == reason, each


def test_a_refusal_takes_nothing(issue: Any, entrances: Entrances) -> None:
    """What is refused for its rights costs the key no token, however it came."""
    issued = issue(requests_per_second=0.001, requests_burst=2, scopes=["historical"])
    for each in ENTRANCES:
        assert each(entrances, issued.secret) == "scope_missing"
    issued.key.scopes = ["proxy"]
    issued.key.save()
    for _ in range(2):
        assert by_grpc(entrances, issued.secret) == "admitted"
    for each in ENTRANCES:
        assert each(entrances, issued.secret) == "rate_limited"


@pytest.mark.parametrize("first", ENTRANCES)
def test_one_limit_is_that_of_all(
    first: Callable[..., str], issue: Any, entrances: Entrances, monkeypatch: Any
) -> None:
    taken: list[object] = []
    answer = KnownHead.answer

    async def noting(self: KnownHead, *args: Any, **how: Any) -> Any:
        taken.append(found := await answer(self, *args, **how))
        return found

    monkeypatch.setattr(KnownHead, "answer", noting)
    key = issue(requests_per_second=0.001, requests_burst=2).secret
    assert by_grpc(entrances, key) == "admitted"
    assert first(entrances, key) in ("admitted", "no_upstream_node")
    for each in ENTRANCES:
        assert each(entrances, key) == "rate_limited"
    assert taken[-1] is not None, "the quick path refuses by itself"


def test_without_a_key(entrances: Entrances, tier: Any) -> None:
    tier("anonymous", 0, requests_per_second=0.001, requests_burst=2)
    assert by_grpc(entrances, None) == "key_required"
    for each in (by_thread, by_loop):
        assert each(entrances, None) == "no_upstream_node"
    for each in (by_thread, by_loop, by_websocket):
        assert each(entrances, None) == "rate_limited"
