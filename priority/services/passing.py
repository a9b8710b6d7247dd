"""Calls for the upstream node, passed on as they came."""

from collections.abc import Sequence

import msgspec

from jsonrpc.errors import RpcError
from jsonrpc.wire import Encoded, encode
from priority.errors import (
    NodeError,
    UpstreamAnswerTooLarge,
    UpstreamAnswerUnreadable,
    UpstreamBusy,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from upstream import passage
from upstream.passage import Passage

# A call for the node: the method, and its params as the bytes that came.
NodeCall = tuple[str, bytes]
Answer = Encoded | RpcError


class _Answer(msgspec.Struct):
    id: int | str | None = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_read_answer = msgspec.json.Decoder(_Answer).decode
_read_answers = msgspec.json.Decoder(list[_Answer]).decode


def pass_on(
    calls: Sequence[NodeCall],
    *,
    node: Passage,
    seconds: int,
    largest: int = passage.LARGEST_ANSWER,
) -> list[Answer]:
    """The node's answers in order, its results and errors byte for byte: one call travels alone,
    several as one batch. `largest` is the most bytes that they may have together. Raises
    UpstreamFailed.
    """
    requests = [_request(number, *call) for number, call in enumerate(calls)]
    alone = len(requests) == 1
    body = requests[0] if alone else b"[" + b",".join(requests) + b"]"
    try:
        status, content = node.call(body, seconds=seconds, largest=largest)
    except passage.TimedOut:
        raise UpstreamTimeout(seconds) from None
    except passage.Busy:
        raise UpstreamBusy from None
    except passage.AnswerTooLarge:
        raise UpstreamAnswerTooLarge from None
    except passage.PassageFailed:
        raise UpstreamUnreachable from None
    unreadable = UpstreamAnswerUnreadable(status)
    try:
        if alone or content.lstrip(b" \t\r\n")[:1] == b"{":
            # A node that refuses a batch as a whole answers with one object.
            return [_answer(_read_answer(content), unreadable)] * len(calls)
        by_number = {answer.id: answer for answer in _read_answers(content)}
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise unreadable from None
    return [_answer(by_number.get(number), unreadable) for number in range(len(calls))]


def _request(number: int, method: str, params: bytes) -> bytes:
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
