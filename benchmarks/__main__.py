"""make bench: every figure of docs/benchmarks.md, taken anew."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "platform")]

from benchmarks import engine, ledger  # noqa: E402

engine.main()
ledger.main()
