"""What only HAProxy does: limits of its own, and two of them in a row."""

import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.deploy.proxies import CALLER, Proxy, in_front, trusting
from tests.deploy.starting import haproxy, needs
from tests.patience import PATIENCE_SECONDS

pytestmark = [
    needs("haproxy"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


@pytest.fixture
def proxy(settings: Any, tmp_path: Path, issue: Callable[..., Any]) -> Iterator[Proxy]:
    """HAProxy in front of the whole service."""
    issued = issue(requests_per_second=10_000, requests_burst=10_000)
    with trusting(settings, "127.0.0.1/32"), in_front(haproxy, tmp_path, issued) as found:
        yield found


def test_one_address_has_so_many_connections(proxy: Proxy) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(256):
            held = stack.enter_context(contextlib.closing(proxy.connect()))
            held.connect()
        with pytest.raises(OSError):
            proxy.ask("GET", "/healthz")


def test_behind_another_proxy_the_first_ones_address_counts(
    settings: Any, tmp_path: Path, issue: Callable[..., Any]
) -> None:
    """Each adds a field of its own, as docs/deployment.md says for two in a row."""
    issued = issue(networks=[f"{CALLER}/32"], requests_per_second=1_000, requests_burst=1_000)
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    outer.mkdir(), inner.mkdir()

    @contextlib.contextmanager
    def both(folder: Path, service: int, geyser: int) -> Iterator[int]:
        for each in (outer, inner):
            for name in ("certificate.pem", "key.pem"):
                (each / name).write_bytes((folder / name).read_bytes())
        adds = ("http-request set-header X-Forwarded-For %[src]", "option forwardfor")
        with haproxy(inner, service, geyser, (adds,)) as second:
            passes = (
                (
                    f"server web 127.0.0.1:{second}",
                    f"server web 127.0.0.1:{second} ssl verify none",
                ),
                ("proto h2", "ssl verify none alpn h2"),
            )
            with haproxy(outer, second, second, passes) as first:
                yield first

    with (
        trusting(settings, "127.0.0.1/32"),
        in_front(both, tmp_path, issued, with_grpc=True) as proxy,
    ):
        assert proxy.address() == proxy.address("X-Forwarded-For") == CALLER
        context = ssl.create_default_context(cafile=str(proxy.certificate))
        transport = httpx2.HTTPTransport(verify=context, http2=True, local_address=CALLER)
        with httpx2.Client(transport=transport, timeout=PATIENCE_SECONDS) as client:
            headers = {"Content-Type": "application/grpc", "TE": "trailers", "X-Token": proxy.key}
            url = f"https://localhost:{proxy.port}/geyser.Geyser/Ping"
            response = client.post(url, content=bytes(5), headers=headers)
        # A refusal has its status among the headers.
        assert response.content == bytes(5) and "grpc-status" not in response.headers
