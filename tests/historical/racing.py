"""Reads by web processes beside a writer of blocks: runs them, and gives what was read and
committed (tests/historical/races.py says whether it fits).
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests import forked_commands
from tests.databases import this_database
from tests.forked_commands import ForkedProcess
from tests.historical.race_reader import LINE
from tests.historical.races import Findings, Observation, Read, check
from tests.historical.racing_writer import FIRST_SLOT, SLOTS, Writer, signatures
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS

_READER = Path(__file__).with_name("race_reader.py")

# What an answer says, by its result or its error.
Meaning = Callable[[dict[str, Any]], tuple[Observation, ...]]
_Asked = tuple[str, list[Any], Meaning]


@contextlib.contextmanager
def web_server(workers: int) -> Iterator[tuple[str, psutil.Process]]:
    """The service on this test's database, by a master of its own: its address."""
    from django.conf import settings

    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "DATABASE_URL": this_database(),
        "REDIS_URL": settings.REDIS_URL,
    }
    command = ["serve", "--port", str(port), "--workers", str(workers)]
    server = forked_commands.start(command, environment=environment, output=2)
    try:
        _wait_for_workers(server, port, workers)
        yield f"127.0.0.1:{port}", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_SECONDS)


def _wait_for_workers(server: ForkedProcess, port: int, workers: int) -> None:
    """Until each of them takes connections: the first one would else get all."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with contextlib.ExitStack() as held:
        while len(_busy_workers(psutil.Process(server.pid))) < workers:
            assert server.poll() is None, "the web server ended"
            assert time.monotonic() < deadline, "the web server did not start"
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=1))
            time.sleep(0.05)


def _busy_workers(server: psutil.Process) -> set[int]:
    """Those that hold a connection over which calls may come."""
    found = set()
    for worker in server.children():
        with contextlib.suppress(psutil.Error):
            found |= {
                worker.pid
                for each in worker.net_connections("tcp")
                if each.status == psutil.CONN_ESTABLISHED and each.laddr.ip == "127.0.0.1"
            }
    return found


def race(
    folder: Path, key: str, *, servers: Sequence[int], readers: int, connections: int, reads: int
) -> Findings:
    """So many web servers of so many worker processes, and so many reader processes with so many
    connections each, which make the reads in all. Every worker has served some of them.
    """
    requests = _requests()
    whole = json.dumps([_request(key, method, params) for method, params, _ in requests])
    writer = Writer(seed=reads + len(servers))
    busy: set[int] = set()
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(web_server(workers)) for workers in servers]
        addresses = ",".join(address for address, _ in opened)
        logs = [folder / f"reader-{number}" for number in range(readers)]
        started = [
            stack.enter_context(
                _reader(addresses, connections, reads // readers, number, log, whole)
            )
            for number, log in enumerate(logs)
        ]

        def is_over() -> bool:
            if len(busy) < sum(servers):
                for _, server in opened:
                    busy.update(_busy_workers(server))
            return all(each.poll() is not None for each in started)

        writer.run(until=is_over)
        assert [each.returncode for each in started] == [0] * readers
    assert len(busy) == sum(servers), "a worker served no connection"
    return check(writer.commits, [read for log in logs for read in _reads(log, requests)])


@contextlib.contextmanager
def _reader(
    addresses: str, connections: int, reads: int, number: int, log: Path, requests: str
) -> Iterator[subprocess.Popen[str]]:
    words = [addresses, str(connections), str(reads), f"reader {number}", str(log)]
    process = subprocess.Popen(
        [sys.executable, str(_READER), *words], stdin=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    with process.stdin as given:
        given.write(requests)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _reads(log: Path, requests: Sequence[_Asked]) -> Iterator[Read]:
    bodies = Path(f"{log}.answers").read_bytes().split(b"\n")
    observed: dict[tuple[int, int], tuple[Observation, ...]] = {}
    readers: dict[int, str] = {}
    for sent, received, connection, number, answer in LINE.iter_unpack(log.read_bytes()):
        method, params, meaning = requests[number]
        if (number, answer) not in observed:
            observed[number, answer] = meaning(json.loads(bodies[answer]))
        reader = readers.setdefault(connection, f"{log.name}, connection {connection},")
        request = f"{method} {params}"
        yield Read(sent, received, reader, request, observed[number, answer])


def _request(key: str, method: str, params: Sequence[Any]) -> str:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return (
        f"POST /historical HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )


def _requests() -> list[_Asked]:
    """Bounds as often as everything else together: they change with most commits."""
    known = signatures()
    slots = list(range(FIRST_SLOT, FIRST_SLOT + SLOTS))
    versions = {"maxSupportedTransactionVersion": 0}
    several = [known[at : at + 6] for at in range(0, len(known), 6)]
    ranges = [(FIRST_SLOT, FIRST_SLOT + SLOTS), (FIRST_SLOT + 4, FIRST_SLOT + 11)]
    one_by_one: list[_Asked] = [
        *(("getTransaction", [each, versions], _transaction(each)) for each in known),
        *(("getBlockTime", [each], _block_time(each)) for each in slots),
        *(("getBlock", [each, versions], _block(each)) for each in slots),
        *(
            ("getBlock", [each, {"transactionDetails": "signatures"}], _block(each))
            for each in slots
        ),
        *(("getSignatureStatuses", [each], _statuses(each)) for each in several),
        *(("getBlocks", [*each], _blocks(each)) for each in ranges * 4),
    ]
    ends: list[_Asked] = [
        ("getSlot", [], _end("newest")),
        ("getFirstAvailableBlock", [], _end("first")),
    ]
    return one_by_one + ends * (len(one_by_one) // 2)


def _end(kind: str) -> Meaning:
    def meaning(answer: dict[str, Any]) -> tuple[Observation, ...]:
        if "error" in answer:
            assert answer["error"]["data"]["reason"] == "ledger_empty", answer
            return ((kind, None),)
        return ((kind, answer["result"]),)

    return meaning


def _no_block(answer: dict[str, Any]) -> tuple[Observation, ...]:
    """That the slot has no block; and where the ledger begins or ends, which is read apart."""
    data = answer["error"]["data"]
    absent = ("absent", data.get("slot"))
    match data["reason"]:
        case "block_cleaned_up":
            return absent, ("first", data["firstAvailableBlock"])
        case "block_not_available":
            return absent, ("newest", data["newestSlot"])
        case "slot_skipped" | "slot_missing":
            return (absent,)
    return (("failed", json.dumps(answer)),)


def _block_time(slot: int) -> Meaning:
    def meaning(answer: dict[str, Any]) -> tuple[Observation, ...]:
        return _no_block(answer) if "error" in answer else (("time", slot, answer["result"]),)

    return meaning


def _block(slot: int) -> Meaning:
    def meaning(answer: dict[str, Any]) -> tuple[Observation, ...]:
        if "error" in answer:
            return _no_block(answer)
        found = answer["result"]
        marks: tuple[str, ...] = ()
        if "transactions" in found:
            entries = found["transactions"]
            held = tuple(each["transaction"]["signatures"][0] for each in entries)
            marks = tuple(each["meta"]["logMessages"][0] for each in entries)
        else:
            held = tuple(found["signatures"])
        return (("block", slot, found["blockhash"], held, marks),)

    return meaning


def _transaction(signature: str) -> Meaning:
    def meaning(answer: dict[str, Any]) -> tuple[Observation, ...]:
        if "error" in answer:
            return _no_block(answer)
        found = answer["result"]
        if found is None:
            return (("transaction", signature, None),)
        assert found["transaction"]["signatures"] == [signature], answer
        place = found["slot"], found["blockTime"]
        meta = found["meta"]
        return (
            ("transaction", signature, (*place, meta["logMessages"][0], _hashable(meta["err"]))),
        )

    return meaning


def _statuses(asked: Sequence[str]) -> Meaning:
    def meaning(answer: dict[str, Any]) -> tuple[Observation, ...]:
        result = answer["result"]
        found = tuple(each and (each["slot"], _hashable(each["err"])) for each in result["value"])
        return ("newest", result["context"]["slot"] or None), ("statuses", tuple(asked), found)

    return meaning


def _hashable(err: Any) -> str | None:
    return None if err is None else json.dumps(err)


def _blocks(bounds: tuple[int, int]) -> Meaning:
    return lambda answer: (("blocks", bounds, tuple(answer["result"])),)
