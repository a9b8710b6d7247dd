"""Errors of tipping: refused fetches with their response bodies, and refused admin actions."""

from typing import Any, ClassVar

from access.buckets import Taken
from access.capped_buckets import DAILY_CAP
from gateway.refusals import Refusal
from staff.errors import ActionRefused
from staff.formatting import in_units

# `error` is the reason itself; a quota's `reason` appears in the GET response only.
_NO_DATA = ("error", "reason")


class FetchRefused(Refusal):
    """A refused fetch. `response_body` is what a GET answers."""

    abstract: ClassVar[bool] = True

    def __init__(self, body: dict[str, Any], message: str) -> None:
        super().__init__(message, data={k: v for k, v in body.items() if k not in _NO_DATA})
        self.response_body = body


class TtlTooLong(FetchRefused):
    """The TTL is above that of the longest TTL class."""

    code = -32602
    reason = "ttl_too_long"

    def __init__(self, max_ttl_seconds: int) -> None:
        body = {"error": self.reason, "max_ttl_seconds": max_ttl_seconds}
        super().__init__(body, f"ttl is at most {max_ttl_seconds} seconds")


class CountOutOfRange(FetchRefused):
    """The count is above the maximum of one fetch."""

    code = -32602
    reason = "count_out_of_range"

    def __init__(self, max_count: int) -> None:
        body = {"error": self.reason, "max_count": max_count}
        super().__init__(body, f"count is at most {max_count}")


class BadTipQuery(FetchRefused):
    """`ttl` or `count` is not a positive integer, or the address in the path is malformed."""

    code = -32602
    reason = "bad_tip_query"

    def __init__(self, text: str, **limits: int) -> None:
        super().__init__({"error": text, **limits}, text)


class QuotaExceeded(FetchRefused):
    """The key's bucket of tip fetches is empty, or the cap of the UTC day is reached."""

    status = 429
    code = -32005
    reason = "quota_exceeded"

    def __init__(self, taken: Taken) -> None:
        why = "daily cap" if taken.quota == DAILY_CAP else "rate limit"
        body = {
            "error": self.reason,
            "reason": why,
            "retry_after_seconds": taken.retry_seconds,
        }
        super().__init__(body, f"Too many tip-address fetches: {why}")
        self.retry_seconds = taken.retry_seconds


class TipAddressesUnavailable(FetchRefused):
    """The TTL class has no open batch. Normal for moments; an alarm opens if it lasts."""

    status = 503
    code = -32005
    reason = "unavailable"

    def __init__(self, details: str, *, retry_seconds: int, ttl_seconds: int | None = None) -> None:
        body: dict[str, Any] = {"error": self.reason, "details": details}
        if ttl_seconds is not None:
            body["ttl_seconds"] = ttl_seconds
        super().__init__(body, f"No tip address is available: {details}")
        self.retry_seconds = retry_seconds


class DefaultClassRequired(ActionRefused):
    """The default TTL class can be deleted or demoted only after another class is the default."""

    def __init__(self) -> None:
        super().__init__("This is the default class: make another class the default first.")


class ClassHasBatches(ActionRefused):
    """A TTL class whose addresses were issued is kept, so that late tips are still swept."""

    def __init__(self, ttl_seconds: int) -> None:
        super().__init__(
            f"The class of {in_units(ttl_seconds)} has issued addresses and cannot be deleted."
        )
        self.ttl_seconds = ttl_seconds
