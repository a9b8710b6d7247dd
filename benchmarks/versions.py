"""This checkout beside another one, on one database, taking turns, with the floors of each call.

`make bench BASELINE=<folder of a checkout, or a revision>`. Both services are started anew `STARTS`
times: how fast a process turns out differs by a quarter from start to start. Figures are medians, a
ratio is of the same start. `ROUNDS` turns of `SECONDS` each; `ONLY` names some tables, or `read`
for all of the ledger's; `CONNECTIONS` are numbers with commas between.
"""

import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import clients, floors, load, machine  # noqa: E402
from benchmarks.floors import Address  # noqa: E402
from benchmarks.load import Figures  # noqa: E402
from benchmarks.service import (  # noqa: E402
    database,
    granian_of,
    listening,
    python_path,
    with_port,
)
from benchmarks.version_calls import NODE_ANSWER, Table, prepare  # noqa: E402

# The last that served WSGI by granian; issue 15 counts from it.
_BASELINE = os.environ.get("BASELINE") or "382a5c8"
_STARTS = int(os.environ.get("STARTS", "5"))
_ROUNDS = int(os.environ.get("ROUNDS", "2"))
_SECONDS = float(os.environ.get("SECONDS", "1"))
_WARM_SECONDS = 0.3
_CONNECTIONS = [int(each) for each in os.environ.get("CONNECTIONS", "1,8,32").split(",")]
# Of a table's calls: a bare app keeps its answers in memory.
_FLOOR_ANSWERS = 300

READ = ("getSlot", "block", "random", "addresses", "signatures")
TABLES = (*READ, "proxy", "account", "replay", "accept", "tips", "fate")


@dataclass(slots=True)
class _Taken:
    """Of a table: by connections and side the figures of each start, and the load average before
    and after each measurement.
    """

    starts: dict[tuple[int, str], list[list[Figures]]] = field(default_factory=dict)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)


def main() -> None:
    names = _wanted()
    client = clients.chosen("wrk", "own")
    failed: dict[str, str] = {}
    with (
        database() as run_dir,
        _node() as node,
        _tree(_BASELINE) as tree,
    ):
        chain, tables = prepare(names)
        print(f"{chain.transactions:,} transactions of {chain.name}; load by {client.name}")
        environment = _addresses(run_dir, node)
        taken = {table.name: _Taken() for table in tables}
        for number in range(_STARTS):
            with (
                _service(ROOT, environment) as new,
                _service(tree, environment) as old,
                _floors_of(tables, new, node, failed) as lowest,
            ):
                turns = [("old", old), ("new", new)]
                for table in tables:
                    if table.name in failed:
                        continue
                    sides = dict(turns[::-1] if number % 2 else turns) | lowest[table.name]
                    try:
                        _measure(taken[table.name], table, client, sides)
                    except Exception as error:
                        traceback.print_exc()
                        failed[table.name] = f"{type(error).__name__}: {error}"[:200]
            print(f"start {number + 1} of {_STARTS} is done", file=sys.stderr, flush=True)
        for table in tables:
            if table.name not in failed:
                _show(table, taken[table.name], client)
    for name, reason in failed.items():
        print(f"FAILED: {name}: {reason}")
    sys.exit(1 if failed else 0)


def _wanted() -> list[str]:
    asked = [each for each in os.environ.get("ONLY", "").split(",") if each]
    unknown = {*asked} - {*TABLES, "read"}
    if unknown:
        raise SystemExit(f"ONLY={','.join(unknown)}: expected some of read, {', '.join(TABLES)}")
    groups = {"read": READ}
    chosen = {name for each in asked for name in groups.get(each, (each,))}
    return [name for name in TABLES if not asked or name in chosen]


# A side's address, and what is sent to it.
_Sides = dict[str, Address]


@contextmanager
def _floors_of(
    tables: list[Table], service: Address, node: Address, failed: dict[str, str]
) -> Iterator[dict[str, _Sides]]:
    """The floors of each table: servers that give the same answers, or do what must be done for
    one at least. A table whose answers are errors has failed.
    """
    answers: list[bytes] = []
    for table in tables:
        try:
            table.floor_requests = _floor_requests(table, service, answers)
        except Exception as error:
            traceback.print_exc()
            failed.setdefault(table.name, f"{type(error).__name__}: {error}"[:200])
    with ExitStack() as stack:
        same = stack.enter_context(floors.answering(answers))
        found: dict[str, _Sides] = {table.name: dict(same) for table in tables}
        if "accept" in found:
            found["accept"] = {"verifying": stack.enter_context(floors.verifying())}
        if "proxy" in found and floors.has_nginx():
            found["proxy"]["nginx proxy"] = stack.enter_context(floors.passing(node))
        yield found


