"""Joiner: merges slots of one chain from several streams and replays, each passed on once.

JoinedStreams does so for the threads that read the streams.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from chain.slot_ranges import SlotRange, subtract
from chain.units import I64_MAX, Slot
from gaps.slot_gap import GapStatus
from ingest.errors import AnotherBlock
from ingest.event_publisher import EventPublisher
from ingest.slot_queue import pack
from ingest.slot_sender import Lost, SlotSender
from livefeed.feed import LiveFeed
from upstream.geyser.events import HeadMoved, SlotClosed, SlotIncomplete
from upstream.geyser.merged_blocks import best_of_all
from upstream.geyser.pending_slots import closed_slot
from upstream.geyser.slot_buffers import SlotBuffer, Wholeness

log = logging.getLogger(__name__)

# How long other streams are waited for: LAG where every provable write is present, SHORT where
# something is missing, as long as for a replay.
LAG_SECONDS = 5.0
SHORT_SECONDS = 45.0
# Passed on slots that are remembered: two hours of mainnet, 3 MB.
_REMEMBERED = 20_000
# Receptions of one slot that are kept, of all streams and replays.
_MOST_PARTS = 8

Outcome: TypeAlias = SlotClosed | Lost


class _Settled(NamedTuple):
    blockhash: str
    parent: int
    wholeness: Wholeness


@dataclass(slots=True)
class _Part:
    """A slot as received from one stream's server, over one connection or several."""

    stream: int
    buffer: SlotBuffer


@dataclass(slots=True)
class _Held:
    """A finalized slot that is not proved complete yet."""

    since: float
    reason: str
    parts: list[_Part] = field(default_factory=list)
    streams: set[int] = field(default_factory=set)
    # True while a replay may still add to it.
    is_repairable: bool = True
    # Whether a connection had it as it happened, from its beginning: else it comes of replays.
    came_live: bool = False
    # Replays of it in a row that brought nothing new.
    fruitless: int = 0
    # All parts combined.
    best: SlotBuffer | None = None
    wholeness: Wholeness = Wholeness.PARTIAL

    @property
    def size(self) -> int:
        return sum(each.buffer.size for each in self.parts)

    def add(self, stream: int, buffers: Sequence[SlotBuffer]) -> bool:
        """Adds the buffers; True if they held anything new."""
        before = self._known()
        for buffer in buffers:
            for part in self.parts:
                # Versions of two servers cannot be compared.
                together = part.buffer.joined(buffer) if part.stream == stream else None
                if together is not None:
                    part.buffer = together
                    break
            else:
                self.parts.append(_Part(stream, buffer))
        if len(self.parts) > _MOST_PARTS:
            self.parts.sort(key=lambda each: -each.buffer.size)
            del self.parts[_MOST_PARTS:]
        return bool(self._known() - before)

    def _known(self) -> set[object]:
        found: set[object] = set()
        for each in self.parts:
            found |= {(write.pubkey, write.signature) for write in each.buffer.writes.values()}
            found |= {transaction.signature for transaction in each.buffer.transactions.values()}
            if each.buffer.meta is not None:
                found.add(each.buffer.meta.blockhash)
        return found


@dataclass(slots=True)
class _Stream:
    """`decided` is the slot up to which the stream will send nothing more."""

    is_connected: bool = False
    decided: int = -1


class _Loss(NamedTuple):
    slots: SlotRange
    cause: str
    at: float


