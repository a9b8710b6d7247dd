"""A caller that is refused is refused for the same reason by HTTP in a thread, by the quick path on
the event loop, by WebSocket and by gRPC.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import grpc
import pytest
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from access.services import keys
from gateway.known_heads import KnownHead
from tests.subscriptions.socket_client import Socket
from tests.web_server import service_worker, serving
from tests.webserver.client import Client, post
from tests.yellowstone.conftest import Geyser, serving_geyser
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


def by_thread(entrances: Entrances, key: str | None) -> str:
    """A batch is answered in a thread."""
    return _posted(entrances, key, [_CALL])


def by_loop(entrances: Entrances, key: str | None) -> str:
    return _posted(entrances, key, _CALL)


def _posted(entrances: Entrances, key: str | None, body: Any) -> str:
    headers = ["Content-Type: application/json"]
    if key is not None:
        headers.append(f"Authorization: {key}")
    with Client(entrances.web) as client:
        found = client.send(post("/", json.dumps(body).encode(), *headers)).reply().json
    error = (found[0] if isinstance(found, list) else found)["error"]
    return str(error["data"]["reason"])


def by_websocket(entrances: Entrances, key: str | None) -> str:
    try:
        with Socket(f"ws://127.0.0.1:{entrances.web}/", key):
            return "admitted"
    except InvalidStatus as refused:
        return str(json.loads(refused.response.body or b"{}")["error"])


def by_grpc(entrances: Entrances, key: str | None) -> str:
    geyser = Geyser(entrances.grpc, None, "")  # type: ignore[arg-type]
    try:
        geyser.call("GetVersion", schema.GetVersionRequest(), key=key)
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
