"""The reads of any Solana RPC beside ours, with the same client and the same data.

`make bench PEER=http://…`: the peer says which blocks it has (`PEER_SLOTS=1,2-9` names others), and
they are imported, as it gives them, into a service started for this. With `SEALED=1` they are
sealed, and calls that name slots or signatures are made of copies that stay rows, too. `SERVICE=…`
and `KEY` take a running one of ours as it is, and what it lacks is left out and named. `ROUNDS`
turns of `SECONDS` each on `CONNECTIONS` connections, medians; `ONLY` names some of the calls. A
load like this is for a peer of your own.
"""

import json
import os
import statistics
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import clients, floors, machine  # noqa: E402
from benchmarks.ledger_sealing import moved, seal_all  # noqa: E402
from benchmarks.load import Figures  # noqa: E402
from benchmarks.service import (  # noqa: E402
    SERVICE,
    database,
    new_key,
    processes_on,
    served,
)

_ROUNDS = int(os.environ.get("ROUNDS", "5"))
_SECONDS = float(os.environ.get("SECONDS", "2"))
_CONNECTIONS = [int(each) for each in os.environ.get("CONNECTIONS", "1,8,32").split(",")]
_BLOCKS = 4
# Slots looked through for blocks, from the peer's newest finalized one down, so many at a time.
_LOOKED_THROUGH, _WINDOW = 4_000, 100
_CHECKED = 20
_ADDRESSES = 200
_LISTS = "getSignaturesForAddress"
_FLOOR_ANSWERS = 300
_VERSIONS = {"maxSupportedTransactionVersion": 0}
# Null where a node before 3.1 writes it of a top-level instruction.
_NULL_BEFORE = "stackHeight"
# Copies that stay rows: slots above what they are copies of.
_COPIED_SLOTS = 2_000 * 432_000
# Kinds of differences that are named.
_NAMED = 5
# Above this share of the floor's rate the client itself may be what is measured.
_WALL = 0.7

Call = tuple[str, list[Any]]
# Signatures by those that they are copies of.
Copies = dict[str, str]


class Refused(Exception):
    """The other side answered with an error, or not at all."""


