"""Why a call failed: the service's refusals, and what went wrong on the way."""

from collections.abc import Mapping
from typing import Any, ClassVar


class TidemarkError(Exception):
    """The service refused the call. `tidemark.errors` has a class for each reason."""

    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        status: int,
        code: int | None = None,
        data: Mapping[str, Any] | None = None,
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{message} ({reason})" if reason else message)
        self.message = message
        # The wire's reason: also of a service that is newer than this client.
        self.wire_reason = reason
        self.status = status
        self.code = code
        # What was required and found.
        self.data = dict(data or {})
        # Of the header X-Request-Id, for the operator's log.
        self.request_id = request_id
        self.retry_after = retry_after


class Unreachable(Exception):
    """There was no response: no connection, a connection that broke, or a time-out."""


class ResponseUnreadable(Exception):
    """The response is not one of this service: another server, or a proxy in between."""


class DeadlinePassed(Exception):
    """A transaction's fate was not settled in time. It may still land: follow it again."""

    def __init__(self, signature: str, seconds: float, state: str) -> None:
        super().__init__(f"{signature} is {state or 'unknown'} after {seconds:g} s")
        self.signature = signature
        self.state = state
