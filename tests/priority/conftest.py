"""A door to `/`, and nodes behind it."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from solders.keypair import Keypair

from shared_state import pace
from tests import shared
from tests.localnet.wallets import wallet
from tests.localnet_process import Localnet, running_localnet
from tests.priority.odd_nodes import Answer, OddNode, odd_node


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """Every test of this folder begins with a process that remembers nothing."""


@pytest.fixture(scope="module")
def localnet(request: pytest.FixtureRequest) -> Localnet:
    """A running localnet."""

    def make() -> Iterator[Localnet]:
        with running_localnet() as localnet:
            yield localnet

    return shared.value_of(request, make)


@pytest.fixture(scope="module")
def slower(request: pytest.FixtureRequest) -> Localnet:
    """A localnet whose blockhashes live as long as a busy machine may need."""

    def make() -> Iterator[Localnet]:
        with running_localnet(LOCALNET_SLOT_MS=100) as localnet:
            yield localnet

    return shared.value_of(request, make)


@pytest.fixture(scope="module")
def payer(slower: Localnet) -> Keypair:
    """Somebody with lamports on it."""
    return wallet(slower)


@pytest.fixture
def followed(slower: Localnet, db: None) -> Iterator[Localnet]:
    """It, with somebody who tells what it does; no upstream is there but what a test makes."""
    from priority.upstreams.models import Upstream
    from tests.priority.landing import told_of

    Upstream.objects.all().delete()
    with told_of(slower):
        yield slower


@pytest.fixture
def chain(localnet: Localnet, settings: Any) -> Localnet:
    """The running localnet, as the node behind `/`."""
    settings.UPSTREAM_RPC_URL = localnet.url
    return localnet


@pytest.fixture
def slow_chain(empty_redis: None) -> Iterator[None]:
    """Slots of a minute: what is known of one is known for as long, however busy the machine is."""
    pace.publish(60)
    pace.forget()
    yield
    pace.forget()


@pytest.fixture
def node(settings: Any) -> Iterator[Callable[[Answer], OddNode]]:
    """`node(answer)`: the node behind `/` is one that answers so."""
    with contextlib.ExitStack() as nodes:

        def start(answer: Answer) -> OddNode:
            started = nodes.enter_context(odd_node(answer))
            settings.UPSTREAM_RPC_URL = started.url
            return started

        yield start


@pytest.fixture
def post(client: Any, api_key: str) -> Callable[..., Any]:
    """`post(body, key=…, HTTP_HOST=…)`: the HTTP answer of `/`; with an unlimited key if none is
    named.
    """

    def send(body: Any, *, key: str | None = None, host: str = "localhost", **meta: Any) -> Any:
        key = api_key if key is None else key
        if key:
            meta["HTTP_AUTHORIZATION"] = key
        content = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return client.generic("POST", "/", content, "application/json", HTTP_HOST=host, **meta)

    return send


@pytest.fixture
def door(client: Any, api_key: str) -> Callable[..., Any]:
    """`door("/priority", "sendTransaction", …, key=…, host=…, HTTP_…=…)`: the HTTP answer; with an
    unlimited key if none is named, without one for "".
    """

    def send(
        path: str,
        method: str,
        *params: Any,
        key: str | None = None,
        host: str = "localhost",
        **meta: Any,
    ) -> Any:
        key = api_key if key is None else key
        if key:
            meta["HTTP_AUTHORIZATION"] = key
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        return client.generic(
            "POST", path, json.dumps(body), "application/json", HTTP_HOST=host, **meta
        )

    return send


@pytest.fixture
def first(api_key: str, settings: Any) -> Any:
    """The key that `door` calls with; bundles are not simulated."""
    from access.models import ApiKey

    settings.BUNDLE_SIMULATION = False
    return ApiKey.objects.get()


@pytest.fixture
def others(first: Any) -> list[Any]:
    """Keys of two other customers, as they were issued."""
    from tests.priority.submitters import another_key

    return [another_key("second"), another_key("third")]


@pytest.fixture
def customers(first: Any, others: list[Any], settings: Any) -> Iterator[list[Any]]:
    """The three of them, each with a rule on all fates: tests.priority.submitters.Customer."""
    from tests.priority.submitters import Customer

    settings.WEBHOOKS_PRIVATE = True
    found = [Customer(first, None), *(Customer(each.key, each.secret) for each in others)]
    yield found
    for each in found:
        each.receiver.stop()
