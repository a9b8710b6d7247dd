"""A value that one process keeps for a while."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Kept(Generic[_Value]):
    """A value for all callers of this process, read again by one of them when it is older than
    `seconds`; meanwhile the others get the old one. `read` is given the old one, None at first.
    """

    def __init__(self, seconds: float, read: Callable[[_Value | None], _Value]) -> None:
        self._seconds, self._read = seconds, read
        self._lock = Lock()
        self._until = 0.0
        self._value: _Value | None = None

    def value(self) -> _Value:
        """Raises what `read` does."""
        found = self._value
        if found is not None and (time.monotonic() < self._until or self._lock.locked()):
            return found
        with self._lock:
            if self._value is None or time.monotonic() >= self._until:
                self._value = self._read(self._value)
                self._until = time.monotonic() + self._seconds
            return self._value

    def forget(self) -> None:
        """Reads again at the next call, for tests that change what is stored."""
        self._until, self._value = 0.0, None
