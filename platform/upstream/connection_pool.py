"""ConnectionPool: connections of threads to a node; JSON-RPC bodies pass unchanged."""

from functools import cache

from upstream.http.client import Client

# A node that hangs must not take every thread of the process with it: so many calls wait for one
# at a time, and the next ones only half a second for their turn.
_CONNECTIONS = 8
LARGEST_ANSWER = 256 * 1024 * 1024
HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class ConnectionPool:
    """A few connections to one node, kept alive. For any number of threads."""

    def __init__(self, url: str, *, largest_answer: int = LARGEST_ANSWER) -> None:
        self._largest_answer = largest_answer
        self._client = Client(url, headers=HEADERS, kept=_CONNECTIONS, most=_CONNECTIONS)

    def call(self, body: bytes, *, seconds: float, largest: int | None = None) -> tuple[int, bytes]:
        """HTTP status and body of the node's answer, within the seconds in all and of at most so
        many bytes. Raises CALL_FAILURES of upstream.http.errors.
        """
        most = self._largest_answer if largest is None else min(largest, self._largest_answer)
        answer = self._client.post(body, seconds=seconds, largest=most)
        return answer.status, answer.body


@cache
def pool_for(url: str) -> ConnectionPool:
    """This process's way to the node."""
    return ConnectionPool(url)
