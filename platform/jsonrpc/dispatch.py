"""Body bytes → requests → methods → answer bytes."""

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from eventloop.faces import complete, to_loop
from jsonrpc.errors import InternalError, InvalidRequest, MethodNotFound, ParseError, RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import Encoded, encode

log = logging.getLogger(__name__)

_NULL = b"null"
# Called with the outcome of each call: method name ("" if it is unreadable), error or None.
Observer = Callable[[str, RpcError | None], None]
# The error to respond with for an exception of another library; None: an internal error.
Translate = Callable[[Exception], RpcError | None]


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a body: the id as the received bytes, to be echoed unchanged, and the params as
    they are, `null` if there are none.
    """

    id: bytes
    method: str
    params: bytes
    error: RpcError | None = None

    @property
    def params_array(self) -> bytes:
        """The params, empty where there are none."""
        return b"[]" if self.params == _NULL else self.params


@dataclass(frozen=True, slots=True)
class Requests:
    """A body's calls, in order; `batch`: the body is an array."""

    items: list[Request]
    batch: bool


_read_envelope = msgspec.json.Decoder(_Envelope).decode
_read_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_text = msgspec.json.Decoder(str).decode
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)


def read(body: bytes, *, max_batch: int) -> Requests:
    """The calls of a body. A malformed call has its `error` set; raises ParseError or
    InvalidRequest if the whole body cannot be read.
    """
    try:
        str(body, "utf-8")  # raw members keep their bytes: refuse bad UTF-8 up front
        text = body.strip(b" \t\r\n")
        if text[:1] != b"[":
            return Requests([_read_one(text)], batch=False)
        members = _read_array(text)
    except _UNREADABLE as error:
        raise ParseError(_why_unreadable(error)) from None
    if not members:
        raise InvalidRequest("an empty batch")
    if len(members) > max_batch:
        raise InvalidRequest(
            f"a batch of {len(members)} calls is above the maximum of {max_batch}",
            maximum=max_batch,
            found=len(members),
        )
    return Requests([_read_one(bytes(member)) for member in members], batch=True)


def _why_unreadable(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]


def _read_one(text: bytes) -> Request:
    try:
        envelope = _read_envelope(text)
    except msgspec.ValidationError:
        return Request(_NULL, "", b"", InvalidRequest("expected an object"))
    identity = b"" if envelope.id is msgspec.UNSET else bytes(envelope.id)
    if not identity or not _is_id(identity):
        problem = "`id` is missing or null" if identity in (b"", _NULL) else "bad `id`"
        error = InvalidRequest(f"{problem}; expected a string or an integer")
        return Request(_NULL, "", b"", error)
    if envelope.jsonrpc is msgspec.UNSET or bytes(envelope.jsonrpc) != b'"2.0"':
        return Request(identity, "", b"", InvalidRequest('`jsonrpc` must be "2.0"'))
    try:
        name = _read_text(b"" if envelope.method is msgspec.UNSET else envelope.method)
    except _UNREADABLE:
        return Request(identity, "", b"", InvalidRequest("`method` must be a string"))
    params = _NULL if envelope.params is msgspec.UNSET else bytes(envelope.params)
    if params[:1] not in (b"[", b"{") and params != _NULL:
        return Request(identity, name, b"", InvalidRequest("`params` must be an array"))
    return Request(identity, name, params)


def _is_id(raw: bytes) -> bool:
    if raw[:1] == b'"':
        try:
            _read_text(raw)
        except _UNREADABLE:
            return False
        return True
    return raw.lstrip(b"-").isdigit() and len(raw) <= 64


class Budget(Protocol):
    """The limits of one body's calls; both methods raise an RpcError if a limit is exceeded."""

    def before(self) -> None: ...

    def spend(self, size: int) -> None: ...


def _untranslated(_error: Exception) -> RpcError | None:
    return None


def answer(
    requests: Requests,
    methods: MethodTable,
    call: Any,
    observe: Observer,
    translate: Translate = _untranslated,
    budget: Budget | None = None,
) -> list[bytes]:
    """As aanswer, in a thread."""
    return complete(aanswer(requests, methods, call, observe, translate, budget))


