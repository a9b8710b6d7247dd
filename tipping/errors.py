"""What tipping refuses: of a fetch, with the words of its answer, and of an administrator."""

from typing import Any, ClassVar

from access.buckets import Taken
from access.capped_buckets import DAILY_CAP
from gateway.refusals import Refusal
from staff.errors import OrderRefused

# `error` is the reason itself, and a quota's `reason` is a word of the answer alone.
_NO_DATA = ("error", "reason")


class FetchRefused(Refusal):
    """A fetch that gets no address. `words` is the answer's whole body."""

    abstract: ClassVar[bool] = True

    def __init__(self, words: dict[str, Any], message: str) -> None:
        super().__init__(message, data={k: v for k, v in words.items() if k not in _NO_DATA})
        self.words = words


class TtlTooLong(FetchRefused):
    """A TTL above that of the ladder's longest class."""

    code = -32602
    reason = "ttl_too_long"

    def __init__(self, max_ttl_seconds: int) -> None:
        words = {"error": self.reason, "max_ttl_seconds": max_ttl_seconds}
        super().__init__(words, f"ttl is at most {max_ttl_seconds} seconds")


class CountOutOfRange(FetchRefused):
    """A count of more addresses than one fetch may ask for."""

    code = -32602
    reason = "count_out_of_range"

    def __init__(self, max_count: int) -> None:
        words = {"error": self.reason, "max_count": max_count}
        super().__init__(words, f"count is at most {max_count}")


class BadTipQuery(FetchRefused):
    """A `ttl` or `count` that is no positive integer, or a malformed address in the path."""

    code = -32602
    reason = "bad_tip_query"

    def __init__(self, text: str, **beside: int) -> None:
        super().__init__({"error": text, **beside}, text)


class QuotaExceeded(FetchRefused):
    """The key's bucket of tip fetches is empty, or the cap of the UTC day is reached."""

    status = 429
    code = -32005
    reason = "quota_exceeded"

    def __init__(self, taken: Taken) -> None:
        why = "daily cap" if taken.quota == DAILY_CAP else "rate limit"
        words = {
            "error": self.reason,
            "reason": why,
            "retry_after_seconds": taken.retry_seconds,
        }
        super().__init__(words, f"Too many tip-address fetches: {why}")
        self.retry_seconds = taken.retry_seconds

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_seconds)}


class TipAddressesUnavailable(FetchRefused):
    """The class has no open batch just now: normal for moments, told to staff when it lasts."""

    status = 503
    code = -32005
    reason = "unavailable"

    def __init__(self, details: str, *, retry_seconds: int, ttl_seconds: int | None = None) -> None:
        words: dict[str, Any] = {"error": self.reason, "details": details}
        if ttl_seconds is not None:
            words["ttl_seconds"] = ttl_seconds
        super().__init__(words, f"No tip address just now: {details}")
        self.retry_seconds = retry_seconds

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_seconds)}


class DefaultClassStays(OrderRefused):
    """The default TTL class cannot go, nor stop being the default, before another one is it."""

    def __init__(self) -> None:
        super().__init__("One class is the default: make another one the default first.")


class ClassHasBatches(OrderRefused):
    """A TTL class whose addresses were issued stays, so that what they receive is still swept."""

    def __init__(self, ttl_seconds: int) -> None:
        super().__init__(f"Addresses of the class of {ttl_seconds} s were issued: it cannot go.")
        self.ttl_seconds = ttl_seconds
