"""What a call sends, and what its response means, without any connection."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import TypeAdapter, ValidationError

from tidemark.errors import BY_REASON
from tidemark.failures import ResponseUnreadable, TidemarkError
from tidemark.values import Resource

_REFUSED_FOR_NOW = (429, 502, 503, 504)
_LONGEST_PAUSE_SECONDS = 8.0
# Calls that do something once more when they are sent once more.
_ONCE = ("request", "submit")
_ids = count(1)


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. A repeatable one may be sent again when no response came."""

    verb: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Response:
    """Its response."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def rpc_request(path: str, method: str, params: list[Any]) -> Request:
    """A JSON-RPC call."""
    body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
    return Request("POST", path, body=body, repeatable=not method.startswith(_ONCE))


def rpc_result(response: Response) -> Any:
    """The result in a JSON-RPC response. Raises TidemarkError, ResponseUnreadable."""
    answer = _json(response)
    if isinstance(answer, dict) and "result" in answer and response.status == 200:
        return answer["result"]
    raise refusal(response)


def answer_of(response: Response) -> Any:
    """The JSON of a plain response; None without a body. Raises as rpc_result does."""
    if response.status >= 300:
        raise refusal(response)
    return _json(response) if response.content else None


def text_of(response: Response) -> str:
    """The text of a plain response. Raises as rpc_result does."""
    if response.status >= 300:
        raise refusal(response)
    return response.content.decode()


def read_as(kind: Any, value: Any, *, version: str = "") -> Any:
    """The value as an object of this type, with its version. Raises ResponseUnreadable."""
    try:
        found = _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ResponseUnreadable(str(error)) from error
    if version and isinstance(found, Resource):
        return found.model_copy(update={"version": version})
    return found


def refusal(response: Response) -> Exception:
    """The error that a response is."""
    try:
        answer = _json(response)
    except ResponseUnreadable as unreadable:
        return unreadable
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):  # JSON-RPC
        data = error["data"] if isinstance(error.get("data"), dict) else {}
        reason, message, code = data.get("reason", ""), error.get("message", ""), error.get("code")
    elif isinstance(error, str):
        data = {each: value for each, value in answer.items() if each not in ("error", "message")}
        reason, message, code = error, answer.get("message", error), None
    else:
        return ResponseUnreadable(f"HTTP {response.status}: {_beginning(response)}")
    return BY_REASON.get(reason, TidemarkError)(
        message,
        reason=reason,
        status=response.status,
        code=code,
        data=data,
        request_id=response.headers.get("X-Request-Id", ""),
        retry_after=retry_after(response),
    )


def retry_after(response: Response) -> float | None:
    """The seconds of the header Retry-After."""
    text: str = response.headers.get("Retry-After", "")
    return float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else None


def pause_before(attempt: int, response: Response | None) -> float | None:
    """How many seconds to wait before another attempt (0 was the first) after this response, or
    after none; None when there must not be another.
    """
    if response is not None and response.status not in _REFUSED_FOR_NOW:
        return None
    asked = (retry_after(response) or 0.0) if response is not None else 0.0
    # Random, so that callers that were refused together do not come together again.
    pause = random.uniform(0.5, 1.0) * min(0.25 * 2.0**attempt, _LONGEST_PAUSE_SECONDS)
    return asked + pause


def websocket_url(url: str, path: str) -> str:
    """The address of the WebSocket at a path of the service at `url`."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}[parts.scheme]
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + path, "", ""))


def _json(response: Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError as error:
        text = f"HTTP {response.status}: {_beginning(response)}"
        raise ResponseUnreadable(text) from error


def _beginning(response: Response) -> str:
    return response.content[:200].decode(errors="replace")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