async def aanswer(
    requests: Requests,
    methods: MethodTable,
    call: Any,
    observe: Observer,
    translate: Translate = _untranslated,
    budget: Budget | None = None,
    known: Encoded | None = None,
) -> list[bytes]:
    """The chunks of the response body, in order. A call that exceeds the budget gets the budget's
    error, and its method is not run; nor is it where the result of the one call is `known`.
    """
    answered: dict[int, Encoded | Exception] = {} if known is None else {0: known}
    if methods.fallback is not None:
        answered |= _fallback_answers(requests, methods, call)
    if not requests.batch:
        found = answered.get(0)
        one = requests.items[0]
        return await _answer_one(one, methods, call, observe, found, translate, budget)
    chunks = [b"["]
    for position, request in enumerate(requests.items):
        if position:
            chunks.append(b",")
        found = answered[position] if position in answered else _spent(budget)
        chunks += await _answer_one(request, methods, call, observe, found, translate, budget)
    chunks.append(b"]")
    return chunks


def _spent(budget: Budget | None) -> RpcError | None:
    """The error of a call of a batch whose calls before it left nothing of the budget."""
    try:
        if budget is not None:
            budget.before()
    except RpcError as error:
        return error
    return None


def known_result(request: Request, methods: MethodTable, call: Any) -> Encoded | None:
    """The call's result, if this process has it in memory."""
    method = methods.get(request.method)
    if method is None or method.known is None:
        return None
    try:
        return method.known(call, *method.params.read(request.params))
    except RpcError:  # the method refuses it too
        return None


def _fallback_answers(
    requests: Requests, methods: MethodTable, call: Any
) -> dict[int, Encoded | Exception]:
    """The fallback's results by position; the calls of a batch are passed on together."""
    positions = [
        position
        for position, request in enumerate(requests.items)
        if request.error is None and methods.falls_back(request.method)
    ]
    if not positions or methods.fallback is None:
        return {}
    calls = [(requests.items[each].method, requests.items[each].params_array) for each in positions]
    try:
        answers = methods.fallback.answer(call, calls)
    except Exception as error:
        return dict.fromkeys(positions, error)
    return dict(zip(positions, answers, strict=True))


async def _answer_one(
    request: Request,
    methods: MethodTable,
    call: Any,
    observe: Observer,
    answered: Encoded | Exception | None,
    translate: Translate,
    budget: Budget | None,
) -> list[bytes]:
    try:
        if request.error is not None:
            raise request.error
        if isinstance(answered, Exception):
            raise answered
        if answered is not None:
            body = answered.chunks
        else:
            method = methods.get(request.method)
            if method is None:
                name = request.method[:100]
                raise MethodNotFound(name, methods.served_at(name))
            result = method.function(call, *method.params.read(request.params))
            if method.is_async:
                result = await result
            elif inspect.iscoroutine(result):
                await to_loop()
                result = await result
            body = result.chunks if isinstance(result, Encoded) else (encode(result),)
        if budget is not None:
            budget.spend(sum(map(len, body)))
    except Exception as error:
        return [failed(error, request, call, observe, translate)]
    observe(request.method, None)
    return [result_head(request.id), *body, b"}"]


def result_head(identity: bytes) -> bytes:
    """The bytes before a result; `}` follows it."""
    return b'{"jsonrpc":"2.0","id":' + identity + b',"result":'


def failed(
    error: Exception, request: Request, call: Any, observe: Observer, translate: Translate
) -> bytes:
    """The response to a call that failed with the error. Observes the error, and logs unexpected
    ones.
    """
    if isinstance(error, RpcError):
        observe(request.method, error)
        return failure(error, request.id)
    # Never log the params: they may contain private data.
    key = getattr(getattr(call, "caller", None), "key_id", None)
    identity = getattr(call, "request_id", "")
    extra = {"request_id": identity, "method": request.method, "key_id": key}
    translated = translate(error)
    if translated is not None:
        log.warning("calls are answered %s: %s", translated.reason, error, extra=extra)
        observe(request.method, translated)
        return failure(translated, request.id)
    log.error(
        "request %s failed: method %r, key %s",
        identity,
        request.method,
        key,
        exc_info=error,
        extra=extra,
    )
    internal = InternalError()
    observe(request.method, internal)
    return failure(internal, request.id)


def failure(error: RpcError, identity: bytes = _NULL) -> bytes:
    """A whole JSON-RPC response with an error."""
    return b'{"jsonrpc":"2.0","id":' + identity + b',"error":' + encode(error.as_object()) + b"}"
