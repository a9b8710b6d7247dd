"""Caches in memory: of immutable values, bounded by bytes, each made once at a time; and of values
of the database, valid until a commit changes them.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import Any, Generic, TypeVar

from columns.generations import LONGEST_SECONDS, Generation
from eventloop.faces import complete

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

# What an entry takes beside its value: counts for small values.
ENTRY_BYTES = 200


class ByteCache(Generic[T]):
    """The most recently used values of one process, up to `capacity` bytes, each with `entry_bytes`
    beside its own, of which `size_of` gives the number. Safe for threads: those that want the same
    value wait for the one that makes it, and get its error if it fails.
    """

    def __init__(
        self, capacity: int, *, entry_bytes: int = 0, size_of: Callable[[Any], int] = len
    ) -> None:
        self._capacity = capacity
        self._entry_bytes = entry_bytes
        self._size_of = size_of
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
        size = self._size_of(value)
        if size > self._capacity // 2:
            return
        with self._lock:
            if key not in self._values:  # another may have made it meanwhile
                self._values[key] = value
                self._size += size + self._entry_bytes
            while self._size > self._capacity:
                self._pop(next(iter(self._values)))

    def replace(self, key: Hashable, value: T) -> None:
        """Keeps the value instead of what was there."""
        self.drop([key])
        self.keep(key, value)

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
        self._size -= self._size_of(self._values.pop(key)) + self._entry_bytes


class GenerationCache(Generic[K, V]):
    """Values by key, read under one number of a generation. Holds at most twice `capacity`, and
    what was kept at once: after `capacity` values were added or used, those unused since the
    previous sweep are dropped.

    Thread-safe; two threads may read the same value at once.
    """

    def __init__(self, generation: Generation, capacity: int) -> None:
        self._generation = generation
        self._capacity = capacity
        self._number: int | None = None
        self._since = 0.0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def now(self) -> int | None:
        """The generation's number, for `find` and `keep`; None: nothing may be cached."""
        number = self._generation.read()
        if number is None:
            return None
        moment = time.monotonic()
        if number != self._number or moment - self._since > LONGEST_SECONDS:
            # The number last: what another thread adds meanwhile goes to the dropped dicts.
            self._young, self._old = {}, {}
            self._number, self._since = number, moment
        return number

    def find(self, key: K) -> V | None:
        """The cached value; call it right after `now`."""
        young = self._young
        found = young.get(key)
        if found is not None:
            return found
        found = self._old.get(key)
        if found is not None:
            self._add(young, key, found)
        return found

    def keep(self, key: K, value: V, number: int | None) -> None:
        """Caches a value read after `now` returned the number, if that is still current."""
        young = self._young
        if number is not None and number == self._number and number == self._generation.read():
            self._add(young, key, value)

    def keep_all(self, values: Mapping[K, V], number: int | None) -> None:
        """As `keep` does, many at once."""
        young = self._young
        if number is not None and number == self._number and number == self._generation.read():
            young.update(values)
            self._make_room(young)

    def get(self, key: K, read: Callable[[], V | None]) -> V | None:
        """The value, from `read` if it is not cached. A None from `read` is not cached."""

        async def value() -> V | None:
            return read()

        return complete(self.aget(key, value))

    async def aget(self, key: K, read: Callable[[], Awaitable[V | None]]) -> V | None:
        """The same, awaited."""
        number = self.now()
        if number is not None:
            found = self.find(key)
            if found is not None:
                return found
        value = await read()
        if value is not None:
            self.keep(key, value, number)
        return value

    def _add(self, young: dict[K, V], key: K, value: V) -> None:
        young[key] = value
        self._make_room(young)

    def _make_room(self, young: dict[K, V]) -> None:
        if len(young) >= self._capacity and young is self._young:
            self._old, self._young = young, {}
