"""Worker processes that are forked: they share what was imported before, and no more."""

import os
import re
from pathlib import Path

import pytest


def test_a_worker_shares_memory_and_nothing_that_says_who_it_is() -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        pytest.skip("this test runs in no worker: run its folder, or `pytest -n 2`")
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    shared_kb = sum(
        int(size) for size in re.findall(r"^Shared_\w+: +(\d+) kB$", text, re.MULTILINE)
    )
    assert shared_kb > 30_000
    from django.conf import settings

    number = int(worker.removeprefix("gw")) + 1
    assert settings.REDIS_URL.partition("?") == (
        os.environ["TIDEMARK_TEST_REDIS"],
        "?",
        f"db={number}",
    )
    assert os.getsid(0) == os.getpid()
