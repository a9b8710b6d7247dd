"""Calls that POST / passes on, beside an earlier revision's, on one database and one node.

`BASELINE=<revision> python -m benchmarks.passing_on`. The node answers from memory, so that what is
measured is what stands before it. Both sides are started anew several times and take turns.
"""

import asyncio
import os
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httptools
import uvloop

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import load  # noqa: E402
from benchmarks.service import (  # noqa: E402
    database,
    granian_of,
    listening,
    new_key,
    rpc_request,
)
from benchmarks.versions import Address, _addresses, earlier  # noqa: E402

_BASELINE = os.environ.get("BASELINE", "382a5c8")
_STARTS = int(os.environ.get("STARTS", "5"))
_ROUNDS = int(os.environ.get("ROUNDS", "2"))
_SECONDS = float(os.environ.get("SECONDS", "1"))
_CONNECTIONS = (1, 8, 32)
_ANSWER = b'{"jsonrpc":"2.0","result":350000000,"id":0}'
_REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(_ANSWER), _ANSWER)
)  # fmt: skip


class _Node(asyncio.Protocol):
    """Answers every request with the same result."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(_REPLY)  # type: ignore[attr-defined]


def node(port: int) -> None:
    """Runs it."""

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Node, "127.0.0.1", port)
        await server.serve_forever()

    uvloop.run(serve())


def main() -> None:
    with database() as run_dir, earlier(_BASELINE) as tree:
        request = rpc_request(new_key(), "getSlot", [], path="/")
        found: dict[tuple[int, str], list[float]] = {}
        command = [sys.executable, "-m", "benchmarks.passing_on", "--node"]
        with listening(command, cwd=ROOT, environment={}) as upstream:
            environment = {
                **_addresses(run_dir),
                "UPSTREAM_RPC_URL": f"http://{upstream[0]}:{upstream[1]}",
            }
            for number in range(_STARTS):
                with service(ROOT, environment) as new, service(tree, environment) as old:
                    sides = {"old": old, "new": new} if number % 2 else {"new": new, "old": old}
                    for connections in _CONNECTIONS:
                        for side, address in sides.items():
                            load.run(address, [request], connections=connections, seconds=0.3)
                            found.setdefault((connections, side), [])
                        for _ in range(_ROUNDS):
                            for side, address in sides.items():
                                figures = load.run(
                                    address, [request], connections=connections, seconds=_SECONDS
                                )
                                found[connections, side].append(figures.rate)
    for connections in _CONNECTIONS:
        old_rates, new_rates = found[connections, "old"], found[connections, "new"]
        ratios = [n / o for n, o in zip(new_rates, old_rates, strict=True)]
        print(
            f"{connections:3} connections: {statistics.median(old_rates):8,.0f} ->"
            f" {statistics.median(new_rates):8,.0f}/s"
            f" ({statistics.median(ratios):.2f}; {min(ratios):.2f}-{max(ratios):.2f})",
            flush=True,
        )


@contextmanager
def service(tree: Path, environment: dict[str, str]) -> Iterator[Address]:
    """A checkout's own web server, two processes; granian where it has none yet."""
    if (tree / "platform" / "webserver").is_dir():
        command = [sys.executable, "manage.py", "serve", "--workers", "2", "--port"]
    else:
        command = granian_of("config.wsgi:application", threads=16, workers=2)
    path = os.pathsep.join([str(tree), str(tree / "platform")])
    with listening(command, cwd=tree, environment={**environment, "PYTHONPATH": path}) as address:
        yield address


if __name__ == "__main__":
    if "--node" in sys.argv:
        node(int(sys.argv[-1]))
    else:
        main()
