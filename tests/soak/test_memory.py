"""Every process of the service under steady load: its memory settles and stays."""

import os
import statistics
import time
from collections import defaultdict

import psutil
import pytest

from tests.clients.service import Service, running_service
from tests.soak.load import Load
from tests.soak.test_chaos import localnet_of

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
SAMPLE_SECONDS = 5.0
NAMES = {
    "localnet": "localnet",
    "follow": "follower",
    "manage.py serve": "web",
    "beat": "beat",
    "--queues": "ingest",
    "celery": "worker",
    "valkey-server": "valkey",
}


def test_memory_stays_flat_under_load() -> None:
    with running_service(LOCALNET="true") as service:
        load = Load(localnet_of(service), pause_seconds=0.02)
        load.start()
        samples: defaultdict[str, list[float]] = defaultdict(list)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(SAMPLE_SECONDS)
            for name, size in sizes(service).items():
                samples[name].append(size)
        load.stop()
    growth = {}
    for name, taken in sorted(samples.items()):
        # After a third of the time caches are full; medians, because a task is a hill.
        third = len(taken) // 3
        early = statistics.median(taken[third : third + third // 2])
        late = statistics.median(taken[-third // 2 :])
        growth[name] = late / early
        print(f"\n{name}: {early:.0f} MB after a third, {late:.0f} MB at the end", end="")
    print(f"\n{load.sent} transactions sent in {SECONDS:.0f} s")
    assert {name: ratio for name, ratio in growth.items() if ratio > 1.15} == {}


def sizes(service: Service) -> dict[str, float]:
    """Megabytes of memory of their own (USS) of each kind of process."""
    found: defaultdict[str, float] = defaultdict(float)
    mark = str(service.run_dir)
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = " ".join(process.info["cmdline"] or [])
        ours = (process.info["environ"] or {}).get("TIDEMARK_RUN_DIR") == mark or mark in command
        name = next((NAMES[word] for word in NAMES if word in command), None)
        if ours and name is not None:
            try:
                found[name] += process.memory_full_info().uss / 1e6
            except psutil.Error:
                continue
    return dict(found)
