"""Run directories of earlier servers, for tests that assert nothing of a first start."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.servers import hold_run_dir, start_servers, stop_servers


@pytest.fixture(scope="module")
def _stopped() -> Iterator[Path]:
    """The run directory of servers that were started once and stopped."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-stopped-"))
    with hold_run_dir(folder / "run"):
        stop_servers(start_servers(folder / "run", durable=False))
    yield folder / "run"
    shutil.rmtree(folder)


@pytest.fixture
def used_run_dir(_stopped: Path) -> Iterator[Path]:
    """A copy of it: making a database takes six times the CPU of a start."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-used-"))
    # Its files belong to the account of the server.
    subprocess.run(["cp", "-a", _stopped, folder / "run"], check=True)
    yield folder / "run"
    shutil.rmtree(folder)
