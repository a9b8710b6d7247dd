"""EventPublisher: chain events, published to landers as the stream reports them."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator

from chain.blocks import SlotRecord
from chain.encodings import b58decode
from chain.transaction_errors import transaction_error_bytes
from priority.chain_events import BlockMade, ChainEvent, Seen, SlotMoved
from priority.lander.store.chain_events import publish_events
from shared_state.outages import AWAY
from upstream.geyser.updates import BlockMetaUpdate, SlotUpdate, TransactionUpdate
from upstream.protobuf.geyser_pb2 import SlotStatus

log = logging.getLogger(__name__)

# The first event of a burst is published at once; what follows within this time goes together.
_GATHERING_SECONDS = 0.01
# Four seconds of a busy mainnet: finalized blocks settle what is older.
_MOST_UPDATES = 20_000
_PAUSE_SECONDS = 0.5
_WARN_EVERY_SECONDS = 30.0
_REMEMBERED_SLOTS = 64
# Undecided slots are forgotten this far below the newest decided one.
_KEPT_SLOTS = 1_000
_BLOCKHASH_CHARACTERS = 44
_STATUSES: dict[int, str] = {
    SlotStatus.SLOT_FIRST_SHRED_RECEIVED: "began",
    SlotStatus.SLOT_CREATED_BANK: "began",
    SlotStatus.SLOT_PROCESSED: "processed",
    SlotStatus.SLOT_CONFIRMED: "confirmed",
    SlotStatus.SLOT_FINALIZED: "finalized",
    SlotStatus.SLOT_DEAD: "dead",
}
LiveUpdate = TransactionUpdate | BlockMetaUpdate | SlotUpdate


class EventPublisher:
    """A thread that publishes chain events and never blocks the stream: while Redis is away or
    slow, the newest are kept. Finalized blocks settle submissions in any case.
    """

    def __init__(self) -> None:
        self._updates: deque[LiveUpdate] = deque(maxlen=_MOST_UPDATES)
        self._events = ChainEvents()
        self._unpublished: list[ChainEvent] = []
        self._added = threading.Event()
        self._stopping = threading.Event()
        self._dropped = 0
        self._away_since = 0.0
        self._warned_at = -_WARN_EVERY_SECONDS
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Publishes what is left, for up to three seconds."""
        self._stopping.set()
        self._added.set()
        self._thread.join(timeout=3.0)

    def add(self, update: LiveUpdate) -> None:
        """Queues the update; cheap, for the reading thread."""
        if len(self._updates) == _MOST_UPDATES:
            self._dropped += 1  # the oldest makes room
        self._updates.append(update)
        if not self._added.is_set():
            self._added.set()

    def _run(self) -> None:
        while True:
            self._added.wait()
            self._added.clear()
            is_last = self._stopping.is_set()
            # Updates that are added meanwhile belong to the next batch.
            batch = [self._updates.popleft() for _ in range(len(self._updates))]
            pause = self._publish(batch)
            if is_last:
                return
            self._stopping.wait(pause)

    def _publish(self, batch: list[LiveUpdate]) -> float:
        """Returns the pause until the next batch, in seconds."""
        events, self._unpublished = [*self._unpublished, *self._events.of(batch)], []
        try:
            publish_events(events, now=time.time())
        except AWAY as error:
            self._keep(events)
            if not self._away_since:
                self._away_since = time.monotonic()
                log.warning("chain events are not published: %s", str(error).strip())
            return _PAUSE_SECONDS
        except Exception:
            log.exception("chain events could not be published")
            return _PAUSE_SECONDS
        self._report_dropped()
        return _GATHERING_SECONDS

    def _keep(self, events: list[ChainEvent]) -> None:
        """Keeps the newest for the next try. A slot's beginning is published in time or never: it
        sets the landers' clock. Redis may have taken all of them, and take them again.
        """
        updates = 0
        for event in reversed(events):
            if event == SlotMoved(event.slot, "began"):
                continue
            of_event = len(event.indexes) if isinstance(event, Seen) else 1
            updates += of_event
            if updates > _MOST_UPDATES:
                self._dropped += of_event
            else:
                self._unpublished.append(event)
        self._unpublished.reverse()

    def _report_dropped(self) -> None:
        now = time.monotonic()
        if self._away_since or (self._dropped and now - self._warned_at >= _WARN_EVERY_SECONDS):
            seconds = now - self._away_since if self._away_since else 0.0
            log.warning(
                "publishing again after %.1f s; %d updates were dropped", seconds, self._dropped
            )
            self._away_since, self._dropped, self._warned_at = 0.0, 0, now


