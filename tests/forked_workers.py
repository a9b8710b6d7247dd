"""The worker processes of the tests, forked from one that has collected the tests already.

They share its memory, and what it has imported: each would take 200 MB and four seconds of CPU.
"""

import io
import os
import shlex
import socket
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "TIDEMARK_TEST_WORKERS"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests import forked_commands  # noqa: E402


def interpreter() -> str:
    """The command that execnet runs instead of Python. It adds `-c` and the worker's first line."""
    return shlex.join([sys.executable, __file__])


def prepare(arguments: Sequence[str]) -> None:
    """Has the tests collected that pytest finds here with these arguments."""
    forked_commands.start_server("tests.forked_workers", ADDRESS, str(Path.cwd()), *arguments)


def _collect(folder: str, *arguments: str) -> None:
    import pytest

    os.chdir(folder)
    os.environ["PYTEST_XDIST_WORKER"] = "gw0"
    forked_commands.load()
    with redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *arguments])


def _be_worker(arguments: Sequence[str]) -> None:
    folder, *_, code = arguments
    os.chdir(folder)
    # When it is imported, it reads which worker this is.
    del sys.modules["tests.conftest"]
    main = sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = ["-c"]
    sys.stdin = os.fdopen(0, closefd=False)
    exec(code, main.__dict__)


def _main() -> None:
    if "-c" in sys.argv:
        server = forked_commands.connected(ADDRESS)  # while it is open, the worker lives
        asked = [str(Path.cwd()), *sys.argv[1:]]
        worker = forked_commands.ask(server, asked, os.environ, [0, 1, 2])
        for each in range(3):
            os.close(each)
        sys.exit(worker.wait())
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        _collect(*sys.argv[2:])
        forked_commands.serve(listener, _be_worker)


if __name__ == "__main__":
    _main()
