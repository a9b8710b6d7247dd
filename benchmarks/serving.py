"""Reads through the whole stack, as ratios to a bare WSGI app that returns the same bytes."""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.service import bare_request, new_key, rpc_request, served

_ROUNDS = 5
_SECONDS = 2.0


Calls = dict[str, list[tuple[str, Sequence[Any]]]]


def measure(calls: Calls, **environment: str) -> dict[str, dict[str, float]]:
    """Label → figures, for each named list of calls on one and on eight connections. The service
    and the floor take turns, so that both meet the same neighbours; ratios are medians over the
    rounds. The environment is the service's.
    """
    key = new_key()
    results: dict[str, dict[str, float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        served("config.wsgi:application", environment=environment) as ours,
    ):
        requests: dict[str, tuple[list[bytes], list[bytes]]] = {}
        number = 0
        for name, named in calls.items():
            mine = [rpc_request(key, method, params) for method, params in named]
            floor = []
            for request in mine:
                answer = load.exchange(ours, request)
                assert b'"error"' not in answer[:60], answer[:300]
                Path(folder, f"{number:06}.answer").write_bytes(answer)
                floor.append(bare_request(number, request))
                number += 1
            requests[name] = (mine, floor)
        with served("benchmarks.bare:application", environment={"BARE_ANSWERS": folder}) as bare:
            for name, (mine, floor) in requests.items():
                for connections in (1, 8):
                    label = f"{name}, {connections} connection{'s' * (connections > 1)}"
                    results[label] = _turns(ours, mine, bare, floor, connections)
                    print(f"{label}: {_line(results[label])}", flush=True)
    return results


def _turns(
    ours: tuple[str, int],
    mine: list[bytes],
    bare: tuple[str, int],
    floor: list[bytes],
    connections: int,
) -> dict[str, float]:
    load.run(ours, mine, connections=connections, seconds=0.5)
    load.run(bare, floor, connections=connections, seconds=0.5)
    ratios, latency_ratios, figures, floors = [], [], [], []
    for _ in range(_ROUNDS):
        figure = load.run(ours, mine, connections=connections, seconds=_SECONDS)
        lowest = load.run(bare, floor, connections=connections, seconds=_SECONDS)
        ratios.append(figure.rate / lowest.rate)
        latency_ratios.append(figure.p50 / lowest.p50)
        figures.append(figure)
        floors.append(lowest)
    return {
        "ratio": statistics.median(ratios),
        "p50 ratio": statistics.median(latency_ratios),
        "rate": statistics.median(each.rate for each in figures),
        "p50 ms": statistics.median(each.p50 for each in figures) * 1e3,
        "p99 ms": statistics.median(each.p99 for each in figures) * 1e3,
        "bare rate": statistics.median(each.rate for each in floors),
        "bare p50 ms": statistics.median(each.p50 for each in floors) * 1e3,
        "bare p99 ms": statistics.median(each.p99 for each in floors) * 1e3,
    }


def _line(figures: dict[str, float]) -> str:
    return (
        f"{figures['rate']:,.0f}/s p50 {figures['p50 ms']:.3f} ms p99 {figures['p99 ms']:.3f} ms;"
        f" bare {figures['bare rate']:,.0f}/s p50 {figures['bare p50 ms']:.3f} ms"
        f" p99 {figures['bare p99 ms']:.3f} ms; ratio {figures['ratio']:.2f}"
    )
