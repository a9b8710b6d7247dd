"""What a process remembers of the database for as long as nothing is committed that changes it."""

import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from columns.generations import LONGEST_SECONDS, Generation

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key, read under one number of a generation. At most twice `capacity` of them, and
    what was kept at once: when so many were used or read, those that have not been used since the
    time before are dropped.

    Any thread may use it; two may read the same at once.
    """

    def __init__(self, generation: Generation, capacity: int) -> None:
        self._generation = generation
        self._capacity = capacity
        self._number: int | None = None
        self._since = 0.0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def now(self) -> int | None:
        """The generation's number, for `find` and `keep`; None: nothing may be remembered."""
        number = self._generation.read()
        if number is None:
            return None
        moment = time.monotonic()
        if number != self._number or moment - self._since > LONGEST_SECONDS:
            # The number last: what another thread keeps meanwhile goes into what is dropped.
            self._young, self._old = {}, {}
            self._number, self._since = number, moment
        return number

    def find(self, key: K) -> V | None:
        """What is remembered; to be called right behind `now`."""
        young = self._young
        found = young.get(key)
        if found is not None:
            return found
        found = self._old.get(key)
        if found is not None:
            self._add(young, key, found)
        return found

    def keep(self, key: K, value: V, number: int | None) -> None:
        """Remembers what was read behind a `now` that gave the number, if it is so still."""
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
        """The value, read where it is not remembered; None, which is not remembered, if `read`
        gives that.
        """
        number = self.now()
        if number is not None:
            found = self.find(key)
            if found is not None:
                return found
        value = read()
        if value is not None:
            self.keep(key, value, number)
        return value

    def _add(self, young: dict[K, V], key: K, value: V) -> None:
        young[key] = value
        self._make_room(young)

    def _make_room(self, young: dict[K, V]) -> None:
        if len(young) >= self._capacity and young is self._young:
            self._old, self._young = young, {}
