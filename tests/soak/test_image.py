"""The image that `make image` builds: its size, its account, and the whole service run from it."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS

BUILDAH = shutil.which("buildah")
MOST_BYTES = 600_000_000
NAMES = ("PORT", "LOCALNET_RPC_PORT", "LOCALNET_GEYSER_PORT", "LOCALNET_TPU_PORT")

pytestmark = pytest.mark.soak
needs_image = pytest.mark.skipif(
    BUILDAH is None or "TIDEMARK_TEST_IMAGE" not in os.environ,
    reason="needs buildah, and an image of `make image` that TIDEMARK_TEST_IMAGE names",
)


def buildah(*arguments: str) -> str:
    found = subprocess.run(
        [str(BUILDAH), *arguments], capture_output=True, text=True, check=False, timeout=600
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.fixture
def container() -> Iterator[str]:
    name = buildah("from", "--pull-never", os.environ["TIDEMARK_TEST_IMAGE"])
    yield name
    buildah("rm", name)


@needs_image
def test_the_image_is_small_and_has_no_tests(container: str) -> None:
    root = Path(buildah("mount", container))
    folder = root / "opt" / "tidemark"
    try:
        # Each file once, however many names it has.
        sizes = {
            (found.st_dev, found.st_ino): found.st_blocks * 512
            for each in root.rglob("*")
            for found in [each.lstat()]
        }
        assert sum(sizes.values()) < MOST_BYTES
        assert (folder / "platform").is_dir()
        for name in ("tests", "benchmarks", ".git", ".run"):
            assert not (folder / name).exists()
        assert not list((folder / ".venv").rglob("pytest"))
    finally:
        buildah("umount", container)


@needs_image
def test_a_process_of_it_has_no_privileges(container: str) -> None:
    said = buildah("run", "--isolation", "chroot", container, "--", "id", "-u")
    assert said == "10001"


@needs_image
def test_the_whole_service_runs_from_it(container: str, tmp_path: Path) -> None:
    ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
    options = [each for name, port in ports.items() for each in ("--env", f"{name}={port}")]
    command = ["--env", "WEBSOCKET_NEXT_PORT=false", container, "--", "python", "manage.py", "run"]
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(BUILDAH), "run", "--isolation", "chroot", *options, *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wanted = f"http://127.0.0.1:{ports['PORT']}/readyz"
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with urllib.request.urlopen(wanted, timeout=5) as answer:
                    assert json.load(answer)["status"] == "ok"
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.5)
    finally:
        os.killpg(process.pid, 15)
        process.wait(60)
