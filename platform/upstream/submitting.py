"""Transactions to a node's JSON-RPC: sendTransaction without retries by the node."""

import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import msgspec

from upstream.http.errors import BadAnswer
from upstream.http.poster import Exchange, Poster
from upstream.http.response import Response

# Codes of answers that say something of the node and nothing of the transaction: behind or limited,
# no such method, internal error, and what block engines answer under load.
_UNWILLING_CODES = frozenset({-32005, -32097, -32429, 429, -32601, -32603})
_LIMITED = re.compile(r"rate.?limit|too many requests|congest|overloaded|try again later", re.I)
_KNOWN = re.compile(r"already.{0,6}processed", re.I)


class SubmitError(Exception):
    """The upstream did not take it: the text says why."""


class NoAnswer(SubmitError):
    """None came, or none that can be read."""


class Unwilling(SubmitError):
    """The upstream's own trouble: limits, load, a wrong address. Not the transaction's."""

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Refused(SubmitError):
    """The upstream's word about the transaction or bundle itself."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")
        self.code = code

    @property
    def is_known(self) -> bool:
        """It is refused for having been processed: it got there."""
        return _KNOWN.search(str(self)) is not None


# Called once with the result or a SubmitError, never before the call has returned.
Done = Callable[[Any], None]


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Answer(msgspec.Struct):
    result: Any = None
    error: _Error | None = None


_read = msgspec.json.Decoder(_Answer).decode


class SubmittingNode:
    """One node. For one event loop."""

    def __init__(self, url: str, *, seconds: float) -> None:
        self._poster = Poster(url)
        self._seconds = seconds

    @property
    def name(self) -> str:
        """The node's host, for people: an address may hold a key in its path or query."""
        return self._poster.name

    def start(self, wire: bytes, done: Done) -> None:
        """Sends; `done` is called when the node has taken the transaction, or has not."""
        start_call(self._poster, _SEND % b64encode(wire), done, seconds=self._seconds)

    async def warm(self) -> None:
        await self._poster.warm(2, seconds=self._seconds)

    async def close(self) -> None:
        await self._poster.close()


_SEND = (
    b'{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":["%s",'
    b'{"encoding":"base64","skipPreflight":true,"maxRetries":0}]}'
)


async def call(poster: Poster, body: bytes, *, seconds: float, path: str = "") -> Any:
    """The result of a JSON-RPC call. Raises SubmitError."""
    try:
        response = await poster.post(body, seconds=seconds, path=path)
    except (OSError, BadAnswer) as failure:
        raise NoAnswer(str(failure)) from None
    found = _result(response)
    if isinstance(found, SubmitError):
        raise found
    return found


def start_call(
    poster: Poster, body: bytes, done: Done, *, seconds: float, path: str = ""
) -> Exchange:
    """As `call`, without a task."""

    def ready(response: Response) -> None:
        done(_result(response))

    return poster.start(body, ready, seconds=seconds, path=path)


def _result(response: Response) -> Any:
    """The result of a JSON-RPC answer, or a SubmitError."""
    try:
        answer = _answer(response.body())
    except (OSError, BadAnswer) as failure:
        return NoAnswer(str(failure))
    status = response.status
    error = None if answer is None else answer.error
    text = "" if error is None else error.message[:250]
    if status not in (200, 400):  # with these the answer is about what was sent
        message = f"HTTP {status}" + (f": {text}" if text else "")
        return Unwilling(message, retry_after=response.retry_after)
    if answer is None or (error is None and status != 200):
        return Unwilling(f"HTTP {status} without a JSON-RPC answer")
    if error is not None:
        if error.code in _UNWILLING_CODES or _LIMITED.search(text):
            return Unwilling(f"{text} ({error.code})", retry_after=response.retry_after)
        return Refused(error.code, text)
    return answer.result


def _answer(body: bytes) -> _Answer | None:
    try:
        return _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
