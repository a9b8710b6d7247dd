"""make bench: every figure of docs/benchmarks.md but the soaks', taken anew.

Alone it runs every part; `ONLY=accept,replay` runs some. `BASELINE=<folder of another checkout>`
compares that with this one (benchmarks/versions.py), `PEER=http://…` the reads of any Solana RPC
with ours (benchmarks/peer.py). A part that fails is named in the end, and the others run.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "platform")]

from benchmarks import machine  # noqa: E402

# Short ones first.
PARTS = (
    "engine",
    "endpoint",
    "tpu",
    "ledger",
    "archive",
    "accept",
    "tip_fetches",
    "replay",
    "past_cpu",
    "nonces",
    "baselines",
    "proof",
    "proof_beside",
    "sealing_codec",
    "sealing",
    "ledger_sealing",
    "sealing_day",
    "bundles",
    "landing",
    "slots_to_land",
    "overload",
    "open_streams",
    "subscriptions",
    "program_stream",
    "past_programs",
    "yellowstone",
    "cuckoo",
    "live_feed",
    "ingest",
    "admin_pages",
    "attacks",
    "rewind_reads",
    "remote_history",
    "footprint",
    "versions",
)


def main() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), sys.path[0]])}
    if os.environ.get("PEER"):
        parts: tuple[str, ...] = ("peer",)
    elif os.environ.get("BASELINE"):
        parts = ("versions",)  # ONLY names tables of it
    else:
        parts = _chosen(environment.pop("ONLY", ""))
    failed = [part for part in parts if not _run(part, environment)]
    if failed:
        print(f"\nFAILED: {', '.join(failed)}", file=sys.stderr)
        sys.exit(1)


def _chosen(names: str) -> tuple[str, ...]:
    asked = [each for each in names.split(",") if each]
    unknown = [each for each in asked if each not in PARTS]
    if unknown:
        raise SystemExit(f"ONLY={','.join(unknown)}: expected some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if not asked or part in asked)


def _run(part: str, environment: dict[str, str]) -> bool:
    """In a process of its own: Django reads its settings, and with them the database, once."""
    print(
        f"\n=== {part}\n{machine.describe()}\nload average {machine.load():.2f} before", flush=True
    )
    began = time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.{part}"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    outcome = "" if ended.returncode == 0 else f"; FAILED with {ended.returncode}"
    took = time.monotonic() - began
    print(f"load average {machine.load():.2f} after {took:,.0f} s{outcome}", flush=True)
    return ended.returncode == 0


if __name__ == "__main__":
    main()
