"""Moves segments to the store of its environment, in processes that are killed.

For each line of its input, a JSON object, it forks a process that moves all there is. That is
killed before or after the `nth` call of a `step`, or after `seconds`. One word is the answer:
killed, done or failed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
# Everything that a step of moving does, in order.
STEPS = ("name", "_write", "put", "_compare", "change_over", "finish", "delete", "forget_objects")

Move = Callable[..., str]


@contextmanager
def mover(database_url: str, folder: Path) -> Iterator[Move]:
    """A call has one process move, and says how that ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.rewind.moving_process"],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
            "DATABASE_URL": database_url,
            "ARCHIVE_STORE": f"file://{folder}",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    source, sink = process.stdout, process.stdin

    def move(**order: Any) -> str:
        sink.write(json.dumps(order) + "\n")
        sink.flush()
        return source.readline().strip()

    try:
        yield move
    finally:
        sink.close()
        process.wait()
        source.close()


def _main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from rewind.sealed.services import moving as _moving  # noqa: F401  (loaded once, for all forks)

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _move(order)
        if "seconds" in order:
            time.sleep(order["seconds"])
            os.kill(child, signal.SIGKILL)  # it is not waited for yet: its number is its own
        status = os.waitpid(child, 0)[1]
        outcomes = {0: "done", signal.SIGKILL: "killed"}
        print(outcomes.get(status, "failed"), flush=True)


def _move(order: dict[str, Any]) -> None:
    from rewind.sealed.services.moving import Policy, move_step
    from tests.rewind.conftest import NOW

    status = 1
    try:
        if "step" in order:
            _kill_at(order["step"], order["when"], order["nth"])
        while move_step(Policy(after=-1_000_000), now=NOW + timedelta(days=order.get("days", 0))):
            pass
        status = 0
    finally:
        os._exit(status)


def _kill_at(step: str, when: str, nth: int) -> None:
    from rewind.sealed.services import moving as service
    from rewind.sealed.store import moving
    from upstream.object_store import ObjectStore

    homes: dict[str, Any] = {"put": ObjectStore, "delete": ObjectStore}
    home = homes.get(step, service if step.startswith("_") else moving)
    real, calls = getattr(home, step), 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments)
        if calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(home, step, counted)


if __name__ == "__main__":
    _main()
