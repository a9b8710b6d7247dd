"""A small HTTP server of a folder, with ranges, which can be told to fail."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class RangeServer:
    """`faults` maps a part of a path to what happens to requests for it: `404`, `500`, `hang`
    (until `release` is set), `short`, `broken off`, `redirect`, `no ranges`. Each request waits for
    `delay` seconds; `sent` counts bytes of content.
    """

    folder: Path
    faults: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    hanging: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    delay: float = 0.0
    sent: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/files"

    def fault_of(self, path: str) -> str:
        return next((fault for part, fault in self.faults.items() if part in path), "")


@contextmanager
def serving(folder: Path) -> Iterator[RangeServer]:
    server = RangeServer(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            with suppress(ConnectionError):  # the client gave up
                _answer(server, self)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        listening.shutdown()
        listening.server_close()
        thread.join()


def _answer(server: RangeServer, handler: BaseHTTPRequestHandler) -> None:
    asked = handler.headers.get("Range", "")
    server.requests.append((handler.path, asked))
    fault = server.fault_of(handler.path)
    time.sleep(server.delay)
    if fault == "redirect" and handler.path.startswith("/files"):
        moved = handler.path.replace("/files", "/moved", 1)
        _send(handler, 302, b"", {"Location": moved})
        return
    if fault == "hang":
        server.hanging.set()
        server.release.wait()
    path = server.folder / handler.path.split("/", 2)[2]
    if fault in ("404", "500") or not path.is_file():
        _send(handler, 500 if fault == "500" else 404, b"", {})
        return
    size = path.stat().st_size
    if not asked or fault == "no ranges":
        server.sent += size
        _send(handler, 200, path.read_bytes(), {})
        return
    first, _, last = asked.removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last), size - 1)
    if start >= size:
        _send(handler, 416, b"", {"Content-Range": f"bytes */{size}"})
        return
    with path.open("rb") as file:
        file.seek(start)
        part = file.read(end + 1 - start)
    server.sent += len(part)
    headers = {"Content-Range": f"bytes {start}-{end}/{size}"}
    if fault == "broken off":
        headers["Content-Length"] = str(len(part))
        part = part[: len(part) // 2]
        handler.close_connection = True
    elif fault == "short":
        part = part[: len(part) // 2]
    _send(handler, 206, part, headers)


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]
) -> None:
    handler.send_response(status)
    # The last two are what clients of an object store expect.
    common = {
        "Content-Length": str(len(body)),
        "Last-Modified": "Tue, 01 Sep 2026 00:00:00 GMT",
        "ETag": '"1"',
    }
    for name, value in {**common, **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
