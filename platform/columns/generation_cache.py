"""A cache of database values that is valid until a commit changes them."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from columns.generations import LONGEST_SECONDS, Generation
from eventloop.faces import complete

K = TypeVar("K")
V = TypeVar("V")


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
