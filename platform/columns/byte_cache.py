"""A cache of immutable values in memory, bounded by bytes; each is made once at a time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sized
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T", bound=Sized)

# What an entry takes beside its value: counts for small values.
ENTRY_BYTES = 200


class ByteCache(Generic[T]):
    """The most recently used values of one process, up to `capacity` bytes, each with `entry_bytes`
    beside its own. Safe for threads: those that want the same value wait for the one that makes it,
    and get its error if it fails.
    """

    def __init__(self, capacity: int, *, entry_bytes: int = 0) -> None:
        self._capacity = capacity
        self._entry_bytes = entry_bytes
        self._size = 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, Future[T]] = {}
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Bytes that the values take now."""
        return self._size

    def find(self, key: Hashable) -> T | None:
        """The value under the key, None when it is not there."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value under the key, made when it is not there. Raises what `make` raises."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
                return value
            made = self._making.get(key)
            if made is None:
                mine = self._making[key] = Future()
        if made is not None:
            return made.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._making[key]
            mine.set_exception(error)
            raise
        self.keep(key, value)
        with self._lock:
            del self._making[key]
        mine.set_result(value)
        return value

    def keep(self, key: Hashable, value: T) -> None:
        """Keeps the value, unless it would push out most of the others."""
        if len(value) > self._capacity // 2:
            return
        with self._lock:
            if key not in self._values:  # another may have made it meanwhile
                self._values[key] = value
                self._size += len(value) + self._entry_bytes
            while self._size > self._capacity:
                self._pop(next(iter(self._values)))

    def drop(self, keys: Iterable[Hashable]) -> None:
        """Forgets the values."""
        with self._lock:
            for key in keys:
                if key in self._values:
                    self._pop(key)

    def forget(self) -> None:
        """Forgets all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _pop(self, key: Hashable) -> None:
        self._size -= len(self._values.pop(key)) + self._entry_bytes
