"""JSON-RPC bodies to a node and its answers back, as they are."""

import time
from functools import cache

import urllib3
from urllib3 import exceptions

_CONNECT_SECONDS = 5.0
# A node that hangs must not take every thread of the process with it: so many calls wait for one
# at a time, and the next ones only so long for their turn.
_CONNECTIONS = 8
_TURN_SECONDS = 0.5
LARGEST_ANSWER = 256 * 1024 * 1024
_PIECE = 1 << 20


class PassageFailed(Exception):
    """No answer came back; the subclass says why."""


class Unreachable(PassageFailed):
    """The node does not listen, or dropped the connection."""


class TimedOut(PassageFailed):
    """The node took too long."""


class Busy(PassageFailed):
    """As many calls as may wait for the node do so already."""


class AnswerTooLarge(PassageFailed):
    """The answer is above what is taken into memory."""


class Passage:
    """The way to one node: a few connections, kept alive. For any number of threads."""

    def __init__(self, url: str, *, largest_answer: int = LARGEST_ANSWER) -> None:
        self._url = url
        self._largest_answer = largest_answer
        self._pool = urllib3.PoolManager(
            num_pools=1, maxsize=_CONNECTIONS, block=True, retries=False
        )

    def call(self, body: bytes, *, seconds: float) -> tuple[int, bytes]:
        """HTTP status and body of the node's answer; raises PassageFailed."""
        deadline = time.monotonic() + seconds
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=body,
                headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
                timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds),
                pool_timeout=_TURN_SECONDS,
                preload_content=False,
            )
            try:
                return response.status, self._read(response, deadline)
            except BaseException:
                response.close()  # half read, it is good for no other call
                raise
            finally:
                response.release_conn()
        except exceptions.EmptyPoolError:
            raise Busy from None
        except exceptions.ConnectTimeoutError:
            raise Unreachable from None
        except exceptions.TimeoutError:
            raise TimedOut from None
        except exceptions.HTTPError:
            raise Unreachable from None

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        # What is there, piece by piece: the socket's own timeout starts anew with every byte.
        while piece := response.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > self._largest_answer:
                raise AnswerTooLarge
            if time.monotonic() > deadline:
                raise TimedOut
        return b"".join(pieces)


@cache
def passage_to(url: str) -> Passage:
    """This process's way to the node."""
    return Passage(url)
