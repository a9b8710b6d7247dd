"""Requests of a connection that begin, byte for byte, as one before them: clients that keep a
connection send the same head again and again. What it was read to needs no second reading.
"""

from dataclasses import dataclass, replace

from webserver.requests import Request, Shared

# Heads that a connection remembers: those of one client differ by the length of the body.
_MOST = 3
# Bytes of a head that is remembered.
_LONGEST = 2_048
_END = b"\r\n\r\n"
# With these, what follows the head is not simply its body.
_UNLIKE = {b"expect", b"upgrade", b"transfer-encoding"}


class Repeats:
    """The last heads of one connection, by the bytes that a request has with its body."""

    __slots__ = ("_by_size",)

    def __init__(self) -> None:
        self._by_size: dict[int, _Repeat] = {}

    def read(self, data: bytes) -> Request | None:
        """The request, where the data are a head again with a body and nothing more."""
        found = self._by_size.get(len(data))
        if found is None or not data.startswith(found.head):
            return None
        like = found.request
        return Request(
            like.method,
            like.path,
            like.query,
            like.version,
            like.headers,
            data[len(found.head) :],
            length=like.length,
            shared=like.shared,
        )

    def keep(self, data: bytes, request: Request) -> None:
        """Remembers the head of the data that were read to the request, if it may be repeated."""
        repeat, by_size = _repeat_of(data, request), self._by_size
        by_size.pop(len(data), None)
        if repeat is None:
            return
        if len(by_size) >= _MOST:
            del by_size[next(iter(by_size))]
        by_size[len(data)] = repeat


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A head as it came, and what it was read to."""

    head: bytes
    request: Request


def _repeat_of(data: bytes, request: Request) -> _Repeat | None:
    """What may be repeated; None where the data are anything but one head with its body."""
    length = max(request.length, 0)
    end = len(data) - length
    if end > _LONGEST or not request.keeps or data.find(_END) != end - len(_END):
        return None
    if any(name.lower() in _UNLIKE for name, _value in request.headers):
        return None
    return _Repeat(data[:end], replace(request, body=b"", shared=Shared()))
