"""Reader: sends a subscription what is stored since its beginning, then what happens."""

import asyncio
import logging
from typing import TYPE_CHECKING

from historical.blocks.services.stored_content import Unreadable
from livefeed.messages import Answer, Level
from shared_state.outages import AWAY
from subscriptions import history
from subscriptions.errors import MemoryUnknown
from subscriptions.kinds import Result, Subscription, encode
from subscriptions.past import Memory

if TYPE_CHECKING:
    from subscriptions.connection import Connection
    from subscriptions.hub import Hub

log = logging.getLogger(__name__)

_GAP = "gapNotification"
_PAUSE_SECONDS = 0.3
_FINDING_SECONDS = 10.0
# A slot that is not stored so long after its chain went on is a gap.
_MISSING_SECONDS = 60.0
# So near to what is stored last, what happens is asked for too.
_NEAR_SLOTS = 300


class Reader:
    """`run` until the subscription ends."""

    def __init__(
        self, subscription: Subscription, memory: Memory, hub: "Hub", connection: "Connection"
    ) -> None:
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
            if memory.from_signature is not None and not await self._find():
                return
            while True:
                try:
                    await self._once()
                except (*AWAY, Unreadable) as error:
                    log.warning("a subscription waits for what is stored: %s", error)
                    await asyncio.sleep(1.0)
                hub.close(self._subscription)
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
            await asyncio.sleep(_PAUSE_SECONDS)
        if place is None:
            reason = {"reason": MemoryUnknown.reason}
            self._notify_gap(encode(reason), 0)
            self._connection.unsubscribe(self._subscription.number)
            return False
        # A slot as a whole is not behind its own transaction.
        begin = place[0] if self._subscription.is_of_slots else place[0] - 1
        memory.position, memory.after = begin, place
        return True

    async def _once(self) -> None:
        """Reads what is stored, then sends what happens, until something may be missing."""
        memory = self._memory
        await self._read_to(None)
        memory.begin()
        answer = await self._open()
        if answer is None or not answer.root:
            await asyncio.sleep(1.0)
            return
        await self._read_to(answer.root)
        if memory.lost.is_set():
            return
        memory.go_live()
        await memory.lost.wait()

    async def _open(self) -> Answer | None:
        found: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def ready(answer: Answer | None) -> None:
            if not found.done():
                found.set_result(answer)

        # Of slots that are not final the feed sends again what is not stored yet.
        again = self._subscription.level is not Level.FINALIZED
        self._hub.open(self._subscription, ready, again=again)
        return await found

    async def _read_to(self, target: int | None) -> None:
        """Reads on until the slot, which will be stored; without one, until near the end."""
        memory, hub = self._memory, self._hub
        waited = 0.0
        while True:
            bounds = await hub.in_past(history.bounds_of, self._subscription)
            stored = -1 if bounds is None else bounds[1]
            # Nothing will happen where the chain is silent: what is stored is all there is.
            near = stored - (_NEAR_SLOTS if hub.link.is_fed else 0)
            if target is None and memory.position >= near:
                return
            if target is not None and memory.position >= target:
                return
            if bounds is not None and memory.position + 1 < bounds[0] <= stored:
                self._gap(memory.position + 1, bounds[0] - 1, "not_kept")
                memory.position = bounds[0] - 1
            before = memory.position
            if stored > before:
                last = min(stored, before + history.WINDOW_SLOTS)
                last = last if target is None else min(last, target)
                waits = waited < _MISSING_SECONDS
                await self._read(before + 1, last, waits=waits)
            if memory.position > before:
                waited = 0.0
                continue
            await asyncio.sleep(_PAUSE_SECONDS)
            waited += _PAUSE_SECONDS
            if memory.lost.is_set() and target is not None:
                return

    async def _read(self, first: int, last: int, *, waits: bool) -> None:
        memory = self._memory
        if memory.is_live:
            memory.begin()
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

    def _deliver(self, slot: int, results: list[Result]) -> None:
        for result, index in results:
            self._connection.notify(self._subscription, result, slot, index)

    def _gap(self, first: int, last: int, status: str) -> None:
        self._notify_gap(encode({"fromSlot": first, "toSlot": last, "status": status}), last)

    def _notify_gap(self, result: bytes, slot: int) -> None:
        self._connection.notify_as(_GAP, self._subscription, result, slot, None)
