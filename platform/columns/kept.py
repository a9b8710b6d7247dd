"""Values that one process keeps for a while."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_all: list[Callable[[], None]] = []


def forget_all() -> None:
    """Empties them, for tests: what is stored is something else now."""
    for forget in _all:
        forget()


class Kept(Generic[_Value]):
    """A value for all callers of this process, read again by one of them when it is older than
    `seconds`; meanwhile the others get the old one. `read` is given the old one, None at first.
    """

    def __init__(self, seconds: float, read: Callable[[_Value | None], _Value]) -> None:
        self._seconds, self._read = seconds, read
        self._lock = Lock()
        self._until = 0.0
        self._value: _Value | None = None
        _all.append(self.forget)

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
        """Reads again at the next call."""
        self._until, self._value = 0.0, None


class Remembered(dict[_Key, _Value]):
    """Values by key, of a module; its functions say for how long."""

    def __init__(self) -> None:
        super().__init__()
        _all.append(self.clear)
