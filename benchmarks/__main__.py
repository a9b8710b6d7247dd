"""make bench: every figure of docs/benchmarks.md, taken anew."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "platform")]

from benchmarks import engine, ledger  # noqa: E402

engine.main()
ledger.main()
# Processes of their own: Django reads its settings, and with them the database, once.
MODULES = (
    *("archive", "ingest", "rewind_reads", "replay", "bundles"),
    *("accept", "tip_fetches", "tpu", "landing", "slots_to_land", "admin_pages"),
    *("versions", "passing_on", "endpoint", "open_streams", "footprint"),
)
for module in MODULES:
    command = [sys.executable, "-m", f"benchmarks.{module}"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": sys.path[0]}, check=True)
