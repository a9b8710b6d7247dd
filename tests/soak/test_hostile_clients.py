"""Thousands of connections that never send a whole request, and honest callers beside them.

SOAK_HOSTILE_MINUTES (5) and SOAK_HOSTILE_CONNECTIONS (3000) say how long, and how many.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.clients.service import Service, running_service
from tests.clients.sources import MADE, made_block

pytestmark = pytest.mark.soak
_ATTACKERS = Path(__file__).with_name("attackers.py")
_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getSlot"})
_HONEST = 8
# Quiet and under attack by turns, so that what else the machine does falls on both.
_ROUNDS = 5
_GROWTH = 100 * 1_048_576


def test_clients_that_never_finish_slow_down_nobody(tmp_path: Path) -> None:
    seconds = float(os.environ.get("SOAK_HOSTILE_MINUTES", "5")) * 60
    count = int(os.environ.get("SOAK_HOSTILE_CONNECTIONS", "3000"))
    quiet: list[float] = []
    attacked: list[float] = []
    with running_service(WEB_WORKERS="2") as service:
        block = tmp_path / f"{MADE}.json"
        block.write_text(json.dumps(made_block()))
        service.import_blocks(block)
        key = service.keys["epic"]
        _measure(service, key, 3)  # the threads are there, the caches are warm
        before = _memory(service)
        highest = before
        for _ in range(_ROUNDS):
            quiet += _measure(service, key, max(5.0, seconds / 10))
            with attackers(service, count) as held:
                attacked += _measure(service, key, seconds / _ROUNDS)
                highest = max(highest, _memory(service))
            assert held[0] >= count / 2, f"the attack held {held[0]} connections"
        after = _settled(service, before + _GROWTH // 2)
    found = {
        "quiet ms": _figures(quiet),
        "attacked ms": _figures(attacked),
        "calls": [len(quiet), len(attacked)],
        "web memory MB": [round(each / 1_048_576) for each in (before, highest, after)],
    }
    print(json.dumps(found))
    assert found["attacked ms"][0] <= 1.3 * found["quiet ms"][0], found
    assert found["attacked ms"][1] <= 2 * found["quiet ms"][1], found
    assert highest - before < _GROWTH, found
    assert after - before < _GROWTH // 2, found


@contextmanager
def attackers(service: Service, count: int) -> Iterator[list[int]]:
    """So many hostile connections, from a process of their own; how many it held last, at the
    end.
    """
    held = [0]
    process = subprocess.Popen(
        [sys.executable, str(_ATTACKERS), str(service.port), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield held
        output, _ = process.communicate("\n", timeout=60)
        held[0] = json.loads(output)["held"]
        print(output.strip())
    finally:
        process.kill()
        process.wait()


def _measure(service: Service, key: str, seconds: float) -> list[float]:
    """Milliseconds of each call of the honest clients, each on a connection that it keeps."""
    found: list[float] = []
    wrong: list[object] = []
    until = time.monotonic() + seconds

    def call() -> None:
        connection = http.client.HTTPConnection(service.host, service.port, timeout=30)
        headers = {"Authorization": key, "Content-Type": "application/json"}
        try:
            while time.monotonic() < until:
                began = time.perf_counter()
                connection.request("POST", "/historical", _CALL, headers)
                response = connection.getresponse()
                body = response.read()
                found.append((time.perf_counter() - began) * 1_000)
                if response.status != 200 or "result" not in json.loads(body):
                    wrong.append((response.status, body))
                time.sleep(0.02)
        except (OSError, http.client.HTTPException) as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=call) for _ in range(_HONEST)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
    return found


def _figures(milliseconds: list[float]) -> list[float]:
    """p50, p99."""
    hundredths = statistics.quantiles(milliseconds, n=100)
    return [round(hundredths[49], 2), round(hundredths[98], 2)]


def _memory(service: Service) -> int:
    """Bytes of the web processes, what they share counted once."""
    total = 0
    for process in psutil.process_iter(["cmdline", "environ"]):
        found = process.info
        if "serve" in (found["cmdline"] or ()) and (found["environ"] or {}).get("PORT") == str(
            service.port
        ):
            total += process.memory_full_info().pss
    assert total
    return total


def _settled(service: Service, most: int) -> int:
    """What is held once the connections are gone; waits a minute for it to fall."""
    until = time.monotonic() + 60
    while (found := _memory(service)) > most and time.monotonic() < until:
        time.sleep(1)
    return found