@dataclass(frozen=True, slots=True)
class Side:
    """An RPC's address, and the header lines that it wants."""

    name: str
    url: str
    headers: dict[str, str]

    @property
    def base(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def request(self, call: Call) -> bytes:
        """A whole HTTP request."""
        parts = urlsplit(self.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        body = _body(call)
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json",
            **self.headers,
            "Content-Length": str(len(body)),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body

    def call(self, method: str, *params: Any) -> Any:
        """The result; raises Refused."""
        answer = json.loads(self.answer((method, list(params))))
        if "result" not in answer:
            raise Refused(f"{self.name}: {method}: {answer.get('error')}")
        return answer["result"]

    def answer(self, call: Call) -> bytes:
        headers = {"Content-Type": "application/json", **self.headers}
        request = urllib.request.Request(self.url, _body(call), headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                found: bytes = response.read()
                return found
        except (OSError, urllib.error.URLError) as error:
            raise Refused(f"{self.name}: {call[0]}: {error}") from None


def _body(call: Call) -> bytes:
    method, params = call
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def main() -> None:
    client = clients.chosen("wrk", "oha", "own")
    peer = Side("peer", os.environ["PEER"], {})
    slots = _slots(peer)
    print(f"the peer's blocks {', '.join(map(str, slots))}; load by {client.name}")
    failed = False
    with _ours(peer, slots) as (ours, copy):
        calls = _calls(peer, ours, slots)
        wanted = [each for each in os.environ.get("ONLY", "").split(",") if each]
        for name, asked in calls.items():
            if wanted and name.split(",")[0] not in wanted:
                continue
            try:
                # Copies name the same addresses: their lists are taken before there are any.
                copies = {} if name.startswith(_LISTS) else copy()
                _compare(name, asked, client, peer, ours, copies)
            except (Refused, RuntimeError) as error:
                failed = True
                print(f"FAILED: {name}: {error}")
    sys.exit(1 if failed else 0)


def _slots(peer: Side) -> list[int]:
    """Blocks of the peer's, the newest of those with transactions, or the ones asked for."""
    if given := os.environ.get("PEER_SLOTS"):
        return [slot for each in given.split(",") for slot in _named(peer, each)]
    newest = int(peer.call("getSlot", {"commitment": "finalized"}))
    try:
        first = int(peer.call("getFirstAvailableBlock"))
    except Refused as refusal:
        print(f"{refusal}; looking below slot {newest}")
        first = 0
    chosen: list[int] = []
    lowest = max(first, newest - _LOOKED_THROUGH)
    for last in range(newest, lowest - 1, -_WINDOW):
        for slot in reversed(peer.call("getBlocks", max(lowest, last - _WINDOW + 1), last)):
            if len(chosen) < _BLOCKS and _signatures(peer, slot):
                chosen.append(slot)
        if len(chosen) == _BLOCKS:
            break
    if not chosen:
        raise SystemExit(
            f"the peer has no transaction in slots {lowest} to {newest}: set PEER_SLOTS"
        )
    return chosen[::-1]


def _named(peer: Side, text: str) -> list[int]:
    """A slot, or a range's slots that the peer has a block in: not every peer knows getBlocks."""
    first, _, last = text.partition("-")
    if not last:
        return [int(first)]
    found = []
    for slot in range(int(first), int(last) + 1):
        with suppress(Refused):
            _signatures(peer, slot)
            found.append(slot)
    return found


def _signatures(side: Side, slot: int) -> list[str]:
    terms = {"transactionDetails": "signatures", "rewards": False, **_VERSIONS}
    found: list[str] = side.call("getBlock", slot, terms)["signatures"]
    return found


@contextmanager
def _ours(peer: Side, slots: Sequence[int]) -> Iterator[tuple[Side, Callable[[], Copies]]]:
    """The service that SERVICE names, else one of our own with the peer's blocks, and what makes
    copies of them where they are sealed.
    """
    if url := os.environ.get("SERVICE"):
        key = os.environ.get("KEY")
        path = "" if urlsplit(url).path.strip("/") else "/historical"
        yield Side("ours", url.rstrip("/") + path, {"Authorization": key} if key else {}), dict
        return
    with database(), tempfile.TemporaryDirectory() as folder:
        for slot in slots:
            _import(peer, slot, Path(folder, f"{slot}.json"))
        copy: Callable[[], Copies] = dict
        if os.environ.get("SEALED"):
            seal_all()
            files = {slot: Path(folder, f"{slot}.json") for slot in slots}
            copy = cache(lambda: _copied(files))
        key = new_key()
        with served(SERVICE, workers=2, threads=8) as (host, port):
            yield Side("ours", f"http://{host}:{port}/historical", {"Authorization": key}), copy


def _import(peer: Side, slot: int, path: Path) -> None:
    from ingest.services.imports import import_file

    terms = {"encoding": "base64", "transactionDetails": "full", "rewards": True, **_VERSIONS}
    path.write_bytes(peer.answer(("getBlock", [slot, terms])))
    import_file(
        path,
        slot=slot,
        genesis_hash="a peer's",
        now=lambda: datetime.now(UTC),
        progress=lambda position, size: None,
    )


def _copied(files: dict[int, Path]) -> Copies:
    """Records the blocks once more, at other slots and with other signatures."""
    from chain.encodings import b58encode
    from historical.recording.services.recording import record_blocks
    from upstream.archives.block_files import open_block_file

    copies: Copies = {}
    for slot, path in files.items():
        with open_block_file(path, slot=slot) as blocks:
            (record,) = blocks
        made = moved(record, _COPIED_SLOTS)
        record_blocks([made], now=datetime.now(UTC))
        for entry, other in zip(record.transactions, made.transactions, strict=True):
            copies[b58encode(entry.signature)] = b58encode(other.signature)
    return copies


def _of_copies(call: Call, copies: Copies) -> Call | None:
    """The same call of the copies; None where it names neither a slot nor signatures."""
    method, (first, *rest) = call[0], call[1] or [None]
    match first:
        case int():
            return method, [first + _COPIED_SLOTS, *rest]
        case list():
            return method, [[copies[each] for each in first], *rest]
        case str() if first in copies:
            return method, [copies[first], *rest]
    return None


def _calls(peer: Side, ours: Side, slots: Sequence[int]) -> dict[str, list[Call]]:
    """What both have, by the call's name."""
    held: dict[int, list[str]] = {}
    for slot in slots:
        try:
            signatures, mine = _signatures(peer, slot), _signatures(ours, slot)
        except Refused as refusal:
            print(f"block {slot} is left out: {refusal}")
            continue
        if signatures != mine:
            print(f"block {slot} is left out: its signatures differ")
            continue
        held[slot] = signatures
    if not held:
        print("no block is on both sides: getSlot alone")
        return {"getSlot": [("getSlot", [])]}
    largest = max(held, key=lambda slot: len(held[slot]))
    everything = [each for signatures in held.values() for each in signatures]
    return {
        "getSlot": [("getSlot", [])],
        f"{_LISTS}, 100": [(_LISTS, [each, {"limit": 100}]) for each in _addresses(peer, largest)],
        "getBlockTime": [("getBlockTime", [slot]) for slot in held],
        f"getTransaction, in one block of {len(held[largest]):,}": [
            ("getTransaction", [each, _VERSIONS]) for each in held[largest]
        ],
        f"getTransaction, in {len(held)} blocks of {len(everything):,}": [
            ("getTransaction", [each, _VERSIONS]) for each in _shuffled(everything)
        ],
        "getSignatureStatuses, of 10": [
            (
                "getSignatureStatuses",
                [everything[at : at + 10], {"searchTransactionHistory": True}],
            )
            for at in range(0, len(everything), 10)
        ],
        "getBlock, signatures": [
            (
                "getBlock",
                [slot, {"transactionDetails": "signatures", "rewards": False, **_VERSIONS}],
            )
            for slot in held
        ],
        "getBlock, whole": [("getBlock", [slot, _VERSIONS]) for slot in held],
    }


def _shuffled(signatures: list[str]) -> list[str]:
    """In an order without a pattern, the same each time."""
    return sorted(signatures, key=lambda each: each[::-1])


def _addresses(peer: Side, slot: int) -> list[str]:
    """Accounts that the block's transactions name first or last."""
    block = peer.call("getBlock", slot, {"rewards": False, **_VERSIONS})
    keys = [each["transaction"]["message"]["accountKeys"] for each in block["transactions"]]
    return list(dict.fromkeys(key for each in keys for key in (each[0], each[-1])))[:_ADDRESSES]


def _compare(
    name: str,
    calls: list[Call],
    client: clients.Client,
    peer: Side,
    ours: Side,
    copies: Copies,
) -> None:
    same = _agreement(calls, peer, ours)
    print(f"\n== {name}: the same answer in {same}\n{machine.describe()}")
    before = machine.load()
    chosen = calls[:: max(1, len(calls) // _FLOOR_ANSWERS)][:_FLOOR_ANSWERS]
    requests = dict(enumerate(ours.request(call) for call in chosen))
    of_copies = [_of_copies(call, copies) for call in calls] if copies else []
    with ExitStack() as stack:
        answers = [ours.answer(call) for call in chosen]
        expected = sum(map(len, answers)) / len(answers)
        found = stack.enter_context(floors.answering(answers))
        lowest, (host, port) = next(reversed(found.items()))  # nginx where there is one
        sides = {
            "peer": (peer.base, [peer.request(call) for call in calls]),
            "ours": (ours.base, [ours.request(call) for call in calls]),
            "ours as rows": (ours.base, [ours.request(call) for call in of_copies if call]),
            lowest: (f"http://{host}:{port}", floors.requests_of(list(requests), requests)),
        }
        sides = {name: side for name, side in sides.items() if side[1]}
        for connections in _CONNECTIONS:
            print(_turns(client, sides, connections, lowest, expected), flush=True)
    print(f"load average {before:.2f} before, {machine.load():.2f} after; {client.name}")


def _agreement(calls: list[Call], peer: Side, ours: Side) -> str:
    """Of some calls, on how many both gave the same result, but for members that only one of them
    writes, and what differed in the others; raises Refused where one gave none.
    """
    some = calls[:: max(1, len(calls) // _CHECKED)][:_CHECKED]
    same = 0
    differing: Counter[str] = Counter()
    for method, params in some:
        found = set(_differences(peer.call(method, *params), ours.call(method, *params), ""))
        same += not found
        differing.update(found)
    named = [f"\n  {what}, in {count} of them" for what, count in differing.most_common(_NAMED)]
    return f"{same} of {len(some)}{''.join(named)}"


def _differences(one: Any, other: Any, where: str) -> Iterator[str]:
    """Where the peer's result and ours differ, and an example of it."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() & other.keys():
            if name != _NULL_BEFORE or None not in (one[name], other[name]):
                yield from _differences(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for each, another in zip(one, other, strict=True):
            yield from _differences(each, another, f"{where}[]")
    elif one != other:
        yield f"{where or 'the result'}: {_short(one)} and ours {_short(other)}"


def _short(value: Any) -> str:
    return json.dumps(value)[:60]


def _turns(
    client: clients.Client,
    sides: dict[str, tuple[str, list[bytes]]],
    connections: int,
    lowest: str,
    expected: float,
) -> str:
    """`expected` are the bytes of our answers; the peer may write fewer members."""
    taken: dict[str, list[Figures]] = {name: [] for name in sides}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(_ROUNDS + 1):
        for name, (base, requests) in sides.items():
            # Not always the same ones, which would be answered from memory.
            first = number * len(requests) // (_ROUNDS + 1)
            busy = _busy(base)
            figures = client.run(
                base, requests[first:] + requests[:first], connections, _SECONDS if number else 1
            )
            if number:  # the first is for warming up
                clients.require_size(figures, expected if name != "peer" else expected / 2)
                taken[name].append(figures)
                spent[name].append((_busy(base) - busy) / figures.answers * 1e6)
    rate, p50, p99 = (
        {name: statistics.median(getattr(each, what) for each in taken[name]) for name in taken}
        for what in ("rate", "p50", "p99")
    )
    shown = "; ".join(
        f"{name} {rate[name]:,.0f}/s p50 {p50[name] * 1e3:.3f} p99 {p99[name] * 1e3:.3f} ms"
        f" CPU {statistics.median(spent[name]):.0f} us"
        for name in sides
    )
    ratios = {
        name: [o.rate / p.rate for o, p in zip(taken[name], taken["peer"], strict=True)]
        for name in sides
        if name not in ("peer", lowest)
    }
    compared = "; ".join(
        f"{name} / peer {statistics.median(each):.2f} ({min(each):.2f}-{max(each):.2f})"
        for name, each in ratios.items()
    )
    wall = max(rate["ours"], rate["peer"]) / rate[lowest]
    note = f"; the client may be the wall: {wall:.2f} of the floor" if wall > _WALL else ""
    return f"{connections:3} connections: {shown}; {compared}{note}"


def _busy(base: str) -> float:
    """CPU seconds of the processes that serve the address, with all that this one started, the
    database, if they are of it; 0 where they are on another machine.
    """
    parts = urlsplit(base)
    if parts.hostname not in ("127.0.0.1", "localhost"):
        return 0.0
    serving = processes_on(parts.port or 80)
    started = psutil.Process().children(recursive=True)
    seconds = 0.0
    for each in started if set(serving) & set(started) else serving:
        with suppress(psutil.Error):
            times = each.cpu_times()
            seconds += times.user + times.system
    return seconds


if __name__ == "__main__":
    main()
