"""Forwards calls to the upstream node."""

from collections.abc import Sequence

import msgspec

from jsonrpc.errors import RpcError
from jsonrpc.wire import Encoded, encode
from priority.proxy.errors import (
    NodeError,
    UpstreamAnswerTooLarge,
    UpstreamAnswerUnreadable,
    UpstreamBusy,
    UpstreamFailed,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from upstream.connection_pools import LARGEST_ANSWER
from upstream.http.client import Client
from upstream.http.errors import CALL_FAILURES, AnswerTooLarge, Busy

# A call for the node: the method, and its params as the bytes that came.
NodeCall = tuple[str, bytes]
Answer = Encoded | RpcError


class _Answer(msgspec.Struct):
    id: int | str | None = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_read_answer = msgspec.json.Decoder(_Answer).decode
_read_answers = msgspec.json.Decoder(list[_Answer]).decode
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)


def forward(
    calls: Sequence[NodeCall],
    *,
    node: Client,
    seconds: int,
    largest: int = LARGEST_ANSWER,
) -> list[Answer]:
    """The node's answers in order, its results and errors byte for byte: one call travels alone,
    several as one batch. `largest` is the most bytes that they may have together. Raises
    UpstreamFailed.
    """
    requests = [request_of(number, *call) for number, call in enumerate(calls)]
    alone = len(requests) == 1
    body = requests[0] if alone else b"[" + b",".join(requests) + b"]"
    try:
        status, content, _ = node.post(body, seconds=seconds, largest=largest)
    except CALL_FAILURES as error:
        raise failure_of(error, seconds) from None
    if alone or content.lstrip(b" \t\r\n")[:1] == b"{":
        # A node that refuses a batch as a whole answers with one object.
        return [answer_in(content, status)] * len(calls)
    unreadable = UpstreamAnswerUnreadable(status)
    try:
        by_number = {answer.id: answer for answer in _read_answers(content)}
    except _UNREADABLE:
        raise unreadable from None
    return [_answer(by_number.get(number), unreadable) for number in range(len(calls))]


def failure_of(error: Exception, seconds: int) -> UpstreamFailed:
    """The caller's error for a failed call."""
    match error:
        case TimeoutError():
            return UpstreamTimeout(seconds)
        case Busy():
            return UpstreamBusy()
        case AnswerTooLarge():
            return UpstreamAnswerTooLarge()
    return UpstreamUnreachable()


def answer_in(content: bytes, status: int) -> Answer:
    """The one answer in the content; raises UpstreamAnswerUnreadable."""
    try:
        answer = _read_answer(content)
    except _UNREADABLE:
        raise UpstreamAnswerUnreadable(status) from None
    return _answer(answer, UpstreamAnswerUnreadable(status))


def request_of(number: int, method: str, params: bytes) -> bytes:
    """The call under a number as its id, params as they came."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":' % number
    return head + encode(method) + b',"params":' + params + b"}"


def _answer(answer: _Answer | None, unreadable: UpstreamAnswerUnreadable) -> Answer:
    if answer is None:
        return unreadable
    if not isinstance(answer.error, msgspec.UnsetType) and bytes(answer.error) != b"null":
        return NodeError(bytes(answer.error))
    if isinstance(answer.result, msgspec.UnsetType):
        return unreadable
    return Encoded(bytes(answer.result))
