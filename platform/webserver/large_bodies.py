"""Bodies above the maximum: which callers may send them, and a process's limit of bytes."""

import asyncio
import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable

from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Refused

log = logging.getLogger(__name__)


class LargeBodies:
    """`serves` checks on the event loop whether the path of a request's head takes large bodies.
    `holder_of` finds the sender in one of the lane's threads, None if it may not send one. Up to
    `maximum` bytes each, `of_holder` of one holder at a time and `of_all` together, from the
    admission of a body until its request is answered.
    """

    def __init__(
        self,
        *,
        maximum: int,
        of_holder: int,
        of_all: int,
        lane: Lane,
        serves: Callable[[Request], bool],
        holder_of: Callable[[Request, str], bytes | None],
    ) -> None:
        self.maximum = maximum
        self.lane = lane
        self._of_holder = of_holder
        self._of_all = of_all
        self._serves = serves
        self._holder_of = holder_of
        self._held: Counter[bytes] = Counter()
        self._all_held = 0
        self._lock = threading.RLock()  # a request may be collected while this thread holds it

    def ask(
        self,
        request: Request,
        address: str,
        loop: asyncio.AbstractEventLoop,
        reply: Callable[[Refused | None], None],
    ) -> Refused | None:
        """Calls `reply` on the loop with None if the request's body is admitted, or with the
        refusal. A refusal that is known at once is returned instead.
        """
        if request.length > self.maximum or not self._serves(request):
            return Refused.BODY_TOO_LARGE
        if not self.lane.has_room():
            return Refused.OVERLOADED

        def look() -> None:
            why: Refused | None = Refused.BODY_TOO_LARGE
            try:
                holder = self._holder_of(request, address)
                if holder is not None:
                    why = self._take(request, holder)
            except Exception:
                log.exception("the check of a large body failed")
                why = Refused.OVERLOADED
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process stops
                loop.call_soon_threadsafe(reply, why)

        self.lane.submit(look)
        return None

    def give_back(self, holder: bytes, size: int) -> None:
        with self._lock:
            self._all_held -= size
            self._held[holder] -= size
            if not self._held[holder]:
                del self._held[holder]

    def _take(self, request: Request, holder: bytes) -> Refused | None:
        size = request.length
        with self._lock:
            if self._held[holder] + size > self._of_holder:
                return Refused.TOO_MANY_AT_ONCE
            if self._all_held + size > self._of_all:
                return Refused.OVERLOADED
            self._held[holder] += size
            self._all_held += size
        request.held = _Held(self, holder, size)
        return None


class _Held:
    """Room that is given back when the request that has it is gone, whatever became of it."""

    __slots__ = ("_bodies", "_holder", "_size")

    def __init__(self, bodies: LargeBodies, holder: bytes, size: int) -> None:
        self._bodies = bodies
        self._holder = holder
        self._size = size

    def __del__(self) -> None:
        self._bodies.give_back(self._holder, self._size)
