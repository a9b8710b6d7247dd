"""RpcError and the five standard errors of JSON-RPC."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar


class RpcError(Exception):
    """An unexpected error. The log has its traceback; the response has no details.

    Subclasses set `code` and `reason`, and `text` where it is always the same; what a caller can
    act on goes into `data`.
    """

    code: ClassVar[int] = -32603
    reason: ClassVar[str] = "internal_error"
    text: ClassVar[str] = ""
    # A class that sets it itself is never raised, only its subclasses are.
    abstract: ClassVar[bool] = True

    def __init__(self, message: str = "", *, data: dict[str, Any] | None = None) -> None:
        self.message = message or self.text
        super().__init__(self.message)
        self.data = {"reason": self.reason, **(data or {})}

    @classmethod
    def kinds(cls) -> "Iterator[type[RpcError]]":
        """The classes below it that are raised, of the modules that are loaded."""
        for child in cls.__subclasses__():
            if "reason" in vars(child) and "abstract" not in vars(child):
                yield child
            yield from child.kinds()

    def as_object(self) -> dict[str, Any]:
        """The `error` member of the answer: `{code, message, data}`."""
        return {"code": self.code, "message": self.message, "data": self.data}


class ParseError(RpcError):
    """The body is not JSON."""

    code = -32700
    reason = "parse_error"

    def __init__(self, found: str) -> None:
        super().__init__("Parse error", data={"found": found})


class InvalidRequest(RpcError):
    """The body is JSON but not a JSON-RPC 2.0 call: `problem` says what was expected and found."""

    code = -32600
    reason = "invalid_request"

    def __init__(self, problem: str, **data: Any) -> None:
        super().__init__("Invalid request", data={"problem": problem, **data})


class MethodNotFound(RpcError):
    """The path does not serve this method. `servedAt` names the paths that do, if any."""

    code = -32601
    reason = "method_not_found"

    def __init__(self, method: str, served_at: Sequence[str] = ()) -> None:
        elsewhere = {"servedAt": list(served_at)} if served_at else {}
        super().__init__("Method not found", data={"method": method, **elsewhere})


class InvalidParams(RpcError):
    """The params do not fit the method; the texts are the standard node's."""

    code = -32602
    reason = "invalid_params"

    def __init__(self, message: str = "", **data: Any) -> None:
        super().__init__(message, data=data)


class InternalError(RpcError):
    """An unexpected error. The log has its traceback; the response has no details."""

    reason = "internal_error"
    text = "Internal error"
