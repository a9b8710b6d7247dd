"""Requests of a connection that begin, byte for byte, as the one before them: clients that keep a
connection send the same head again and again. What it was read to needs no second reading.
"""

from dataclasses import dataclass, replace

from webserver.requests import Request, Shared

# Bytes of a head that is remembered.
_LONGEST = 2_048
_END = b"\r\n\r\n"
# With these, what follows the head is not simply its body.
_UNLIKE = {b"expect", b"upgrade", b"transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Repeat:
    """A head as it came, the bytes that it has with its body, and what it was read to."""

    head: bytes
    size: int
    request: Request

    def read(self, data: bytes) -> Request | None:
        """The request, where the data are this head again with a body and nothing more."""
        if len(data) != self.size or not data.startswith(self.head):
            return None
        like = self.request
        return Request(
            like.method,
            like.path,
            like.query,
            like.version,
            like.headers,
            data[len(self.head) :],
            length=like.length,
            shared=like.shared,
        )


def repeat_of(data: bytes, request: Request) -> Repeat | None:
    """What may be repeated; None where the data are anything but one head with its body."""
    length = max(request.length, 0)
    end = len(data) - length
    if end > _LONGEST or not request.keeps or data.find(_END) != end - len(_END):
        return None
    if any(name.lower() in _UNLIKE for name, _value in request.headers):
        return None
    return Repeat(data[:end], len(data), replace(request, body=b"", shared=Shared()))
