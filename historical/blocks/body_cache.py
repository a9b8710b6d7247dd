"""A cache of recently requested texts, of whole blocks and of frames. A recorded block never
changes, so a text is right for as long as that recording is stored, which its key names: the
blockhash would not do, since a block that is recorded again, from another source, may have another.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from threading import Event, Lock
from typing import Generic, TypeVar

T = TypeVar("T", bound=Sized)


class BodyCache(Generic[T]):
    """The most recently used texts, up to a number of bytes, for one process."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._texts: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, Event] = {}
        self._lock = Lock()

    def find(self, key: Hashable) -> T | None:
        """The text under the key, None when it is not there."""
        with self._lock:
            text = self._texts.get(key)
            if text is not None:
                self._texts.move_to_end(key)
            return text

    def keep(self, key: Hashable, text: T) -> None:
        """Keeps the text, unless it would push out most of the others."""
        if len(text) > self._capacity // 2:
            return
        with self._lock:
            if key not in self._texts:  # another may have made it meanwhile
                self._texts[key] = text
                self._size += len(text)
            while self._size > self._capacity:
                _, dropped = self._texts.popitem(last=False)
                self._size -= len(dropped)

    def forget(self) -> None:
        with self._lock:
            self._texts.clear()
            self._size = 0

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The text under the key, made when it is not there. Threads that want the same text wait
        for the one that makes it.
        """
        text = self.find(key)
        if text is None:
            text = self._made(key, make)
            self.keep(key, text)
        return text

    def _made(self, key: Hashable, make: Callable[[], T]) -> T:
        """The text, by this thread or by the one that makes it already."""
        while True:
            with self._lock:
                text = self._texts.get(key)
                if text is not None:
                    return text
                made = self._making.get(key)
                if made is None:
                    made = self._making[key] = Event()
                    break
            made.wait()
        try:
            text = make()
            self.keep(key, text)
            return text
        finally:
            with self._lock:
                del self._making[key]
            made.set()
