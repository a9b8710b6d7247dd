"""The package by itself: the README's application, without the rest of this repository, and clients
of other people.
"""

import ast
import contextlib
import http.client
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.patience import PATIENCE_SECONDS

PACKAGE = Path(__file__).resolve().parent.parent.parent / "platform" / "webserver"
FOREIGN = {"httptools", "uvloop", "websockets", "webserver"}

# A WebSocket that returns each message, and everything else at once, without a thread.
ECHO = """
import asyncio
import sys
import time

from webserver.handshakes import HandshakeRefused, require_handshake
from webserver.master import listen
from webserver.paced_input import Share
from webserver.responses import Response
from webserver.websocket import WebSocket
from webserver.worker import Worker, run_worker


class Echo(WebSocket):
    def _take(self, message, *, is_text):
        self._send(message, is_text=is_text)


def at_once(request, connection):
    if request.path == "/missing":
        return None
    try:
        require_handshake(request.environ(("", 0), ("", 0)))
    except HandshakeRefused as refused:
        return Response(400, (), [str(refused).encode()])
    return Response(101, (), upgrade=lambda channel: Echo(channel, Share(time.monotonic())))


sockets = listen("127.0.0.1", 0)
print(sockets[0].getsockname()[1], flush=True)
run_worker(Worker(on_loop=at_once), sockets)
"""


@contextlib.contextmanager
def running(folder: Path, script: str) -> Iterator[int]:
    """The port of the script, which finds the package alone and what is installed."""
    shutil.copytree(PACKAGE, folder / "webserver", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "script.py").write_text(script)
    # The environment and the folders of this repository lead to nothing: they are removed.
    code = (
        "import os, runpy, sys;"
        "sys.path[:] = [each for each in sys.path if not os.path.isdir(f'{each}/webserver')"
        " and not os.path.isfile(f'{each}/manage.py')];"
        f"sys.path.insert(0, {str(folder)!r}); sys.argv[1:] = ['0'];"
        "runpy.run_path('script.py', run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def readme_script() -> str:
    found = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S)
    assert found is not None
    return found[1]


def imported(folder: Path) -> set[str]:
    """The modules that files of the folder import."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
    return found


def test_it_imports_nothing_of_ours() -> None:
    roots = {name.partition(".")[0] for name in imported(PACKAGE)}
    assert roots - sys.stdlib_module_names == FOREIGN


def test_its_tests_take_two_numbers_from_other_tests() -> None:
    names = imported(Path(__file__).parent)
    of_tests = {name for name in names if name.partition(".")[0] == "tests"}
    assert {each for each in of_tests if not each.startswith("tests.webserver.")} == {
        "tests.examples",
        "tests.patience",
    }


def test_the_application_of_the_readme_is_served(tmp_path: Path) -> None:
    with running(tmp_path, readme_script()) as port:
        base = f"http://127.0.0.1:{port}"
        with requests.Session() as client:  # a kept connection
            for path in ("/", "/a%20b"):
                reply = client.get(base + path)
                assert reply.status_code == 200
                assert reply.text == f"Hello from {path.replace('%20', ' ')}\n"
            sent = client.post(f"{base}/chunked", data=iter([b"a" * 10, b"b" * 10]))
            assert sent.text == "Hello from /chunked\n"
            assert client.post(f"{base}/large", data=bytes(1_000_000)).status_code == 413
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("HEAD", "/")
        found = connection.getresponse()
        assert (found.status, found.read()) == (200, b"")
        connection.close()


def test_a_websocket_without_an_application(tmp_path: Path) -> None:
    with running(tmp_path, ECHO) as port:
        with connect(f"ws://127.0.0.1:{port}/") as socket:
            for message in ("text", b"bytes", "x" * 60_000):
                socket.send(message)
                assert socket.recv() == message
        wrong = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "12"}
        wrong["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        refused = requests.get(f"http://127.0.0.1:{port}/", headers=wrong, timeout=PATIENCE_SECONDS)
        assert (refused.status_code, refused.text) == (
            400,
            "not a WebSocket handshake: Sec-WebSocket-Version",
        )
        # What is not answered at once is the application's, and there is none.
        with pytest.raises(InvalidStatus) as found, connect(f"ws://127.0.0.1:{port}/missing"):
            pass
        assert found.value.response.status_code == 404