def _floor_requests(table: Table, service: Address, answers: list[bytes]) -> list[bytes]:
    if table.name == "accept":
        return []  # the verifying app takes the same calls
    # Spread over all, for their answers differ in size.
    step = max(1, len(table.requests) // _FLOOR_ANSWERS)
    chosen = table.requests[::step][:_FLOOR_ANSWERS]
    numbers = {}
    for request in chosen:
        answer = load.exchange(service, request)
        if b'"error"' in answer[:80]:
            raise RuntimeError(f"{table.name}: answered {answer[:300]!r}")
        numbers[len(answers)] = request
        answers.append(answer)
    return floors.requests_of(list(numbers), numbers)


def _measure(taken: _Taken, table: Table, client: clients.Client, sides: _Sides) -> None:
    taken.before.append(machine.load())
    for connections in _CONNECTIONS:
        sizes = {}
        for side, address in sides.items():
            warm = _take(table, None, side, address, connections, seconds=_WARM_SECONDS)
            sizes[side] = warm.bytes_each
            taken.starts.setdefault((connections, side), []).append([])
        for _ in range(_ROUNDS):
            for side, address in sides.items():
                figures = _take(table, client, side, address, connections)
                same = partial(_again, table, side, address, connections)
                clients.require_size(figures, sizes[side], same)
                taken.starts[connections, side][-1].append(figures)
    taken.after.append(machine.load())


def _take(
    table: Table,
    load_client: clients.Client | None,
    side: str,
    address: Address,
    connections: int,
    *,
    seconds: float = math.inf,
    answers: float = math.inf,
) -> Figures:
    """One turn; without a client one of ours, which reads the answers, of so many seconds or
    answers.
    """
    ours = side in ("old", "new") or table.name == "accept"
    requests = table.turn() if ours else table.floor_requests
    if side == "nginx proxy":
        requests = table.requests
    if load_client is None:
        return load.run(
            address, requests, connections=connections, seconds=seconds, answers=answers
        )
    return load_client.run(f"http://{address[0]}:{address[1]}", requests, connections, _SECONDS)


def _again(table: Table, side: str, address: Address, connections: int, answers: int) -> Figures:
    """The same requests once more, their answers read."""
    return _take(table, None, side, address, connections, answers=answers)


def _show(table: Table, taken: _Taken, client: clients.Client) -> None:
    print(f"\n== {table.name}: {table.title}")
    print(machine.describe())
    print(
        f"load average {min(taken.before):.2f}-{max(taken.before):.2f} before and"
        f" {min(taken.after):.2f}-{max(taken.after):.2f} after; {client.name}; medians of"
        f" {_STARTS} starts, {_ROUNDS} turns of {_SECONDS:g} s each"
    )
    for connections in _CONNECTIONS:
        sides = [side for number, side in taken.starts if number == connections]
        rates = {side: _of(taken, connections, side, "rate") for side in sides}
        ratios = _ratios(rates["new"], rates["old"])
        print(
            f"{connections:3} connections: {statistics.median(rates['old']):8,.0f} ->"
            f" {statistics.median(rates['new']):8,.0f}/s: x{statistics.median(ratios):.2f}"
            f" ({min(ratios):.2f}-{max(ratios):.2f});"
            f" p50 {_change(taken, connections, 'p50')} ms,"
            f" p99 {_change(taken, connections, 'p99')} ms"
        )
        for side in sides:
            if side not in ("old", "new"):
                share = statistics.median(_ratios(rates["new"], rates[side]))
                print(
                    f"{'':17}floor, {side}: {statistics.median(rates[side]):8,.0f}/s, p50"
                    f" {statistics.median(_of(taken, connections, side, 'p50')) * 1e3:.3f} ms;"
                    f" new is {share:.2f} of it"
                )
    sys.stdout.flush()


def _of(taken: _Taken, connections: int, side: str, what: str) -> list[float]:
    """By start."""
    return [
        statistics.mean(getattr(each, what) for each in start)
        for start in taken.starts[connections, side]
    ]


def _ratios(new: list[float], old: list[float]) -> list[float]:
    return [n / o for n, o in zip(new, old, strict=True)]


def _change(taken: _Taken, connections: int, what: str) -> str:
    old, new = (_of(taken, connections, side, what) for side in ("old", "new"))
    ratio = statistics.median(_ratios(new, old))
    before, now = statistics.median(old) * 1e3, statistics.median(new) * 1e3
    return f"{before:.3f} -> {now:.3f} ({ratio:.2f})"


@contextmanager
def _tree(baseline: str) -> Iterator[Path]:
    """The checkout in that folder, or the revision of this repository in a temporary one."""
    if Path(baseline).is_dir():
        yield Path(baseline).resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="tidemark-earlier-"))
    try:
        archive = subprocess.run(
            ["git", "archive", baseline], cwd=ROOT, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _service(tree: Path, environment: dict[str, str]) -> Iterator[Address]:
    """A checkout's web processes as its `make run` starts them on two cores."""
    if (tree / "platform" / "webserver").is_dir():
        command = [sys.executable, "manage.py", "serve", "--workers", "2", "--port"]
    else:
        command = granian_of("config.wsgi:application", threads=16, workers=2)
    # No lander runs: nothing may be refused for that.
    where = {**environment, **python_path(tree), "LANDING_BEHIND_SLOTS": "0"}
    with listening(with_port(command), cwd=tree, environment=where) as address:
        yield address


@contextmanager
def _node() -> Iterator[Address]:
    """What calls at `/` are passed on to: a server with one answer."""
    with floors.answering([NODE_ANSWER]) as found:
        yield found.get("nginx", found["bare"])


def _addresses(run_dir: Path, node: Address) -> dict[str, str]:
    """By these another revision finds the servers, however it would look for them itself."""
    from django.conf import settings

    return {
        "DATABASE_URL": settings.DATABASE_URL,
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "TIP_SECRET_SEED": settings.TIP_SECRET_SEED.hex(),
        "TIDEMARK_RUN_DIR": str(run_dir),
        "LOCALNET": "false",
        "UPSTREAM_RPC_URL": f"http://{node[0]}:{node[1]}/000000.answer",
    }


if __name__ == "__main__":
    main()
