"""What a web process has loaded before its first call."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forked_commands
from tests.databases import this_database

ROOT = Path(__file__).resolve().parent.parent.parent

_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
}
# As a worker is begun: then requests through the application, and what each of them imported.
_SERVE = """
import io, json, os, sys
import django
django.setup()
from config import web
from django.db import connections
web.serving(1)
opened = [each.alias for each in connections.all(initialized_only=True) if each.connection]
found = {}
for method, path, body in json.loads(sys.argv[1]):
    content = json.dumps(body).encode() if body else b""
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "localhost",
        "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": "text/html", "HTTP_AUTHORIZATION": sys.argv[2], "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": io.BytesIO(content), "wsgi.errors": sys.stderr, "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http", "wsgi.multithread": True, "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    before, status = set(sys.modules), []
    b"".join(web.application(environ, lambda line, *_: status.append(line)))
    name = f"{method} {path} {body.get('method', '') if body else ''}".strip()
    found[name] = [int(status[0][:3]), sorted(set(sys.modules) - before)]
print(json.dumps([opened, found]))
"""


def call(path: str, method: str, *params: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


REQUESTS = [
    call("/historical", "getSlot"),
    call("/historical", "getBlock", 5),
    call("/historical", "getTransaction", "5" * 88),
    call("/rewind", "getRewindCoverage"),
    call("/rewind", "getAccountInfo", "So11111111111111111111111111111111111111112"),
    call("/priority", "getHealth"),
    call("/priority", "sendTransaction", "AAAA"),
    call("/bundle", "getTipAccounts"),
    call("/rewind", "rpc.discover"),
]


# Other programs have no paths: what describes those is loaded with them.
_BEGIN = """
import sys
import django
django.setup()
print("\\n".join(sys.modules))
"""


def test_programs_without_paths_do_not_load_what_describes_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN],
        env={**os.environ, **_SETTINGS},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "gateway.calls" in loaded
    assert loaded.isdisjoint({"drf_spectacular.openapi", "rest_framework.views"})


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_redis")
def test_no_first_call_imports_anything(api_key: str) -> None:
    environment = {**os.environ, **_SETTINGS, "DATABASE_URL": this_database()}
    done = subprocess.run(
        [sys.executable, "-c", _SERVE, json.dumps(REQUESTS), api_key],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    opened, found = json.loads(done.stdout.splitlines()[-1])
    assert opened == [], "a worker would speak on its parent's connection"
    assert len(found) == len(REQUESTS)
    assert {name: status for name, (status, _) in found.items() if status == 500} == {}
    assert {name: modules for name, (_, modules) in found.items() if modules} == {}


def test_a_port_that_is_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = forked_commands.run(["serve", "--port", str(port)], environment=os.environ)
    assert done.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in done.stderr
