"""Limits on the size of responses, in bytes: of one body, and of one key."""

import threading
from collections import Counter
from collections.abc import Callable

from django.conf import settings

from access.callers import Caller
from jsonrpc.errors import RpcError

# What an expensive call of a batch takes from the limit of requests.
EXPENSIVE_PRICE = 5
# Answers below this are not counted while they are sent.
_SMALL = 65_536


class AnswerTooLarge(RpcError):
    """The result is larger than one response, or all responses to a key together, may be."""

    code = -32005
    reason = "answer_too_large"

    def __init__(self, maximum: int, required: int | None = None) -> None:
        data = {"maximum": maximum}
        if required is not None:
            data["required"] = required
        super().__init__(f"The answer is too large: at most {maximum} bytes", data=data)


class _InUse:
    """Bytes of responses in this process, by key id (None: all callers without a key)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.bytes: Counter[int | None] = Counter()


_in_use = _InUse()


class Budget:
    """The budget of one body. Methods may check before they build a large result: `require`."""

    __slots__ = ("_holder", "_kept", "_used", "maximum")

    def __init__(self, caller: Caller | None = None) -> None:
        self.maximum: int = settings.MAX_ANSWER
        self._holder = None if caller is None else caller.key_id
        self._used = 0
        self._kept = 0

    @property
    def left(self) -> int:
        """Bytes left for the rest of the response."""
        return self.maximum - self._used

    def require(self, size: int) -> None:
        """Raises AnswerTooLarge if `size` more bytes do not fit."""
        if size > self.maximum - self._used:
            raise AnswerTooLarge(self.maximum, self._used + size)
        if size > _SMALL and _in_use.bytes[self._holder] + size > settings.MAX_ANSWERS_OF_KEY:
            raise AnswerTooLarge(settings.MAX_ANSWERS_OF_KEY)

    def before(self) -> None:
        """Called before a call of a batch. Raises AnswerTooLarge if nothing is left."""
        if self._used >= self.maximum:
            raise AnswerTooLarge(self.maximum)

    def spend(self, size: int) -> None:
        """Counts the bytes of a result. Raises AnswerTooLarge if they do not fit."""
        if size > _SMALL or size > self.maximum - self._used:
            self.require(size)
        self._used += size
        if size > _SMALL:
            with _in_use.lock:
                _in_use.bytes[self._holder] += size
            self._kept += size

    def kept_until_sent(self) -> Callable[[], None] | None:
        """A function to call when the response has been sent; None if no bytes are held."""
        if not self._kept:
            return None
        kept = _Kept(self._holder, self._kept)
        self._kept = 0
        return kept.give_back

    def close(self) -> None:
        """Releases the bytes of a response that will not be sent."""
        if self._kept:
            _give_back(self._holder, self._kept)
            self._kept = 0


class _Kept:
    """The bytes of a response until the server has sent it; under a server that does not report
    this, until the object is collected.
    """

    def __init__(self, holder: int | None, size: int) -> None:
        self._holder = holder
        self._size = size

    def give_back(self) -> None:
        size, self._size = self._size, 0
        if size:
            _give_back(self._holder, size)

    def __del__(self) -> None:
        self.give_back()


def _give_back(holder: int | None, size: int) -> None:
    with _in_use.lock:
        _in_use.bytes[holder] -= size
        if _in_use.bytes[holder] <= 0:
            del _in_use.bytes[holder]
