"""Texts of whole blocks that were asked for lately. A recorded block never changes, so an entry is
right for as long as that recording is stored, which its key names: the blockhash would not do,
since a block that is recorded anew, from another source, may have another text.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock


class BodyCache:
    """The most recently used texts, up to a number of bytes, for one process."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._texts: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The text under the key, made when it is not there. Two threads may make it at once."""
        with self._lock:
            text = self._texts.get(key)
            if text is not None:
                self._texts.move_to_end(key)
                return text
        text = make()
        if len(text) > self._capacity // 2:
            return text
        with self._lock:
            if key not in self._texts:
                self._texts[key] = text
                self._size += len(text)
            while self._size > self._capacity:
                _, dropped = self._texts.popitem(last=False)
                self._size -= len(dropped)
        return text
