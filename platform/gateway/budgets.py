"""What the answers to one body and to one key may take, in bytes."""

import threading
from collections import Counter
from collections.abc import Callable

from django.conf import settings

from access.callers import Caller
from jsonrpc.errors import RpcError

# What a dear call of a batch takes from the limit of requests.
EXPENSIVE_PRICE = 5
# Answers below this are not counted while they are sent.
_SMALL = 65_536


class AnswerTooLarge(RpcError):
    """The result does not fit into what one answer, or all answers to a key together, may hold."""

    code = -32005
    reason = "answer_too_large"

    def __init__(self, maximum: int, required: int | None = None) -> None:
        data = {"maximum": maximum}
        if required is not None:
            data["required"] = required
        super().__init__(f"The answer is too large: at most {maximum} bytes", data=data)


class _InUse:
    """Bytes of answers in this process, by holder (a key's id; None: everybody without a key)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.bytes: Counter[int | None] = Counter()


_in_use = _InUse()


class Budget:
    """One body's. Methods may ask before they build something large: `require(bytes)`."""

    __slots__ = ("_holder", "_kept", "_used", "maximum")

    def __init__(self, caller: Caller | None = None) -> None:
        self.maximum: int = settings.MAX_ANSWER
        self._holder = None if caller is None else caller.key_id
        self._used = 0
        self._kept = 0

    @property
    def left(self) -> int:
        """Bytes that the rest of the answer may have."""
        return self.maximum - self._used

    def require(self, size: int) -> None:
        """Raises AnswerTooLarge where so many bytes more do not fit."""
        if size > self.left:
            raise AnswerTooLarge(self.maximum, self._used + size)
        if size > _SMALL and _in_use.bytes[self._holder] + size > settings.MAX_ANSWERS_OF_KEY:
            raise AnswerTooLarge(settings.MAX_ANSWERS_OF_KEY)

    def before(self) -> None:
        """Called before a method runs. Raises AnswerTooLarge where nothing is left."""
        if self._used >= self.maximum:
            raise AnswerTooLarge(self.maximum)

    def spend(self, size: int) -> None:
        """Counts the bytes of a result. Raises AnswerTooLarge where they do not fit."""
        self.require(size)
        self._used += size
        if size > _SMALL:
            with _in_use.lock:
                _in_use.bytes[self._holder] += size
            self._kept += size

    def kept_until_sent(self) -> Callable[[], None] | None:
        """What to call when the answer has been sent; None where nothing is kept for it."""
        if not self._kept:
            return None
        kept = _Kept(self._holder, self._kept)
        self._kept = 0
        return kept.give_back

    def close(self) -> None:
        """Gives back what no answer will be sent for."""
        if self._kept:
            _give_back(self._holder, self._kept)
            self._kept = 0


class _Kept:
    """Bytes of an answer that is on its way. They are given back once: when the server has sent it,
    or when nobody holds it any more, under a server that does not say.
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
