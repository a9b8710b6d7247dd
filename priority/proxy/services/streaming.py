"""Forwards calls from the web server's event loop, and streams long results."""

import re

from jsonrpc.errors import RpcError
from jsonrpc.wire import Encoded
from priority.proxy.errors import UpstreamAnswerTooLarge, UpstreamAnswerUnreadable
from priority.proxy.services.forwarding import NodeCall, answer_in, failure_of, request_of
from upstream.connection_pools import HELD, Answer, AsyncConnectionPool
from upstream.http.errors import CALL_FAILURES

# A long answer that does not begin like a result (an error) is buffered up to this size.
_LONGEST_HELD = 4_194_304

_SPACE = rb"[ \t\r\n]*"
_COLON = _SPACE + rb":" + _SPACE
_SCALAR = rb'(?:"[^"\\]{0,64}"|-?[0-9.]{1,20}|true|false|null)'
# A member beside the result; an error that is none may stand there too.
_MEMBER = (
    rb'(?:"error"'
    + _COLON
    + rb'null|"(?!error"|result")\w{1,32}"'
    + _COLON
    + _SCALAR
    + rb")"
    + _SPACE
)
# An answer with its members in any order, up to its result; and the rest behind the result.
_HEAD = re.compile(
    _SPACE + rb"\{" + _SPACE
    + rb"(?:" + _MEMBER + rb"," + _SPACE + rb")*"
    + rb'"result"' + _COLON
)  # fmt: skip
_END = re.compile(_SPACE + rb"(?:," + _SPACE + _MEMBER + rb")*\}" + _SPACE + rb"\Z")
# The most bytes that may stand behind a result.
_LONGEST_END = 256


async def stream_result(
    call: NodeCall, *, node: AsyncConnectionPool, seconds: int, holder: object
) -> "Encoded | LongResult":
    """The node's result unchanged. `seconds` is the timeout, `holder` the caller, for its limit.
    Raises the node's error, and UpstreamFailed.
    """
    try:
        answer = await node.post(request_of(0, *call), seconds=seconds, holder=holder)
    except CALL_FAILURES as error:
        raise failure_of(error, seconds) from None
    is_long = False
    try:
        content = answer.take_whole()
        if content is None:
            content, is_whole = await _held(answer, HELD)
            head = None if is_whole else _HEAD.match(content)
            if head is not None:
                is_long = True
                return LongResult(answer, content[head.end() :], seconds)
            if not is_whole:
                more, is_whole = await _held(answer, _LONGEST_HELD)
                content += more
            if not is_whole:
                raise UpstreamAnswerTooLarge
        found = answer_in(content, answer.status)
    except CALL_FAILURES as error:
        raise failure_of(error, seconds) from None
    finally:
        if not is_long:
            answer.close()
    if isinstance(found, RpcError):
        raise found
    return found


async def _held(answer: Answer, size: int) -> tuple[bytes, bool]:
    """The answer's first `size` bytes or a little more, and whether that is all of it."""
    pieces: list[bytes] = []
    held = 0
    while held < size:
        piece = await answer.more()
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        held += len(piece)
    return b"".join(pieces), False


class LongResult:
    """A result that is read as it is sent on. Its last bytes are held back until the answer's end
    is there: one that breaks off is never sent as a whole.
    """

    def __init__(self, answer: Answer, begun: bytes, seconds: int) -> None:
        self._answer = answer
        self._kept = begun
        self._seconds = seconds
        self._is_over = False

    async def next(self) -> bytes:
        """The next bytes, b"" behind the last. Raises UpstreamFailed."""
        if self._is_over:
            return b""
        while len(self._kept) <= _LONGEST_END:
            try:
                piece = await self._answer.more()
            except CALL_FAILURES as error:
                raise failure_of(error, self._seconds) from None
            if not piece:
                return self._last()
            self._kept += piece
        found, self._kept = self._kept[:-_LONGEST_END], self._kept[-_LONGEST_END:]
        return found

    def _last(self) -> bytes:
        end = _END.search(self._kept)
        if end is None:
            raise UpstreamAnswerUnreadable(self._answer.status)
        self._is_over = True
        return self._kept[: end.start()]

    def close(self) -> None:
        """Nothing more of it is read."""
        self._answer.close()
