"""Names whose answers change, by a real name server and the system's own resolver."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
# A network in which any port is free, with a machine at a public address.
_NETWORK = (
    "ip link set lo up && ip addr add 203.0.114.9/32 dev lo"
    ' && mount --bind "$0" /etc/resolv.conf && exec "$@"'
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """`told(url, …)`: what two posts to each URL led to, and how often each name was asked for."""
    resolver = tmp_path_factory.mktemp("resolver") / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    alone = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", _NETWORK, resolver]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(_ROOT / "platform"), str(_ROOT)))
        return subprocess.run(
            [*alone, *command],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )

    try:
        may = run("true").returncode == 0
    except FileNotFoundError:
        may = False
    if not may:
        pytest.skip("This machine makes no network of one's own (unshare, ip)")

    def post(*urls: str) -> dict[str, Any]:
        script = Path(__file__).with_name("rebinding.py")
        done = run(sys.executable, str(script), *urls)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return post


# URL → the statuses of the first and of the second post.
CHANGING = {
    "http://steady.example/": [204, 204],
    "http://rebound.example/": [204, None],
    "http://inside-first.example/": [None, 204],
    "http://steady.example:81/": [307, 307],  # it redirects to 127.0.0.1
}
REFUSED = [
    "http://both.example/",
    "http://mixed-kinds.example/",
    "http://mapped.example/",
    "http://metadata.example/",
    "http://zero.example/",
    "http://private.example/",
    "http://b\u00fccher.example/",
    "http://BOTH.example./",
    # Of another kind of digits and dots, and with a name where a user's would be.
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://127\u30020\u30020\u30021/",
    "http://steady.example@127.0.0.1/",
    "http://127.0.0.1\uff03@steady.example/",
]


def test_no_answer_of_a_name_server_leads_a_webhook_inside(
    told: Callable[..., dict[str, Any]],
) -> None:
    found = told(*CHANGING, *REFUSED)
    for url, statuses in {**CHANGING, **{url: [None, None] for url in REFUSED}}.items():
        said = found["told"][url]
        assert said["statuses"] == statuses, (url, said)
        assert said["inside"] == 0, url
        assert said["outside"] == sum(each is not None for each in statuses), url
    # One look-up for each post: the address that was checked is the one that was connected to.
    for name in ("steady", "rebound", "inside-first", "both"):
        posts = 2 * sum(name in url.lower() and "@" not in url for url in (*CHANGING, *REFUSED))
        assert found["asked"][f"{name}.example 1"] == posts
