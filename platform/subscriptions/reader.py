"""Reader: sends a subscription what is stored since its beginning, then what happens."""

import asyncio
import logging
from typing import TYPE_CHECKING

from livefeed.messages import Level
from subscriptions import history
from subscriptions.errors import MemoryUnknown
from subscriptions.kinds import Result, Subscription, encode
from subscriptions.link import Ready
from subscriptions.past import Memory
from subscriptions.stored_first import StoredFirst

if TYPE_CHECKING:
    from subscriptions.connection import Connection
    from subscriptions.hub import Hub

log = logging.getLogger(__name__)

_GAP = "gapNotification"
_FINDING_SECONDS, _FINDING_PAUSE_SECONDS = 10.0, 0.3


class Reader(StoredFirst[list[Result]]):
    """`run` until the subscription ends."""

    window = history.WINDOW_SLOTS
    is_over = False  # its task is cancelled

    def __init__(
        self, subscription: Subscription, memory: Memory, hub: "Hub", connection: "Connection"
    ) -> None:
        super().__init__(memory)
        self._subscription = subscription
        self._memory = memory
        self._hub = hub
        self._connection = connection
        memory.deliver = self._deliver

    async def run(self) -> None:
        memory, hub = self._memory, self._hub
        hub.on_lost[self] = memory.lost.set
        hub.on_root[self] = memory.reached
        try:
            if memory.from_signature is None or await self._find():
                await self.keep_on()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a subscription could not read the past")
            self._connection.end("sockets_unavailable")
        finally:
            del hub.on_lost[self], hub.on_root[self]
            hub.close(self._subscription)

    async def _find(self) -> bool:
        """The place of the transaction behind which it begins."""
        memory = self._memory
        assert memory.from_signature is not None
        deadline = asyncio.get_running_loop().time() + _FINDING_SECONDS
        while True:
            place = await self._hub.in_past(history.place_of, memory.from_signature)
            if place is not None or asyncio.get_running_loop().time() > deadline:
                break
            # What was notified a moment ago is perhaps not stored yet.
            await asyncio.sleep(_FINDING_PAUSE_SECONDS)
        if place is None:
            reason = {"reason": MemoryUnknown.reason}
            self._notify_gap(encode(reason), 0)
            self._connection.unsubscribe(self._subscription.number)
            return False
        # A slot as a whole is not behind its own transaction.
        begin = place[0] if self._subscription.is_of_slots else place[0] - 1
        memory.position, memory.after = begin, place
        return True

    @property
    def is_fed(self) -> bool:
        return self._hub.link.is_fed

    async def bounds(self) -> tuple[int, int] | None:
        return await self._hub.in_past(history.bounds_of, self._subscription)

    def open(self, ready: Ready) -> None:
        # Of slots that are not final the feed sends again what is not stored yet.
        again = self._subscription.level is not Level.FINALIZED
        self._hub.open(self._subscription, ready, again=again)

    async def close(self) -> None:
        self._hub.close(self._subscription)

    def pass_over(self, first: int, last: int) -> None:
        self._gap(first, last, "not_kept")

    async def read(self, first: int, last: int, *, waits: bool) -> None:
        memory = self._memory
        page = await self._hub.in_past(
            lambda: history.read(self._subscription, first, last, waits=waits, after=memory.after)
        )
        gaps = list(page.gaps)
        for slot, results in page.slots:
            while gaps and gaps[0][1] < slot:
                self._gap(*gaps.pop(0))
            memory.send(slot, results)
            memory.position = max(memory.position, slot)
            await self._connection.drained()
        for gap in gaps:
            self._gap(*gap)
        memory.position = max(memory.position, page.last)

    def _deliver(self, slot: int, results: list[Result]) -> int:
        begin, after = self._memory.after
        for result, index in results:
            if slot != begin or index is None or index > after:
                self._connection.notify(self._subscription, result, slot, index)
        return len(results)

    def _gap(self, first: int, last: int, status: str) -> None:
        self._notify_gap(encode({"fromSlot": first, "toSlot": last, "status": status}), last)

    def _notify_gap(self, result: bytes, slot: int) -> None:
        self._connection.notify_as(_GAP, self._subscription, result, slot, None)