class Joiner:
    """Receives the finalized slots of each stream's Assembler. Passes a slot on as soon as it has
    every write, from one stream or combined from several. An incomplete one is held while another
    stream or a replay may have the rest, at most SHORT_SECONDS and within `limit_bytes` for all.
    Times are seconds of one clock. Not thread-safe.
    """

    def __init__(
        self, streams: int, *, limit_bytes: int, is_blockhash: Callable[[bytes], bool]
    ) -> None:
        self._streams = [_Stream() for _ in range(streams)]
        self._limit = limit_bytes
        self._is_blockhash = is_blockhash
        # True if the validators store accounts that a transaction left untouched.
        self.stores_untouched = True
        self._held: dict[int, _Held] = {}
        self._settled: dict[int, _Settled] = {}
        # The lowest slot of the archive; 0 where it is of before.
        self._first = 0
        self._losses: list[_Loss] = []

    def begin_new(self) -> None:
        """Nothing is archived yet: the archive begins with the first slot that came whole. One that
        was joined in its middle, or is replayed in part, is no gap below it.
        """
        if not self._settled:
            self._first = I64_MAX

    def blockhash(self, slot: int) -> str | None:
        """The blockhash of a slot that was passed on lately."""
        found = self._settled.get(slot)
        return None if found is None else found.blockhash

    def wanted(self) -> list[Slot]:
        """Slots that a replay may add to, ascending."""
        return [
            Slot(slot)
            for slot, held in sorted(self._held.items())
            if held.is_repairable and held.wholeness < Wholeness.EVERY_WRITE
        ]

    def set_connected(self, stream: int, is_connected: bool, *, now: float) -> Iterator[Outcome]:
        """Whether the stream is connected and of this chain."""
        self._streams[stream].is_connected = is_connected
        if not is_connected:
            yield from self._check_all(now)

    def decided(self, stream: int, slot: Slot | None, *, now: float) -> Iterator[Outcome]:
        """The stream will send nothing more of slots up to this one."""
        if slot is not None and slot > self._streams[stream].decided:
            self._streams[stream].decided = slot
            if self._held or self._losses:
                yield from self._check_all(now)

    def closed(self, stream: int, event: SlotClosed, *, now: float) -> Iterator[Outcome]:
        """Raises AnotherBlock."""
        slot, closed = event.closed.slot, event.closed
        known = self._settled.get(slot)
        if known is not None:
            if known.blockhash != closed.blockhash:
                raise AnotherBlock(slot, closed.blockhash, known.blockhash)
            if known.wholeness >= event.wholeness:
                return
        if slot not in self._held and (
            event.wholeness is Wholeness.PROVED
            or (event.wholeness is Wholeness.EVERY_WRITE and not self._others(stream, slot))
        ):
            self._remember(event)
            yield event
            return
        yield from self._hold(stream, slot, event.reason, event.buffers, now)

    def incomplete(self, stream: int, event: SlotIncomplete, *, now: float) -> Iterator[Outcome]:
        if event.slot not in self._settled:
            yield from self._hold(stream, event.slot, event.reason, event.buffers, now)

    def lost(
        self, stream: int, first: int, last: int, cause: str, *, now: float
    ) -> Iterator[Outcome]:
        """The stream will not send these slots; others may have them."""
        self._losses.append(_Loss(SlotRange(first, last), cause, now))
        of_it = self._streams[stream]
        of_it.decided = max(of_it.decided, last)
        yield from self._overdue(now)

    def replayed(
        self, stream: int, slot: Slot, buffers: Sequence[SlotBuffer], *, now: float
    ) -> tuple[list[Outcome], bool]:
        """Adds what a replay of the stream's server had of a slot; True if any of it was new."""
        held = self._held.get(slot)
        if held is None:
            return [], False
        is_new = held.add(stream, buffers)
        held.fruitless = 0 if is_new else held.fruitless + 1
        self._rate(held)
        return list(self._check(slot, now)), is_new

    def not_repairable(self, slot: Slot, *, now: float) -> Iterator[Outcome]:
        """No replay can add anything to the slot."""
        held = self._held.get(slot)
        if held is not None:
            held.is_repairable = False
            yield from self._check(slot, now)

    def turn(self, *, now: float) -> Iterator[Outcome]:
        """Call about every second: passes on slots whose wait is over."""
        if self._held or self._losses:
            yield from self._check_all(now)

    def _hold(
        self, stream: int, slot: int, reason: str, buffers: Sequence[SlotBuffer], now: float
    ) -> Iterator[Outcome]:
        held = self._held.get(slot)
        if held is None:
            held = self._held[slot] = _Held(now, reason)
        held.streams.add(stream)
        held.reason = held.reason or reason
        held.came_live = held.came_live or any(each.live for each in buffers)
        held.add(stream, buffers)
        self._rate(held)
        yield from self._check(slot, now)
        yield from self._within_limit()

    def _rate(self, held: _Held) -> None:
        held.best, held.wholeness = best_of_all(
            [each.buffer for each in held.parts],
            self._is_blockhash,
            stores_untouched=self.stores_untouched,
        )
        # Servers replay last writes alone, each time the same.
        has_them = held.wholeness >= Wholeness.LAST_WRITES
        is_fruitless = held.fruitless >= len(self._streams)
        if (not held.came_live and (has_them or is_fruitless)) or (has_them and is_fruitless):
            held.is_repairable = False

    def _others(self, but: int | None, slot: int, seen: Collection[int] = ()) -> bool:
        """True if another stream may still send the slot."""
        return any(
            each.is_connected and each.decided < slot and number != but and number not in seen
            for number, each in enumerate(self._streams)
        )

    def _check_all(self, now: float) -> Iterator[Outcome]:
        for slot in sorted(self._held):
            yield from self._check(slot, now)
        yield from self._overdue(now)

    def _check(self, slot: int, now: float) -> Iterator[Outcome]:
        held = self._held[slot]
        if held.wholeness < Wholeness.PROVED:
            is_whole = held.wholeness is Wholeness.EVERY_WRITE
            is_over = now - held.since >= (LAG_SECONDS if is_whole else SHORT_SECONDS)
            is_repaired = is_whole or not held.is_repairable
            if not is_over and (not is_repaired or self._others(None, slot, held.streams)):
                return
        yield from self._release(slot)

    def _release(self, slot: int) -> Iterator[Outcome]:
        held = self._held.pop(slot)
        best, wholeness = held.best, held.wholeness
        is_before = slot < self._first and not held.came_live
        if is_before and wholeness < Wholeness.LAST_WRITES:
            log.info("slot %d did not come whole: the archive begins above it", slot)
        if best is None or wholeness < Wholeness.LEDGER:
            if not is_before:
                yield Lost(slot, slot, GapStatus.MISSING, held.reason or "messages_lost")
            return
        is_gap = wholeness < Wholeness.LAST_WRITES and not is_before
        reason = "writes_missing" if is_gap else ""
        event = SlotClosed(closed_slot(Slot(slot), best, wholeness), reason, wholeness)
        self._remember(event)
        yield event

    def _remember(self, event: SlotClosed) -> None:
        closed = event.closed
        if event.wholeness >= Wholeness.LAST_WRITES:
            self._first = min(self._first, closed.slot)
        self._settled[closed.slot] = _Settled(closed.blockhash, closed.parent_slot, event.wholeness)
        if len(self._settled) > _REMEMBERED:
            del self._settled[next(iter(self._settled))]

    def _within_limit(self) -> Iterator[Outcome]:
        """Passes the oldest on, incomplete as they are, until the rest fits."""
        size = sum(each.size for each in self._held.values())
        for slot in sorted(self._held):
            if size <= self._limit:
                return
            size -= self._held[slot].size
            yield from self._release(slot)

    def _overdue(self, now: float) -> Iterator[Outcome]:
        """Lost slots that no other stream will send."""
        for loss in list(self._losses):
            if now - loss.at < SHORT_SECONDS and self._others(None, loss.slots.last):
                continue
            self._losses.remove(loss)
            for part in subtract([loss.slots], self._accounted(loss.slots)):
                yield Lost(part.first, part.last, GapStatus.UNKNOWN, loss.cause)

    def _accounted(self, slots: SlotRange) -> list[SlotRange]:
        """Slots that were passed on, that those prove skipped, or that are held."""
        found = [SlotRange(slot, slot) for slot in self._held if slots.first <= slot <= slots.last]
        for slot, settled in self._settled.items():
            if settled.parent < slots.last and slot >= slots.first:
                found.append(SlotRange(settled.parent + 1, slot))
        return found


