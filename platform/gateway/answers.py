"""Answer: an HTTP response of ready-made chunks with the headers every RPC answer has."""

from collections.abc import Callable, Mapping

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from access.buckets import Taken
from gateway.refusals import RPC_CONTENT_TYPE

_EXPOSED = (
    "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After,"
    " X-Bundle-Id, X-Queue-Milliseconds"
)
# In the form in which Django keeps headers: {lower-case name: (name, value)}.
_EVERY = {
    "access-control-allow-origin": ("Access-Control-Allow-Origin", "*"),
    "access-control-expose-headers": ("Access-Control-Expose-Headers", _EXPOSED),
    "vary": ("Vary", "Accept-Encoding"),
    "x-content-type-options": ("X-Content-Type-Options", "nosniff"),
}


def add_common_headers(response: HttpResponseBase, request_id: str) -> None:
    """The headers that every response of an endpoint has, on one that is no Answer."""
    for name, value in _EVERY.values():
        response.headers[name] = value
    response.headers["X-Request-Id"] = request_id


class Answer(HttpResponse):
    """The chunks go to the server one after the other, never joined."""

    def __init__(
        self,
        chunks: list[bytes],
        *,
        request_id: str,
        status: int = 200,
        content_type: str = RPC_CONTENT_TYPE,
        encoding: str | None = None,
        taken: Taken | None = None,
        headers: Mapping[str, str] | None = None,
        sent: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(status=status, content_type=content_type)
        self.chunks = self._container = chunks
        self.sent = sent  # called when the response has left the process
        # Straight into the mapping: our own values need none of the checks that Django makes of
        # each header, which cost more than the rest of the response.
        store = self.headers._store
        store.update(_EVERY)
        store["content-length"] = ("Content-Length", str(sum(map(len, chunks))))
        store["x-request-id"] = ("X-Request-Id", request_id)
        if encoding is not None:
            store["content-encoding"] = ("Content-Encoding", encoding)
        if taken is not None:
            store["x-ratelimit-limit"] = ("X-RateLimit-Limit", str(taken.limit))
            store["x-ratelimit-remaining"] = ("X-RateLimit-Remaining", str(taken.remaining))
            store["x-ratelimit-reset"] = ("X-RateLimit-Reset", str(taken.reset_seconds))
        if headers:
            for name, value in headers.items():
                self[name] = value
        # A refusal is counted, not logged: a flood of them must not fill the log too.
        # An outage and a queue that is behind (503) say so themselves.
        self._has_been_logged = status < 500 or status == 503