class ChainEvents:
    """Turns the stream's updates into events for landers, without simple votes.

    A slot that the confirmed branch leaves out is reported dead too: its transactions will be in
    another slot, or in none.
    """

    def __init__(self) -> None:
        self._branches = Branches()
        self._begun: deque[int] = deque(maxlen=_REMEMBERED_SLOTS)

    def of(self, updates: Iterable[LiveUpdate]) -> list[ChainEvent]:
        """The events in order; transactions of a slot together."""
        events: list[ChainEvent] = []
        seen: dict[int, list[TransactionUpdate]] = {}
        for update in updates:
            if isinstance(update, TransactionUpdate):
                self._branches.saw(update.slot, None)
                if not update.is_vote:
                    seen.setdefault(update.slot, []).append(update)
                continue
            events += map(_seen, seen.values())
            seen.clear()
            if isinstance(update, SlotUpdate):
                events += self._moved(update)
            else:
                events += self._block(update)
        events += map(_seen, seen.values())
        return events

    def _block(self, update: BlockMetaUpdate) -> Iterator[ChainEvent]:
        self._branches.saw(update.slot, update.parent_slot)
        try:
            blockhash = b58decode(update.blockhash[:_BLOCKHASH_CHARACTERS])
        except ValueError:
            blockhash = b""
        if len(blockhash) == 32:  # otherwise ingest refuses the slot and logs why
            yield BlockMade(update.slot, update.parent_slot, blockhash, update.height)

    def _moved(self, update: SlotUpdate) -> Iterator[ChainEvent]:
        slot, status = update.slot, _STATUSES.get(update.status)
        if status is None:
            return
        if status == "began":
            # A leader's first shred and the bank created for it mean the same.
            if slot in self._begun:
                return
            self._begun.append(slot)
        if status == "dead":
            self._branches.forget(slot)
        else:
            self._branches.saw(slot, update.parent)
        yield SlotMoved(slot, status)
        if status in ("confirmed", "finalized"):
            for other in self._branches.decide(slot):
                yield SlotMoved(other, "dead")


def events_of_finalized(record: SlotRecord) -> list[ChainEvent]:
    """All events of a finalized block, from any source. A transaction without its status meta is
    left out: whether it failed is not known.
    """
    signatures: list[bytes] = []
    indexes: list[int] = []
    errors: dict[int, bytes] = {}
    for index, transaction in enumerate(record.transactions):
        if transaction.meta is None:
            continue
        err = transaction.meta.get("err")
        if err is not None:
            errors[len(signatures)] = transaction_error_bytes(err)
        signatures.append(transaction.signature)
        indexes.append(index)
    return [
        Seen(record.slot, b"".join(signatures), indexes, errors),
        BlockMade(
            record.slot, record.parent_slot, b58decode(record.blockhash), record.block_height
        ),
        SlotMoved(record.slot, "finalized"),
    ]


def _seen(updates: list[TransactionUpdate]) -> Seen:
    return Seen(
        updates[0].slot,
        b"".join(update.signature for update in updates),
        [update.transaction_index for update in updates],
        {place: update.error for place, update in enumerate(updates) if update.error},
    )


class Branches:
    """Seen slots that are undecided, with their parents: finds those that the confirmed branch
    leaves out.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int | None] = {}

    def saw(self, slot: int, parent: int | None) -> None:
        """The slot was seen; `parent` where it is known."""
        if parent is not None or slot not in self._parents:
            self._parents[slot] = parent

    def forget(self, slot: int) -> None:
        """The slot is decided otherwise."""
        self._parents.pop(slot, None)

    def decide(self, slot: int) -> list[int]:
        """The slot is confirmed: returns the seen slots that are not its ancestors, as far down as
        parents are known, ascending. All of these are then decided.
        """
        line = [slot]
        while (parent := self._parents.get(line[-1])) is not None and parent < line[-1]:
            line.append(parent)
        low, ancestors = line[-1], set(line)
        decided = [each for each in self._parents if low <= each <= slot]
        left_out = sorted(set(decided) - ancestors)
        for each in decided:
            del self._parents[each]
        for each in [each for each in self._parents if each < slot - _KEPT_SLOTS]:
            del self._parents[each]
        return left_out
