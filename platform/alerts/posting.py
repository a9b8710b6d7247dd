"""Posting to one address: a request that goes where it was allowed to go, and is over in time."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from alerts.addresses import Place, Target, look_up, read_url
from alerts.errors import BadAddress

TIMEOUT_SECONDS = 10.0
KEPT_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request: a status, or none and the problem in plain words."""

    status: int | None
    problem: str
    text: str
    milliseconds: int
    retry_after: str = ""

    @property
    def is_good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    private_allowed: bool,
    timeout: float = TIMEOUT_SECONDS,
) -> Answer:
    """The answer to one POST. The name is looked up once, and the very address that was judged is
    connected to; redirects are not followed. Raises nothing for what the receiver does.
    """
    began = time.monotonic()

    def failed(problem: str) -> Answer:
        return Answer(None, problem[:300], "", _since(began))

    try:
        target = read_url(url)
        places = look_up(target, private_allowed=private_allowed)
    except BadAddress as refusal:
        return failed(str(refusal))
    except OSError:
        return failed(f"the name {read_url(url).host} was not found")
    line = _Line(timeout)
    try:
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.auto_open = 0
        connection.sock = line.connect(target, places)
        connection.request("POST", target.path, body, dict(headers))
        response = connection.getresponse()
        if line.is_over:  # headers that were cut off look like headers that ended
            raise TimeoutError
        text = b""
        with suppress(OSError, http.client.HTTPException):
            text = response.read1(4 * KEPT_CHARACTERS)
        shown = text.decode("utf-8", "replace").replace("\0", "\ufffd")[:KEPT_CHARACTERS]
        problem = _told(response.status)
        retry_after = response.headers.get("Retry-After", "")
        return Answer(response.status, problem, shown, _since(began), retry_after)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if line.is_over:
            return failed(f"no answer within {timeout:g} s")
        return failed(_in_words(error, target))
    finally:
        line.close()


class _Line:
    """A connection that is cut when its time is over: a receiver that trickles bytes, each in time
    for its own read, would hold a socket's timeout off for ever.
    """

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout
        self._sockets: list[socket.socket] = []
        self._cut = threading.Event()
        self._timer: threading.Timer | None = None

    @property
    def is_over(self) -> bool:
        return self._cut.is_set() or time.monotonic() >= self._end

    def connect(self, target: Target, places: list[Place]) -> socket.socket:
        """The first address that takes a connection."""
        problem: OSError = OSError("no address")
        for place in places:
            sock = socket.socket(place.family, socket.SOCK_STREAM)
            self._sockets.append(sock)
            sock.settimeout(max(0.001, self._end - time.monotonic()))
            try:
                sock.connect(place.sockaddr)
            except OSError as error:
                problem = error
                continue
            return self._ready(sock, target)
        raise problem

    def _ready(self, sock: socket.socket, target: Target) -> socket.socket:
        # The twin shares the connection, and stays good when TLS takes the socket over.
        twin = sock.dup()
        self._sockets.append(twin)
        left = max(0.001, self._end - time.monotonic())
        self._timer = threading.Timer(left, self._hang_up, [twin])
        self._timer.daemon = True
        self._timer.start()
        if not target.tls:
            return sock
        secured = ssl.create_default_context().wrap_socket(sock, server_hostname=target.host)
        self._sockets.append(secured)
        return secured

    def _hang_up(self, twin: socket.socket) -> None:
        self._cut.set()
        with suppress(OSError):
            twin.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        for sock in self._sockets:
            sock.close()


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))


def _told(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"answered {status}, a redirect: those are not followed, give the final address"
    if status == 410:
        return "answered 410 Gone: nobody wants it there any more"
    return f"answered {status}, not 2xx"


def _in_words(error: Exception, target: Target) -> str:
    where = f"{target.host} port {target.port}"
    if isinstance(error, ConnectionRefusedError):
        return f"connection refused by {where}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate of {where} was not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS with {where} failed: {error.reason or error}"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return f"{where} closed the connection without an answer"
    if isinstance(error, http.client.HTTPException):
        return f"what {where} answered is not HTTP"
    if isinstance(error, OSError):
        return f"{where} cannot be reached: {error.strerror or error}"
    return f"the request could not be sent: {error}"
