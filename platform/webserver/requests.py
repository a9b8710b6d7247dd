"""A complete request, and its WSGI environment."""

import io
import re
import sys
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from webserver.paced_input import Share

# WSGI's own names for headers, by the bytes that clients send. Names are clients' to invent: what
# is above the maximum is translated each time.
_MOST_NAMES = 1_000
_names: dict[bytes, str | None] = {}
_JOINED_BY_SEMICOLON = "HTTP_COOKIE"

_COMMON: dict[str, Any] = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.url_scheme": "http",
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}

# Keys of the environment beside WSGI's own. An application may put a coroutine function under
# CONTINUE: it is called with a Stream on the event loop once the head has been sent. One that it
# puts under LATER is called on the loop in place of its response, and returns the Response to send.
# What it puts under SENT is called, on the loop, when the response has left this process or never
# will. Where its status is 101, a function under UPGRADE makes the connection's handler from then
# on (webserver.upgrades). Under WORKER it finds the Worker that serves it, under READ what it read
# of the body when it chose where the request runs. It puts True under KNOWN if it knows who sent
# the request and limits them; what others take is charged to their address.
# CAME is the request's `came_at`.
CONTINUE = "webserver.continue"
LATER = "webserver.later"
SENT = "webserver.sent"
WORKER = "webserver.worker"
UPGRADE = "webserver.upgrade"
READ = "webserver.read"
KNOWN = "webserver.known"
CAME = "webserver.came"


class Shared:
    """What requests of one connection with the same head have in common. `known` is what the
    application keeps of it; `is_known`: it knew who sent the last of them.
    """

    __slots__ = ("environ", "is_known", "known")

    def __init__(self) -> None:
        self.environ: dict[str, Any] | None = None
        self.known: object = None
        self.is_known = False


@dataclass(slots=True)
class Request:
    """One request. `path` and `query` are the two parts of the target, as they came. `length` is
    the body's as it was announced, -1 where it was not. `held` is the room of a large body: it is
    given back with the request. `upgrades`: it asks for WebSocket. `read` is what the application
    read of the body. `share` is what was charged for it in advance. `came_at` is the earliest time
    (monotonic) at which its last bytes can have come.
    """

    method: str = ""
    path: str = ""
    query: str = ""
    version: str = "1.1"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    keeps: bool = True
    length: int = -1
    held: object = None
    upgrades: bool = False
    read: Any = None
    shared: Shared | None = None
    share: Share | None = None
    came_at: float = 0.0

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header of that lower-case name."""
        for found, value in self.headers:
            if found.lower() == name:
                return value
        return None

    @property
    def decoded_path(self) -> str:
        """Without percent-encoding, each byte a character."""
        path = self.path
        return unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path

    def environ(self, address: tuple[str, int], server: tuple[str, int]) -> dict[str, Any]:
        """The WSGI environment. Headers whose name has an underscore are left out: WSGI's names
        would take them for others, such as X_Forwarded_For for X-Forwarded-For.
        """
        shared = self.shared
        if shared is None:
            environ = self._environ(address, server)
        else:
            if shared.environ is None:
                shared.environ = self._environ(address, server)
            environ = shared.environ.copy()
        environ["wsgi.input"] = io.BytesIO(self.body)
        environ[CAME] = self.came_at
        if self.read is not None:
            environ[READ] = self.read
        return environ

    def _environ(self, address: tuple[str, int], server: tuple[str, int]) -> dict[str, Any]:
        """The part of the environ that comes from the head."""
        environ = {
            **_COMMON,
            "REQUEST_METHOD": self.method,
            "PATH_INFO": self.decoded_path,
            "QUERY_STRING": self.query,
            "SERVER_PROTOCOL": f"HTTP/{self.version}",
            "SERVER_NAME": server[0],
            "SERVER_PORT": str(server[1]),
            "REMOTE_ADDR": address[0],
            "REMOTE_PORT": str(address[1]),
        }
        for raw, value in self.headers:
            name = _names.get(raw, "")
            if name == "":
                name = _remember(raw)
            if name is None:
                continue
            text = value.decode("latin-1")
            if name in environ:
                joint = "; " if name == _JOINED_BY_SEMICOLON else ","
                text = f"{environ[name]}{joint}{text}"
            environ[name] = text
        # The body is here whole, however it came.
        if "HTTP_TRANSFER_ENCODING" in environ:
            del environ["HTTP_TRANSFER_ENCODING"]
            environ["CONTENT_LENGTH"] = str(len(self.body))
        return environ


def _remember(raw: bytes) -> str | None:
    name = _name_of(raw)
    if len(_names) < _MOST_NAMES:
        _names[raw] = name
    return name


def _name_of(raw: bytes) -> str | None:
    if b"_" in raw:
        return None
    name = raw.decode("latin-1").upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


def path_of(target: str) -> tuple[str, bytes] | None:
    """The path and query of a target that is no path alone, and its host; None of one that is not
    of HTTP.
    """
    if target == "*":
        return "/*", b""
    try:
        found: Any = httptools.parse_url(target.encode("latin-1"))
    except httptools.HttpParserInvalidURLError:
        return None
    if found.schema.lower() not in (b"http", b"https"):
        return None
    host = re.split("[/?#]", target.partition("://")[2], maxsplit=1)[0]
    if not host or "@" in host:  # a user in it could mislead (RFC 9110, section 4.2.4)
        return None
    path = (found.path or b"/").decode("latin-1")
    query = f"?{found.query.decode('latin-1')}" if found.query else ""
    return path + query, host.encode("latin-1")
