"""Two fresh trees on one machine, each with `make run` on default ports: two whole services."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.soak

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = {"WEB_WORKERS": "1", "WORKER_PROCESSES": "1"}


class Tree:
    """A fresh checkout, and the runs that were started in it; `ports` are those that a refused
    start showed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.output = folder, folder / "output"
        self.ports: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def make_run(self) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                ["make", "run"],
                cwd=self.folder,
                env={**kept, **SMALL, **self.ports},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def comes_up(self) -> bool:
        """False if it ended, and said which ports to choose. Those are the next start's."""
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "Tidemark listens" not in (text := self.output.read_text()):
            assert time.monotonic() < deadline, text
            if self.process.poll() is not None:
                shown = re.search(r"choose another: ([A-Z_0-9= ]+) make run", text)
                assert shown is not None, text
                self.ports |= dict(each.split("=") for each in shown[1].split())
                return False
            time.sleep(0.1)
        return True

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_SECONDS) in (0, 2, -signal.SIGTERM)
        assert not self.processes()

    def processes(self) -> list[psutil.Process]:
        """Everything that runs on its run directory."""
        found, run_dir = [], str(self.folder / ".run")
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get("TIDEMARK_RUN_DIR") == run_dir
                if ours or process.cwd().startswith(run_dir):
                    found.append(process)
        return found

    def call(self, url: str, method: str, *params: Any) -> Any:
        key = json.loads((self.folder / ".run" / "credentials.json").read_text())
        headers = {"Authorization": key["api_keys"]["epic"], "Content-Type": "application/json"}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer).get("result")

    def ledger(self, method: str, *params: Any) -> Any:
        port = self.ports.get("PORT", "8000")
        return self.call(f"http://127.0.0.1:{port}/historical", method, *params)

    def localnet(self, method: str, *params: Any) -> Any:
        port = self.ports.get("LOCALNET_RPC_PORT", "8899")
        return self.call(f"http://127.0.0.1:{port}", method, *params)

    def stores_its_chain(self) -> str:
        """The hash of a block that it stores from now on, which is its own localnet's."""
        slot = self.ledger("getSlot") or 0
        until(lambda: (self.ledger("getSlot") or 0) > slot + 5)
        for number in range(slot + 1, slot + 6):
            found = self.ledger("getBlock", number, {"transactionDetails": "none"})
            if found is not None:
                mine = self.localnet("getBlock", number, {"transactionDetails": "none"})
                assert found["blockhash"] == mine["blockhash"]
                return str(found["blockhash"])
        raise AssertionError(f"no block of the slots after {slot}")


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture
def trees() -> Iterator[tuple[Tree, Tree]]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-trees-"))
    made = Tree(folder / "one"), Tree(folder / "two")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for tree in made:
        for name in names.strip("\0").split("\0"):
            if (ROOT / name).exists():
                (tree.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree.folder / name)
        # Packages are the same, and the tree's code comes before them.
        (tree.folder / ".venv").symlink_to(ROOT / ".venv")
    yield made
    for tree in made:
        if tree.process is not None and tree.process.poll() is None:
            tree.process.terminate()
            tree.process.wait(PATIENCE_SECONDS)
    shutil.rmtree(folder)


def test_both_come_up_store_their_own_chains_and_stop_alone(trees: tuple[Tree, Tree]) -> None:
    one, two = trees
    one.make_run()
    if not one.comes_up():  # default ports are another installation's already
        one.make_run()
        assert one.comes_up()
    two.make_run()
    assert not two.comes_up(), "on the first one's ports"
    two.make_run()
    assert two.comes_up(), "by the command that was shown"
    assert one.localnet("getGenesisHash") != two.localnet("getGenesisHash")
    assert one.stores_its_chain() != two.stores_its_chain()

    one.stop()
    two.stores_its_chain()
    one.make_run()
    assert one.comes_up(), "its ports are free again"
    two.stop()
    one.stores_its_chain()
    one.stop()


def test_of_two_that_start_at_once_one_has_the_ports(trees: tuple[Tree, Tree]) -> None:
    for tree in trees:
        tree.make_run()
    up = [tree.comes_up() for tree in trees]
    assert any(up)
    for tree, is_up in zip(trees, up, strict=True):
        if not is_up:
            tree.make_run()
            assert tree.comes_up()
    assert trees[0].localnet("getGenesisHash") != trees[1].localnet("getGenesisHash")
    assert trees[0].stores_its_chain() != trees[1].stores_its_chain()
