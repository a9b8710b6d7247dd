"""One POST to a webhook's URL, to checked addresses only and within a time limit."""

import contextlib
import socket
import ssl
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from alerts.addresses import read_url, resolve
from alerts.errors import BadAddress
from upstream.http.client import Connection
from upstream.http.errors import BadAnswer, NotConnected
from upstream.http.requests import Address, request_bytes

TIMEOUT_SECONDS = 10.0
KEPT_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request: a status, or None and a description of the problem."""

    status: int | None
    problem: str
    text: str
    milliseconds: int
    retry_after: str = ""

    @property
    def is_good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Poster:
    """Posts to one URL, one request at a time, over a connection that it keeps while the receiver
    does. The name is resolved once for a connection, which goes to the addresses that were checked;
    redirects are not followed.
    """

    def __init__(
        self, url: str, *, private_allowed: bool, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._url, self._private_allowed, self._timeout = url, private_allowed, timeout
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """The outcome of one POST. Never raises for failures of the receiver."""
        began = time.monotonic()

        def failed(problem: str) -> Answer:
            self.close()
            return Answer(None, problem[:300], "", _since(began))

        try:
            target = read_url(self._url)
            always = {"Host": _host(target), "Accept-Encoding": "identity"}
            request = request_bytes(
                f"{target.path or '/'}{target.query}", {**always, **headers}, body
            )
            deadline = began + self._timeout
            if self._connection is not None and self._connection.is_silent:
                # The receiver may close it just as we write: then over a new one, once.
                with contextlib.suppress(ConnectionError):
                    return self._exchange(self._connection, request, began, deadline)
            self.close()
            self._connection = self._opened(target, deadline)
            return self._exchange(self._connection, request, began, deadline)
        except BadAddress as refusal:
            return failed(str(refusal))
        except socket.gaierror:
            return failed(f"the name {target.host} was not found")
        except (OSError, BadAnswer) as error:
            if isinstance(error, (TimeoutError, NotConnected)):
                return failed(f"no answer within {self._timeout:g} s")
            return failed(_describe(error, target))

    def __enter__(self) -> "Poster":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _opened(self, target: Address, deadline: float) -> Connection:
        return Connection.open(
            resolve(target, private_allowed=self._private_allowed),
            deadline=deadline,
            tls=ssl.create_default_context() if target.tls else None,
            host=target.host,
        )

    def _exchange(
        self, connection: Connection, request: bytes, began: float, deadline: float
    ) -> Answer:
        """The status and the start of the body; the rest is not read, and ends the connection."""
        response = connection.begin(request, deadline=deadline, largest=sys.maxsize)
        text = b""
        with contextlib.suppress(OSError, BadAnswer):
            if not response.held and not response.is_whole:
                connection.receive(deadline=deadline)
            text = response.take()[: 4 * KEPT_CHARACTERS]
        if not response.is_whole or not response.keeps:
            self.close()
        shown = text.decode("utf-8", "replace").replace("\0", "\ufffd")[:KEPT_CHARACTERS]
        retry_after = response.headers.get(b"retry-after", b"").decode("latin-1")
        return Answer(response.status, _problem(response.status), shown, _since(began), retry_after)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    private_allowed: bool,
    timeout: float = TIMEOUT_SECONDS,
) -> Answer:
    """The outcome of one POST over a connection of its own."""
    with Poster(url, private_allowed=private_allowed, timeout=timeout) as poster:
        return poster.post(body, headers)


def _host(target: Address) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == (443 if target.tls else 80) else f"{host}:{target.port}"


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))


def _problem(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"answered {status}, a redirect: those are not followed, give the final address"
    if status == 410:
        return "answered 410 Gone: the receiver no longer exists"
    return f"answered {status}, not 2xx"


def _describe(error: Exception, target: Address) -> str:
    where = f"{target.host} port {target.port}"
    if isinstance(error, ConnectionRefusedError):
        return f"connection refused by {where}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate of {where} was not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS with {where} failed: {error.reason or error}"
    if isinstance(error, ConnectionError):
        return f"{where} closed the connection without an answer"
    if isinstance(error, BadAnswer):
        return f"the response of {where} is not HTTP"
    return f"{where} cannot be reached: {getattr(error, 'strerror', None) or error}"
