"""localnet on a small disk that gets full: it stands still, and goes on when there is room."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked_commands
from tests.localnet_process import Localnet, new_localnet

_MIB = 1 << 20

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")


@pytest.fixture
def localnet() -> Iterator[Localnet]:
    """One whose chain is on a disk of its own, of 64 MiB."""
    with new_localnet(LOCALNET_SLOT_MS=20) as localnet:
        disk = localnet.run_dir / "localnet"
        disk.mkdir(parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("this machine mounts no disks")
        try:
            yield localnet
        finally:
            if localnet.process is not None and localnet.process.poll() is None:
                localnet.kill()
            subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Leaves less than a chain needs. In pieces: the chain goes on meanwhile, and takes room."""
    with (disk / "ballast").open("ab") as ballast:
        while (more := shutil.disk_usage(disk).free - 3 * _MIB) > 0:
            ballast.write(bytes(min(more, _MIB)))
            ballast.flush()


def test_the_chain_stands_still_on_a_full_disk_and_goes_on(localnet: Localnet) -> None:
    def stands_still(times: int) -> None:
        words = "is full: the chain stands still"
        localnet.wait(lambda: localnet.output.count(words) == times, "waiting for room")

    disk = localnet.run_dir / "localnet"
    localnet.start()
    localnet.wait_for_slot(5)
    fill(disk)
    stands_still(1)
    stood = localnet.call("getSlot", {"commitment": "processed"})
    assert localnet.call("getHealth") == "ok"
    localnet.kill()
    with (localnet.run_dir / "localnet.log").open("ab") as output:
        localnet.process = forked_commands.start(
            ["localnet"], environment=localnet.environment, output=output.fileno()
        )
    stands_still(2)
    (disk / "ballast").unlink()
    localnet.wait(lambda: "the chain goes on" in localnet.output, "going on")
    localnet.wait(localnet._healthy, "healthy")
    assert localnet.wait_for_slot(stood + 10) > stood
    fill(disk)
    stands_still(3)
    assert localnet.stop() == 0
    assert "Traceback" not in localnet.output
