"""Calls of one message, and their answers in one."""

from collections.abc import Callable

import msgspec


class _Envelope(msgspec.Struct):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET


_read = msgspec.json.Decoder(_Envelope).decode


def is_notice(body: bytes) -> bool:
    """Whether it is a JSON-RPC notification: a method without an id."""
    if b'"id"' in body or body.lstrip()[:1] != b"{":
        return False
    try:
        found = _read(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    return found.id is msgspec.UNSET and found.method is not msgspec.UNSET


class Batch:
    """The answers of a message's calls, sent once the last one is there, in the calls' order."""

    __slots__ = ("_answers", "_is_batch", "_missing", "_send")

    def __init__(self, count: int, *, is_batch: bool, send: Callable[[bytes], None]) -> None:
        self._answers: list[bytes] = [b""] * count
        self._missing = count
        self._is_batch = is_batch
        self._send = send

    def answer(self, position: int, text: bytes) -> None:
        self._answers[position] = text
        self._missing -= 1
        if not self._missing:
            joined = b",".join(self._answers)
            self._send(b"[" + joined + b"]" if self._is_batch else joined)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