class JoinedStreams:
    """Receives what all readers and the repairer read; for any thread. The Joiner is behind a lock,
    and its outcomes go to the sender: while that is full every reader blocks here. Slots of a
    stream come after `set_connected` for it. `live` is added what it reads of every stream of the
    followed chain; `publish` is called for the leading stream only, with each message except
    account writes.
    """

    def __init__(
        self,
        streams: int,
        sender: SlotSender,
        publisher: EventPublisher,
        live: LiveFeed,
        *,
        limit_bytes: int,
        is_blockhash: Callable[[bytes], bool],
        on_change: Callable[[], None],
    ) -> None:
        self.state = sender.state
        self.publish = publisher.add
        self.live = live
        self.on_incomplete: Callable[[], None] = lambda: None
        self.stores_untouched: Callable[[], bool] = lambda: True
        self._joiner = Joiner(streams, limit_bytes=limit_bytes, is_blockhash=is_blockhash)
        self._sender = sender
        self._on_change = on_change
        self._lock = threading.RLock()
        self._connected: set[int] = set()

    def any_connected(self) -> bool:
        return bool(self._connected)

    def check(self) -> None:
        """Raises what ended the slot sender."""
        if self._sender.failure is not None:
            raise self._sender.failure

    def blockhash(self, slot: int) -> str | None:
        """Joiner.blockhash."""
        with self._lock:
            return self._joiner.blockhash(slot)

    def begin_new(self) -> None:
        """Joiner.begin_new."""
        with self._lock:
            self._joiner.begin_new()

    def wanted(self) -> list[Slot]:
        """Joiner.wanted."""
        with self._lock:
            return self._joiner.wanted()

    def set_connected(self, number: int, is_connected: bool) -> None:
        """Whether the stream is connected and proved to be of the followed chain."""
        with self._lock:
            (self._connected.add if is_connected else self._connected.discard)(number)
            outcomes = self._joiner.set_connected(number, is_connected, now=time.monotonic())
            self._deliver(outcomes)
        self._on_change()

    def closed(self, number: int, event: SlotClosed) -> None:
        with self._lock:
            self._joiner.stores_untouched = self.stores_untouched()
            self._deliver(self._joiner.closed(number, event, now=time.monotonic()))
            if event.wholeness < Wholeness.EVERY_WRITE:
                self.on_incomplete()

    def incomplete(self, number: int, event: SlotIncomplete) -> None:
        with self._lock:
            self._joiner.stores_untouched = self.stores_untouched()
            self._deliver(self._joiner.incomplete(number, event, now=time.monotonic()))
            self.on_incomplete()

    def lost(self, number: int, first: Slot, last: Slot) -> None:
        """The stream will not send the slots."""
        with self._lock:
            now = time.monotonic()
            self._deliver(self._joiner.lost(number, first, last, "stream_lost", now=now))

    def moved(self, number: int, event: HeadMoved, decided: Slot | None, *, leads: bool) -> None:
        """The stream's head moved; the stream sends nothing more of slots up to `decided`."""
        self.state.heard_at = time.time()
        if leads:
            self.state.head_slot = event.head
        if event.finalized is not None:
            self.state.finalized_slot = max(event.finalized, self.state.finalized_slot)
        if decided is not None:
            with self._lock:
                self._deliver(self._joiner.decided(number, decided, now=time.monotonic()))

    def replayed(self, stream: int, slot: Slot, buffers: Sequence[SlotBuffer]) -> bool:
        """Adds what a replay of the stream's server had of a slot; True if any of it was new."""
        with self._lock:
            now = time.monotonic()
            outcomes, is_new = self._joiner.replayed(stream, slot, buffers, now=now)
            self._deliver(outcomes)
            return is_new

    def not_repairable(self, slot: Slot) -> None:
        """No replay can add anything to the slot."""
        with self._lock:
            self._deliver(self._joiner.not_repairable(slot, now=time.monotonic()))

    def turn(self) -> None:
        """Joiner.turn."""
        with self._lock:
            self._deliver(self._joiner.turn(now=time.monotonic()))

    def _deliver(self, outcomes: Iterable[Outcome]) -> None:
        state = self.state
        for outcome in outcomes:
            if isinstance(outcome, Lost):
                log.warning("slots %d to %d are incomplete: %s", outcome.first, outcome.last,
                            outcome.cause)  # fmt: skip
                self._sender.add_lost(outcome)
                continue
            closed = outcome.closed
            self._sender.add(pack(closed, reason=outcome.reason, source=state.source))
            state.closed_slot = max(state.closed_slot, closed.slot)
            if outcome.reason:
                log.warning("slot %d misses account writes", closed.slot)
