"""Answers of HTTP/1.1 as they come over a connection, byte by byte."""

from functools import lru_cache
from typing import NamedTuple

LARGEST_ANSWER = 1_048_576
_LARGEST_HEAD = 65_536
# An answer that comes byte by byte is read from its beginning each time: these bound the work.
_MOST_HEADERS = 100
_MOST_CHUNKS = 4_096
_MOST_ANNOUNCEMENTS = 8


class BadAnswer(ValueError):
    """What came is no HTTP answer, or too large a one."""


class Posted(NamedTuple):
    """An answer; `retry_after` in seconds where the server named it, `keeps` whether the
    connection is good for another request.
    """

    status: int
    body: bytes
    retry_after: float | None
    keeps: bool


def read_answer(received: bytes | bytearray, *, ended: bool) -> Posted | None:
    """The answer to one request, or None while it is not whole; BadAnswer where it can never be."""
    start = announced = 0
    while True:
        end = received.find(b"\r\n\r\n", start, start + _LARGEST_HEAD)
        if end < 0:
            if len(received) - start >= _LARGEST_HEAD:
                raise BadAnswer("the answer's head does not end")
            if ended:
                raise BadAnswer("the connection ended before an answer")
            return None
        version, status, headers = _head(bytes(received[start:end]))
        start = end + 4
        if status >= 200:  # others only announce the one that follows
            break
        announced += 1
        if announced > _MOST_ANNOUNCEMENTS:
            raise BadAnswer("the answer is announced and does not come")
    body, whole, spare = _body(received, start, status, headers, ended=ended)
    if len(body) > LARGEST_ANSWER:
        raise BadAnswer(f"the answer has more than {LARGEST_ANSWER} bytes")
    if not whole:
        return None
    words = headers.get(b"connection", b"").lower()
    keeps = not ended and not spare and b"close" not in words
    if version == b"HTTP/1.0":
        keeps = keeps and b"keep-alive" in words
    return Posted(status, body, _retry_after(headers), keeps)


# A server's heads differ in little but the second.
@lru_cache(maxsize=64)
def _head(head: bytes) -> tuple[bytes, int, dict[bytes, bytes]]:
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or len(status) != 3 or not status.isdigit():
        raise BadAnswer("the answer is not HTTP/1.1")
    if len(lines) > _MOST_HEADERS:
        raise BadAnswer("the answer's head has too many lines")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return version, int(status), headers


def _body(
    received: bytes | bytearray,
    start: int,
    status: int,
    headers: dict[bytes, bytes],
    *,
    ended: bool,
) -> tuple[bytes, bool, bool]:
    """What is there of the body, whether that is all, and whether more bytes follow it."""
    if status in (204, 304):
        return b"", True, len(received) > start
    if b"chunked" in headers.get(b"transfer-encoding", b"").lower():
        return _chunks(received, start, ended=ended)
    value = headers.get(b"content-length")
    if value is None:
        # As long as the connection lasts.
        return bytes(received[start:]), ended, False
    if not value.isdigit() or len(value) > 9 or int(value) > LARGEST_ANSWER:
        raise BadAnswer(f"the answer's length is {value[:20].decode('latin-1')}")
    length = int(value)
    have = len(received) - start
    if have < length:
        if ended:
            raise BadAnswer("the connection ended within an answer")
        return b"", False, False
    return bytes(received[start : start + length]), True, have > length


def _chunks(received: bytes | bytearray, at: int, *, ended: bool) -> tuple[bytes, bool, bool]:
    pieces: list[bytes] = []
    while True:
        line_end = received.find(b"\r\n", at)
        if line_end < 0:
            break
        digits = bytes(received[at:line_end]).partition(b";")[0].strip()
        try:
            size = int(digits[:9], 16)
        except ValueError:
            raise BadAnswer("a chunk of the answer has no length") from None
        if len(digits) > 9 or not 0 <= size <= LARGEST_ANSWER:
            raise BadAnswer("a chunk of the answer is too large")
        at = line_end + 2
        if size == 0:
            # Trailers, mostly none, and an empty line.
            end = at if received[at : at + 2] == b"\r\n" else received.find(b"\r\n\r\n", at)
            if end < 0:
                break
            after = end + (2 if end == at else 4)
            return b"".join(pieces), True, len(received) > after
        if len(received) < at + size + 2:
            break
        if len(pieces) >= _MOST_CHUNKS:
            raise BadAnswer("the answer has too many chunks")
        pieces.append(bytes(received[at : at + size]))
        at += size + 2
    if ended:
        raise BadAnswer("the connection ended within an answer")
    if len(received) > 2 * LARGEST_ANSWER:
        raise BadAnswer(f"the answer has more than {LARGEST_ANSWER} bytes")
    return b"", False, False


def _retry_after(headers: dict[bytes, bytes]) -> float | None:
    value = headers.get(b"retry-after", b"")
    return float(value) if value.isdigit() and len(value) < 7 else None
