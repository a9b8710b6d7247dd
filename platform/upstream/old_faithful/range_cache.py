"""A cache of immutable values in memory, bounded by bytes; each is made once at a time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from threading import Lock

# What a value takes beside its bytes.
_ENTRY_BYTES = 200


class RangeCache:
    """The most recently used values, up to `capacity` bytes. Safe for threads: those that want the
    same value wait for the one that makes it, and get its error if it fails.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._values: OrderedDict[Hashable, bytes] = OrderedDict()
        self._making: dict[Hashable, Future[bytes]] = {}
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Bytes that the values take now."""
        return self._size

    def find(self, key: Hashable) -> bytes | None:
        """The value under the key, None when it is not there."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
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
        with self._lock:
            del self._making[key]
            self._keep(key, value)
        mine.set_result(value)
        return value

    def drop(self, keys: Iterable[Hashable]) -> None:
        """Forgets the values."""
        with self._lock:
            for key in keys:
                value = self._values.pop(key, None)
                if value is not None:
                    self._size -= len(value) + _ENTRY_BYTES

    def _keep(self, key: Hashable, value: bytes) -> None:
        """A value that would push out most of the others is not kept."""
        if len(value) > self._capacity // 2 or key in self._values:
            return
        self._values[key] = value
        self._size += len(value) + _ENTRY_BYTES
        while self._size > self._capacity:
            _, dropped = self._values.popitem(last=False)
            self._size -= len(dropped) + _ENTRY_BYTES
