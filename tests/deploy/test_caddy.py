"""deploy/caddy/Caddyfile in the real Caddy, in front of the whole service."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.proxies import (
    CALL,
    CALLER,
    DEPLOY,
    announce_fate,
    in_front,
    program,
    replaced,
    trusting,
)
from tests.localnet_process import free_ports

CADDY = shutil.which("caddy", path="/usr/bin:/usr/local/bin")
pytestmark = [
    pytest.mark.skipif(CADDY is None, reason="needs Caddy: apt-get install caddy"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


@contextlib.contextmanager
def _caddy(folder: Path, service: int, geyser: int) -> Iterator[int]:
    port, plain = free_ports(2)
    text = replaced(
        (DEPLOY / "caddy" / "Caddyfile").read_text(),
        (
            # Certificates by itself need the internet: here one of the test.
            (
                "\nrpc.example {\n",
                f"\nhttps://localhost:{port} {{\n\tbind 127.0.0.1\n"
                f"\ttls {folder / 'certificate.pem'} {folder / 'key.pem'}\n",
            ),
            ("{\n\tservers {", f"{{\n\tadmin off\n\thttp_port {plain}\n\tservers {{"),
            ("h2c://127.0.0.1:10010", f"h2c://127.0.0.1:{geyser}"),
            ("127.0.0.1:8000", f"127.0.0.1:{service}"),
        ),
    )
    (folder / "Caddyfile").write_text(text)
    assert CADDY is not None
    command = [CADDY, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with program(command, port, log=folder / "output", env=environment):
        yield port


def test_everything_passes_through_it(
    settings: Any, tmp_path: Path, issue: Callable[..., Any]
) -> None:
    issued = issue(requests_per_second=1_000, requests_burst=1_000)
    with (
        trusting(settings, "127.0.0.1/32"),
        in_front(_caddy, tmp_path, issued, with_grpc=True) as proxy,
    ):
        assert proxy.ask("GET", "/healthz")[0] == 200
        status, _, body = proxy.ask("POST", "/historical", CALL)
        assert status == 200 and json.loads(body)["result"]["key"] is not None
        assert proxy.http_2()[:2] == (200, "HTTP/2")
        assert proxy.address() == proxy.address("X-Forwarded-For") == CALLER
        with proxy.socket("/") as socket:
            assert socket.error("noMethod")["code"] == -32601
        assert proxy.pongs(3) == [1, 2, 3]
        assert proxy.ask("GET", "/metrics")[0] == 403
        stream = proxy.events()
        ready = stream.next()
        assert ready is not None and ready.name == "ready"
        for number in range(2):
            signature = announce_fate(proxy.issued, number)
            assert stream.fates(1) == [(signature, "sent")]
        stream.close()
        status, _, body = proxy.ask("POST", "/historical", "x" * 300_000)
        assert (status, json.loads(body)["error"]["data"]["reason"]) == (413, "body_too_large")
