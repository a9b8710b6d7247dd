"""A chain that is followed, and the service that is served, for WebSockets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.localnet_process import Localnet, running_localnet
from tests.subscriptions.socket_client import Socket


@dataclass
class Served:
    """Where the service listens, the chain that it follows, and a key."""

    port: int
    localnet: Localnet
    key: str

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def socket(self, key: str | None = "", **options: Any) -> Socket:
        return Socket(self.url, self.key if key == "" else key, **options)


@pytest.fixture
def localnet() -> Iterator[Localnet]:
    """A running localnet with slots of 40 ms and none skipped, new for each test: a follower of a
    chain reads it from its first slot, which takes seconds of CPU where a file's tests share one.
    """
    with running_localnet() as running:
        yield running


@pytest.fixture
def served(
    transactional_db: None, empty_redis: None, localnet: Localnet, api_key: str
) -> Iterator[Served]:
    """The service follows the localnet."""
    from tests.ingest.following import caught_up, follower, worker
    from tests.web_server import service_worker
    from tests.webserver.serving import serving

    with (
        worker(),
        follower(localnet.geyser_url, localnet.url),
        serving(service_worker()) as port,
    ):
        caught_up(localnet)
        yield Served(port, localnet, api_key)


@pytest.fixture
def limited(db: None) -> Callable[..., str]:
    """`limited(stream_connections=1)` → a key of a tier with these limits."""

    def make(**limits: Any) -> str:
        from access.models import Customer, Tier
        from access.services.keys import issue_key

        name = f"limited-{Tier.objects.count()}"
        given = {"requests_per_second": None, **limits}
        tier = Tier.objects.create(name=name, rank=50, **given)
        customer = Customer.objects.create(name=f"{name}'s customer")
        return issue_key(customer, tier=tier, name="tests").secret

    return make
