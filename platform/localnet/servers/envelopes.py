"""JSON-RPC's envelopes as a node reads them, which is not as the service does: notifications have
no answer, a call without `id` is one, and what is no envelope at all is a parse error.
"""

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from jsonrpc import dispatch
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from localnet.errors import BadRequest, NodeError

_NULL = b"null"
_UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
_MEMBERS = {"jsonrpc", "id", "method", "params"}


class Unparsed(NodeError):
    code = -32700
    text = "Parse error"


class NotUtf8(Exception):
    """The body's bytes are not UTF-8 from this one on."""

    def __init__(self, at: int) -> None:
        super().__init__(f"utf-8 encoding error at byte {at} in request body")


@dataclass(frozen=True, slots=True)
class _Call:
    """One call; without an id it is a notification, without `jsonrpc` it is refused."""

    request: dispatch.Request
    is_notification: bool = False
    has_version: bool = True


def respond(body: bytes, methods: MethodTable, call: Any) -> bytes:
    """The response's body, empty where nothing is answered. Raises NotUtf8."""
    try:
        text = body.decode().strip(" \t\r\n").encode()
    except UnicodeDecodeError as error:
        raise NotUtf8(error.start) from None
    try:
        if text[:1] != b"[":
            return _answer(_read(text), methods, call)
        members = msgspec.json.decode(text, type=list[msgspec.Raw])
        calls = [_read(bytes(member).strip(b" \t\r\n")) for member in members]
    except _UNREADABLE:
        return dispatch.failure(Unparsed())
    answers = [answer for each in calls if (answer := _answer(each, methods, call))]
    return b"[" + b",".join(answers) + b"]" if answers else b""


def _answer(found: _Call, methods: MethodTable, call: Any) -> bytes:
    requests = dispatch.Requests([found.request], batch=False)
    answer = b"".join(dispatch.answer(requests, methods, call, _unobserved))
    if found.is_notification:
        return b""
    return answer if found.has_version else answer.replace(b'"jsonrpc":"2.0",', b"", 1)


def _read(text: bytes) -> _Call:
    """Raises one of _UNREADABLE."""
    if text[:1] != b"{":
        raise ValueError("no object")
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    names = [name for name, _ in json.loads(text, object_pairs_hook=list)]
    twice = len(set(names)) < len(names)
    identity = bytes(members.get("id", msgspec.Raw(_NULL)))
    if (twice and names.count("id") > 1) or not _is_id(identity):
        raise ValueError("no id")
    version = bytes(members.get("jsonrpc", msgspec.Raw(_NULL)))
    params = bytes(members.get("params", msgspec.Raw(_NULL)))
    is_call = (
        not twice
        and set(names) <= _MEMBERS
        and version in (b'"2.0"', _NULL)
        and bytes(members.get("method", msgspec.Raw(b""))).startswith(b'"')
        and (params[:1] in (b"[", b"{") or params == _NULL)
    )
    if not is_call:
        return _Call(_refused(identity, "Invalid request"))
    if version == _NULL:
        unsupported = _refused(identity, "Unsupported JSON-RPC protocol version")
        return _Call(unsupported, "id" not in members, has_version=False)
    name = msgspec.json.decode(members["method"], type=str)
    return _Call(dispatch.Request(identity, name, params), "id" not in members)


def _refused(identity: bytes, text: str) -> dispatch.Request:
    return dispatch.Request(identity, "", b"", BadRequest(text))


def _is_id(raw: bytes) -> bool:
    """A string, null, or a u64."""
    if raw[:1] == b'"' or raw == _NULL:
        return True
    return raw.isdigit() and int(raw) < 2**64


def _unobserved(method: str, error: RpcError | None) -> None:
    """Calls are not counted here."""
