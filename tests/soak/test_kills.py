"""A service under reads while its processes are killed: whatever is answered is right."""

import itertools
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from tests.clients.service import Service, running_service
from tests.soak.test_chaos import VICTIMS, kill
from tests.soak.test_landing_chaos import call

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "90"))
READERS = 3
# A killed process is started again after a second or two, a killed database recovers first.
LONGEST_SILENCE = 30.0
KILLED = ("web", "valkey", "postgres", "worker")


def ask(service: Service, method: str, *params: object) -> object:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Authorization": service.key, "Content-Type": "application/json"}
    request = urllib.request.Request(service.url, body, headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.loads(response.read())


def test_every_answer_is_right_while_processes_are_killed(fixtures: Path) -> None:
    with running_service() as service:
        service.import_blocks(fixtures / "blocks" / "mainnet-55065000-55065099.dbin.zst")
        slots = ask(service, "getBlocks", 55065000, 55065099)["result"]
        expected = {}
        for slot in slots[:20]:
            answer = ask(service, "getBlock", slot, {"transactionDetails": "signatures"})
            signature = answer["result"]["signatures"][0]
            expected[signature] = ask(service, "getTransaction", signature)
        end = time.monotonic() + SECONDS
        counts = {"right": 0, "refused": 0, "unreached": 0, "wrong": 0}
        kills: Counter[str] = Counter()
        silence = {"longest": 0.0}

        def read(seed: int) -> None:
            chance = random.Random(seed)
            last = time.monotonic()
            while time.monotonic() < end:
                signature = chance.choice(list(expected))
                try:
                    answer = ask(service, "getTransaction", signature)
                except urllib.error.HTTPError:
                    counts["refused"] += 1
                    time.sleep(0.05)
                    continue
                except OSError:
                    counts["unreached"] += 1
                    time.sleep(0.05)
                    continue
                if "error" in answer and answer["error"]["code"] == -32603:
                    counts["refused"] += 1  # said to be our fault, and not an answer
                    continue
                now = time.monotonic()
                silence["longest"] = max(silence["longest"], now - last)
                last = now
                counts["right" if answer == expected[signature] else "wrong"] += 1

        readers = [threading.Thread(target=read, args=(seed,)) for seed in range(READERS)]
        for reader in readers:
            reader.start()
        chance, victims = random.Random(7), itertools.cycle(KILLED)
        while time.monotonic() < end - LONGEST_SILENCE / 3:
            time.sleep(chance.uniform(3, 8))
            victim = next(victims)
            if kill(service.run_dir, VICTIMS[victim], chance):
                kills[victim] += 1
        for reader in readers:
            reader.join()
        print(
            f"{counts}, kills {dict(kills)}, longest silence of a reader {silence['longest']:.1f} s"
        )
        assert counts["wrong"] == 0
        assert kills.keys() == set(KILLED)
        assert kills.total() >= SECONDS / 20
        assert counts["right"] > 100
        assert silence["longest"] < LONGEST_SILENCE
        # The web processes may have been killed a moment ago.
        assert call(service, "/historical", "getSlot") == slots[-1]
