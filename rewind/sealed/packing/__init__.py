"""Packed blocks of sealed account changes: pure values, no Django, no SQL."""

import os

# Read by numpy's linear algebra when numpy is imported: it starts a thread per core otherwise,
# and sealing uses none of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
