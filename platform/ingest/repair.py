"""SlotRepairer: fetches incomplete slots again from the streams' replays, beside the streams."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chain.units import Slot
from ingest.joining import JoinedStreams
from ingest.sources import Stream
from upstream.geyser.client import GeyserStream, first_available
from upstream.geyser.errors import FromSlotTooOld, StreamError
from upstream.geyser.events import SlotClosed
from upstream.geyser.replays import replayed

log = logging.getLogger(__name__)

# A replay that brings nothing new will usually do so again, unless messages are lost at random:
# after this many in a row of each stream the slot is given up.
_FRUITLESS = 6
# Between two rounds; doubled after each fruitless one.
_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


@dataclass(slots=True)
class _Tried:
    """Attempts for a slot: streams that no longer have it, and rounds without anything new."""

    gone: set[int] = field(default_factory=set)
    fruitless: int = 0


class SlotRepairer:
    """A thread that reads one replay at a time, from one stream after the other, until the slots
    are complete or no stream has them any more. `wake` it when a slot is incomplete.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        slots: JoinedStreams,
        *,
        stores_untouched: Callable[[], bool],
        limit_bytes: int,
    ) -> None:
        self._streams = streams
        self._slots = slots
        self._stores_untouched = stores_untouched
        self._limit = limit_bytes
        self._tried: dict[Slot, _Tried] = {}
        self._round = 0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._reading: GeyserStream | None = None
        self._thread = threading.Thread(target=self._run, name="slot-repairer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        """Ends the thread, also in the middle of a replay."""
        self._stopping.set()
        self._wake.set()
        reading = self._reading
        if reading is not None:
            reading.close()
        self._thread.join(timeout=15.0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait()
            self._wake.clear()
            pause = _PAUSE_SECONDS
            while not self._stopping.is_set() and (wanted := self._slots.wanted()):
                try:
                    is_new = self._ask(wanted)
                except Exception:
                    log.exception("slots could not be repaired")
                    is_new = False
                    self._count_fruitless(wanted)
                self._give_up(wanted)
                pause = _PAUSE_SECONDS if is_new else min(2 * pause, _LONGEST_PAUSE_SECONDS)
                self._stopping.wait(pause)
            self._tried.clear()

    def _ask(self, wanted: Sequence[Slot]) -> bool:
        """One round: reads the next stream's replay of the slots; True if anything was new."""
        number = self._round % len(self._streams)
        self._round += 1
        stream = self._streams[number]
        try:
            oldest = first_available(stream.url, token=stream.token)
            self._are_gone(
                number, [slot for slot in wanted if oldest is not None and slot < oldest]
            )
            left = [slot for slot in wanted if number not in self._of(slot).gone]
            return bool(left) and self._replay(number, stream, left)
        except FromSlotTooOld as error:
            oldest = error.first_available
            gone = [slot for slot in wanted if oldest is None or slot < oldest]
            self._are_gone(number, gone)
            self._count_fruitless([slot for slot in wanted if slot not in gone])
        except StreamError as error:
            log.info("the replay of the %s is not available: %s", stream.name, error)
            self._count_fruitless(wanted)
        return False

    def _replay(self, number: int, stream: Stream, wanted: Sequence[Slot]) -> bool:
        log.info("requesting slots %d to %d again from the %s", wanted[0], wanted[-1], stream.name)
        improved: set[Slot] = set()
        for event in replayed(
            stream.url,
            stream.token,
            wanted[0],
            wanted[-1],
            stores_untouched=self._stores_untouched(),
            limit_bytes=self._limit,
            opened=self._opened,
        ):
            slot = Slot(event.closed.slot) if isinstance(event, SlotClosed) else event.slot
            if slot in wanted and self._slots.replayed(number, slot, event.buffers):
                improved.add(slot)
            if self._stopping.is_set():
                break
        for slot in wanted:
            tried = self._of(slot)
            tried.fruitless = 0 if slot in improved else tried.fruitless + 1
        return bool(improved)

    def _opened(self, stream: GeyserStream) -> None:
        self._reading = stream
        if self._stopping.is_set():
            stream.close()

    def _give_up(self, wanted: Sequence[Slot]) -> None:
        for slot in wanted:
            tried = self._of(slot)
            is_gone = len(tried.gone) == len(self._streams)
            if is_gone or tried.fruitless >= _FRUITLESS * len(self._streams):
                why = "no stream has it any more" if is_gone else "replays bring nothing new"
                log.info("slot %d cannot be repaired: %s", slot, why)
                self._slots.not_repairable(slot)

    def _are_gone(self, number: int, slots: Sequence[Slot]) -> None:
        for slot in slots:
            self._of(slot).gone.add(number)

    def _count_fruitless(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            self._of(slot).fruitless += 1

    def _of(self, slot: Slot) -> _Tried:
        return self._tried.setdefault(slot, _Tried())
