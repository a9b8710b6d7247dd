"""Slots from a submission's acceptance to its block, by the whole service on localnet.

`--slot-ms 2000` and a fifth of the rate show on a busy machine what a quiet one does: as many
transactions a slot, with five times as long for each.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks.landing_service import (  # noqa: E402
    Landing,
    landing_service,
    processor_seconds,
    read_json,
    refusal,
    signature_of,
)
from benchmarks.machine import load  # noqa: E402
from benchmarks.open_load import send  # noqa: E402

RATES, SECONDS, CONNECTIONS = (10, 100, 300), 10, 32


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", default=",".join(map(str, RATES)))
    options.add_argument("--seconds", type=int, default=SECONDS)
    options.add_argument("--slot-ms", type=int, default=400)
    chosen = options.parse_args()
    with landing_service(slot_ms=chosen.slot_ms) as landing:
        for rate in map(int, chosen.rates.split(",")):
            _measure(landing, rate, chosen.seconds)


def _measure(landing: Landing, rate: int, seconds: int) -> None:
    service = landing.service
    payments, latest = landing.payments(), landing.latest_blockhash()
    made = [payments.wire(latest, number) for number in range(rate * seconds)]
    requests = [landing.request(each) for each in made]
    accepted: list[str] = []
    refused: Counter[str] = Counter()

    def answered(number: int, answer: bytes) -> None:
        reason = refusal(answer)
        if reason:
            refused[reason] += 1
        else:
            accepted.append(signature_of(made[number]))

    before = processor_seconds()
    taken = send(
        (service.host, service.port),
        requests,
        rate=rate,
        connections=CONNECTIONS,
        answered=answered,
        longest=30.0,
    )
    time.sleep(5)
    used = {role: now - before[role] for role, now in processor_seconds().items()}
    time.sleep(5)
    fates = [
        read_json(f"{service.base_url}/priority/fate/{each}", service.key) for each in accepted
    ]
    slots = Counter(
        fate["slot"] - fate["acceptedSlot"] for fate in fates if fate["slot"] is not None
    )
    soon = sum(count for passed, count in slots.items() if passed <= 1)
    print(
        f"{rate} a second: accepted p50 {taken.p50 * 1e3:.1f} ms, p99 {taken.p99 * 1e3:.1f};"
        f" refused {dict(refused) or 'none'}; {dict(Counter(fate['state'] for fate in fates))};"
        f" same or next slot {soon / max(1, len(fates)):.0%}, latest {max(slots, default=0)};"
        f" load {load():.1f}"
    )
    per = {role: f"{used_by * 1e3 / len(made):.2f}" for role, used_by in used.items()}
    print(f"  ms of CPU a transaction: {per}", flush=True)


if __name__ == "__main__":
    main()
