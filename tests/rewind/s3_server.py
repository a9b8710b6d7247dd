"""A server that speaks S3 (moto's), in a process of its own, and a proxy before it that fails."""

import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from config.environment.store_env import StoreOptions
from tests.patience import PATIENCE_SECONDS

KEY, SECRET = "an-access-key", "a-very-secret-key"
_SERVE = (
    "import logging; logging.getLogger('werkzeug').setLevel(logging.ERROR);"
    "from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app;"
    "from werkzeug.serving import make_server;"
    "server = make_server('127.0.0.1', 0, DomainDispatcherApplication(create_backend_app),"
    " threaded=True);"
    "print(server.server_port, flush=True); server.serve_forever()"
)


@contextmanager
def s3_server(bucket: str) -> Iterator[int]:
    """Its port, chosen by the system, with an empty bucket."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        make = urllib.request.Request(f"http://127.0.0.1:{port}/{bucket}", method="PUT")
        with urllib.request.urlopen(make, timeout=PATIENCE_SECONDS):
            pass
        yield port
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def options(port: int, **changed: str) -> StoreOptions:
    """ARCHIVE_STORE_OPTIONS of the server."""
    return StoreOptions(
        endpoint=f"http://127.0.0.1:{port}",
        region="us-east-1",
        access_key_id=KEY,
        secret_access_key=SECRET,
        allow_http="true",
        **changed,
    )


@dataclass
class Proxy:
    """`fault` is what happens to requests: `refused`, `hang` (until `release` is set), `500`,
    `403`, `truncated`, `flipped` (a bit of the content); empty: none. It happens to so many
    requests, or to all. `authorization` is the header of the last request.
    """

    target: int
    port: int = 0
    fault: str = ""
    requests: int = 0
    times: int | None = None
    authorization: str = ""
    release: threading.Event = field(default_factory=threading.Event)

    def next_fault(self) -> str:
        if self.times is None or not self.fault:
            return self.fault
        self.times -= 1
        return self.fault if self.times >= 0 else ""


@contextmanager
def proxy_of(target: int) -> Iterator[Proxy]:
    proxy = Proxy(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_arguments: Any) -> None:
            pass

        def _any(self) -> None:
            with suppress(OSError, HTTPException):
                _pass_on(proxy, self)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    proxy.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.release.set()
        listening.shutdown()
        listening.server_close()
        thread.join()


def _pass_on(proxy: Proxy, handler: BaseHTTPRequestHandler) -> None:
    proxy.requests += 1
    proxy.authorization = handler.headers.get("Authorization", "")
    body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    fault = proxy.next_fault()
    if fault == "hang":
        proxy.release.wait()
    if fault in ("hang", "refused"):
        handler.close_connection = True
        handler.connection.close()
        return
    if fault in ("500", "403"):
        text = b"<Error><Code>Injected</Code><Message>a-very-secret-key</Message></Error>"
        _send(handler, int(fault), text, {})
        return
    server = HTTPConnection("127.0.0.1", proxy.target, timeout=PATIENCE_SECONDS)
    try:
        headers = {name: value for name, value in handler.headers.items() if name != "Connection"}
        server.request(handler.command, handler.path, body, headers)
        answer = server.getresponse()
        content = answer.read()
        headers = dict(answer.getheaders())
    finally:
        server.close()
    if content and handler.command == "GET" and answer.status == 206:
        if fault == "flipped":
            middle = len(content) // 2
            content = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        if fault == "truncated":
            handler.close_connection = True
            headers["Content-Length"] = str(len(content))
            content = content[: len(content) // 2]
    _send(handler, answer.status, content, headers)


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]
) -> None:
    handler.send_response_only(status)
    sent = {name.lower(): value for name, value in headers.items()}
    for dropped in ("connection", "transfer-encoding"):
        sent.pop(dropped, None)
    sent.setdefault("content-length", str(len(body)))
    for name, value in sent.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
