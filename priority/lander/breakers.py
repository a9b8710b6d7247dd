"""Circuit breakers: an upstream that keeps failing is skipped for a while."""

from dataclasses import dataclass

_FAILURES = 3
_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
# An upstream may request a longer pause, up to this.
_LONGEST_NAMED_SECONDS = 600.0


@dataclass(slots=True)
class Breaker:
    """Closed at first; `failures` in a row open it for a time that grows while nothing gets
    through. After that time one try goes through, and decides. Times are of one clock, in seconds.
    """

    failures: int = 0
    open_until: float = 0.0
    reason: str = ""
    _pause: float = 0.0
    _probing_until: float = 0.0

    @property
    def is_open(self) -> bool:
        """It opened, and no attempt succeeded since."""
        return self.open_until > 0.0

    def allows(self, now: float, *, seconds: float) -> bool:
        """Whether the next attempt may go; after a pause only one may, within `seconds`."""
        if not self.is_open:
            return True
        if now < self.open_until or now < self._probing_until:
            return False
        self._probing_until = now + seconds
        return True

    def succeeded(self) -> bool:
        """An attempt succeeded. Returns whether that closes the breaker."""
        closes = self.is_open
        self.reset()
        return closes

    def failed(self, now: float, reason: str, *, retry_after: float | None = None) -> bool:
        """An attempt failed. Returns whether that opens the breaker, or opens it again."""
        self.failures += 1
        if now < self.open_until:
            return False  # an attempt from before it opened
        if self.failures < _FAILURES and not self.is_open and retry_after is None:
            return False
        self._pause = min(max(self._pause * 2, _FIRST_SECONDS), _LONGEST_SECONDS)
        named = min(retry_after or 0.0, _LONGEST_NAMED_SECONDS)
        self.open_until = now + max(self._pause, named)
        self._probing_until = 0.0
        self.reason = reason
        return True

    def reset(self) -> None:
        """Closes it and forgets failures."""
        self.failures, self.open_until, self.reason = 0, 0.0, ""
        self._pause = self._probing_until = 0.0
