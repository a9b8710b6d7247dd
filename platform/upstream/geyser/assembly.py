"""Assembler: the stream's messages, in whatever order, to the finalized slots of the chain."""

from collections.abc import Callable, Iterator

from chain.units import Slot
from upstream import head_bound
from upstream.geyser.events import (
    ChainChanged,
    Event,
    HeadMoved,
    SlotClosed,
    SlotDead,
    SlotIncomplete,
    SlotsLost,
    TooFarAhead,
)
from upstream.geyser.lineage import OF_BLOCK, OF_CLUSTER, OF_NODE, OF_STATUS, Blockhashes, Parents
from upstream.geyser.pending_slots import PendingSlot, Reception, best_of, closed_slot
from upstream.geyser.slot_buffers import Wholeness
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    SlotUpdate,
    Update,
)
from upstream.head_bound import HeadBound
from upstream.protobuf.geyser_pb2 import SlotStatus

# Messages of a slot may come late. After so many more finalized slots they come no more.
PATIENCE_SLOTS = 8
# Slots that are known and not final: five hours of a mainnet that finalizes nothing.
MOST_UNFINALIZED = 50_000
# Statuses of no bank but the one that the cluster voted for.
_OF_CLUSTER = (SlotStatus.SLOT_CONFIRMED, SlotStatus.SLOT_FINALIZED)


class Assembler:
    """Feed it every message of a stream; what it answers is what the messages prove.

    Slots below `begin` are left out. Without it the first slot that is seen from its beginning
    counts. With `after_finalized` the slot before `begin` is known to be final, and a chain that
    does not descend from it is reported. `stores_untouched` says whether the validator stores what
    a transaction could write and left as it was (updates.stores_untouched).

    A slot that `bound` does not admit is ignored. Without a bound the chain is expected to be at
    `begin`.
    """

    def __init__(
        self,
        *,
        begin: Slot | None = None,
        after_finalized: bool = False,
        limit_bytes: int = 1 << 30,
        patience_slots: int = PATIENCE_SLOTS,
        most_unfinalized: int = MOST_UNFINALIZED,
        stores_untouched: bool = True,
        bound: HeadBound | None = None,
        clock: Callable[[], float] = head_bound.clock,
    ) -> None:
        self._bound = HeadBound() if bound is None else bound
        self._clock = clock
        if bound is None and begin is not None:
            self._bound.expect(begin, clock())
        # Messages up to this slot need no look at the clock.
        self._admitted = 0
        self._refused = 0
        self._said_refused = False
        self._moved_by_stream = False
        # The highest slot that anything is kept of.
        self._top = 0
        self._root = None if begin is None else Slot(begin - 1)
        self._root_is_final = after_finalized and begin is not None
        # The server has nothing below. Earlier connections brought what is there of it.
        self._server_begins = Slot(0)
        self._limit_bytes = limit_bytes
        self._most_unfinalized = most_unfinalized
        self._patience = patience_slots
        self._stores_untouched = stores_untouched
        # Slots above it come live in this connection.
        self._live_after: Slot | None = None
        self._pending: dict[Slot, PendingSlot] = {}
        self._parents = Parents()
        # Final and not closed yet: how many slots were finalized when this one was.
        self._waiting: dict[Slot, int] = {}
        # Below a final slot whose parent is unknown, down to a root: it is unknown yet which of the
        # slots between are final. {final slot: root}
        self._broken: dict[Slot, Slot] = {}
        self._finalized_count = 0
        self._late: set[Slot] = set()
        self._blockhashes = Blockhashes()
        self._head = Slot(0)
        self._size = 0

    @property
    def replay_from(self) -> Slot | None:
        """The slot to ask for after a lost connection: from here on something may be missing."""
        decided = self.decided
        return None if decided is None else max(Slot(decided + 1), self._server_begins)

    @property
    def decided(self) -> Slot | None:
        """The slot up to which nothing more will close."""
        if self._root is None:
            return None
        open_from = [*self._waiting, *(low + 1 for low in self._broken.values())]
        return Slot(min([*open_from, self._root + 1]) - 1)

    def is_blockhash(self, value: bytes) -> bool:
        """Whether one of the latest blocks has the hash."""
        return value in self._blockhashes

    def held(self, connection: int) -> tuple[Slot, list[tuple[int, Update]]]:
        """The newest final slot, and what was sent of those above it: with the number of this
        connection, and with others for each that was before. For any thread: a message is in it if
        `feed` had returned.
        """
        found: list[tuple[int, Update]] = []
        for pending in [*self._pending.values()]:
            receptions = {-id(each): each for each in pending.earlier} | {connection: pending.now}
            for number, reception in receptions.items():
                found += [(number, each) for each in reception.messages()]
        # Behind it, for a slot is final before it is no longer pending.
        root = self._root if self._root_is_final else None
        return root or Slot(0), found

    @property
    def size(self) -> int:
        """Bytes of messages that wait for their slots to close."""
        return self._size

    def live_after(self, slot: Slot) -> None:
        """What this connection sends of slots above the slot is no replay."""
        self._live_after = slot

    def reconnect(self, *, stores_untouched: bool | None = None) -> None:
        """What follows comes from another connection, perhaps from another validator."""
        self._live_after = None
        self._said_refused = False
        self._parents.doubt()
        if stores_untouched is not None:
            self._stores_untouched = stores_untouched
        for pending in self._pending.values():
            before = pending.size
            pending.set_aside()
            self._size += pending.size - before

    def feed(self, update: Update) -> list[Event]:
        """Take one message; what became known by it, mostly nothing."""
        if update.slot > self._admitted and not self.admits(update.slot):
            return self._refuse(update)
        if isinstance(update, AccountUpdate):
            pending = self._pending_of(update.slot)
            if pending is not None:
                buffer = pending.buffer
                if buffer.bank != update.bank:
                    buffer = pending.bank(update.bank)
                key = (update.pubkey, update.write_version)
                if key in buffer.writes:
                    self._size += buffer.put(update)
                else:
                    buffer.writes[key] = update
                    size = len(update.packed)
                    buffer.size += size
                    self._size += size
            return []
        if isinstance(update, SlotUpdate):
            return list(self._slot(update))
        pending = self._pending_of(update.slot)
        if pending is not None:
            self._size += pending.add(update)
            if isinstance(update, BlockMetaUpdate):
                self._learn_parent(update.slot, update.parent_slot, OF_BLOCK)
                self._blockhashes.remember(update.blockhash)
        return []

    def admits(self, slot: Slot) -> bool:
        """Whether the chain can have reached the slot by now."""
        if slot > self._admitted:
            now = self._clock()
            if not self._bound.admits(slot, now):
                return False
            self._admitted = slot
        return True

    @property
    def refused(self) -> int:
        """How many messages were of slots that the chain cannot have reached."""
        return self._refused

    @property
    def is_astray(self) -> bool:
        """Whether it went on to a final slot that, as is known now, the chain has not reached."""
        return self._moved_by_stream and (self._root or 0) > self._bound.ceiling(self._clock())

    def _refuse(self, update: Update) -> list[Event]:
        # Where nothing else comes any more the bound is what is wrong.
        if isinstance(update, SlotUpdate) and self._bound.hear(update.slot, self._clock()):
            return list(self._slot(update))
        self._refused += 1
        if self._said_refused:
            return []
        self._said_refused = True
        return [TooFarAhead(update.slot)]

    def give_up_before(self, slot: Slot, reason: str) -> list[Event]:
        """No source will send what is missing below the slot: what is final there is decided, the
        rest is left out, and the slot is the first that counts.
        """
        events: list[Event] = []
        for each in sorted(self._waiting):
            if each < slot:
                events += self._close(each, last_chance=reason)
        for each in sorted(self._pending):
            if each < slot:
                self._forget(each)
        self._broken = {
            top: max(low, Slot(slot - 1)) for top, low in self._broken.items() if top >= slot
        }
        if self._root is None or self._root < slot - 1:
            self._root, self._root_is_final = Slot(slot - 1), False
        return events

    def begin_later(self, slot: Slot) -> None:
        """The server has nothing below the slot, as after its restart. Blocks that came before are
        final once a final block descends from them; others may have taken their slots.
        """
        self._server_begins = max(self._server_begins, slot)

    @property
    def unlinked(self) -> list[Slot]:
        """Final slots, descending, whose blocks no server sends any more, and that may descend from
        others that came: `link` says from which.
        """
        lowest = min(self._pending, default=self._server_begins)
        final = [slot for slot in self._waiting if lowest < slot < self._server_begins]
        return [slot for slot in sorted(final, reverse=True) if self._is_unlinked(slot)]

    def _is_unlinked(self, slot: Slot) -> bool:
        if self._blocks(slot) or self._parents.is_of_node(slot):
            return False
        parent = self._parents.get(slot)
        is_named = parent not in self._waiting or self._parents.hash_of(parent)
        return slot in self._broken or not is_named

    def link(self, slot: Slot, blockhash: str, parent: Slot, parent_blockhash: str) -> list[Event]:
        """What a node says of the block of an unlinked slot; one of another block is ignored."""
        if slot not in self._waiting or self._parents.hash_of(slot) not in ("", blockhash):
            return []
        self._parents.learn(slot, parent, OF_NODE)
        self._parents.name(slot, blockhash)
        self._parents.name(parent, parent_blockhash)
        return [*self._again(slot), *self._close_waiting(parent)]

    def _lose(self, low: Slot, top: Slot) -> Iterator[Event]:
        """Nothing will be proved of the slots between."""
        self._forget_between(low, top)
        if low + 1 < min(top, self._server_begins):
            yield SlotsLost(Slot(low + 1), Slot(top - 1))

    def _pending_of(self, slot: Slot) -> PendingSlot | None:
        pending = self._pending.get(slot)
        if pending is None:
            if self._root is None:
                # Seen from its middle, perhaps: the next one is the first to be seen whole.
                self._root = slot
            if not self._is_open(slot) or not self._has_room(slot):
                return None
            live = self._live_after is not None and slot > self._live_after
            pending = self._pending[slot] = PendingSlot(Reception(live))
        if slot in self._waiting:
            self._late.add(slot)
        return None if pending.overflowed else pending

    def _has_room(self, slot: Slot) -> bool:
        """Room for one more slot; the highest ones go first, since a chain finalizes from below."""
        while max(len(self._pending), len(self._parents)) >= self._most_unfinalized:
            if slot >= self._top or self._top in self._waiting:
                return False
            self._forget(Slot(self._top))
            self._parents.forget(Slot(self._top))
            self._top = max([*self._pending, *self._parents])
        self._top = max(self._top, slot)
        return True

    def _is_open(self, slot: Slot) -> bool:
        """Whether messages of the slot can still matter."""
        if self._root is None or slot > self._root or slot in self._waiting:
            return True
        return any(low < slot < top for top, low in self._broken.items())

    def _learn_parent(self, slot: Slot, parent: Slot, source: int) -> None:
        if slot in self._parents or self._has_room(slot):
            self._parents.learn(slot, parent, source)

    def _slot(self, update: SlotUpdate) -> Iterator[Event]:
        slot = update.slot
        self._bound.hear(slot, now := self._clock())
        self._admitted = self._bound.ceiling(now)
        if update.status == SlotStatus.SLOT_DEAD:
            if slot not in self._waiting and self._die(slot, update.bank):
                yield SlotDead(slot)
            return
        is_clusters = update.status in _OF_CLUSTER
        if update.parent is not None and self._is_open(slot):
            self._learn_parent(slot, update.parent, OF_CLUSTER if is_clusters else OF_STATUS)
        if update.bank and is_clusters and (pending := self._pending.get(slot)) is not None:
            pending.name(update.bank, is_final=update.status == SlotStatus.SLOT_FINALIZED)
        finalized = None
        if update.status == SlotStatus.SLOT_FINALIZED and self._root is not None:
            finalized = slot
            yield from self._finalize(slot)
        linked = {top for top in self._broken if self._parent_of(top) is not None}
        for late in sorted(self._late | linked):
            yield from self._again(late)
        self._late.clear()
        head = Slot(self._bound.head)
        if head != self._head or finalized is not None:
            self._head = head
            yield HeadMoved(head, finalized)
        yield from self._keep_within_limit()

    def _finalize(self, slot: Slot) -> Iterator[Event]:
        assert self._root is not None
        if self._root < slot < self._server_begins:
            return  # which block that is, a later one says
        if slot > self._root:
            self._finalized_count += 1
            self._moved_by_stream = True
            root, self._root = self._root, slot
            was_final, self._root_is_final = self._root_is_final, True
            yield from self._walk(slot, root, root_is_final=was_final)
        elif slot not in self._waiting and self._is_open(slot):
            top = next(top for top, low in self._broken.items() if low < slot < top)
            low, self._broken[top] = self._broken[top], slot
            yield from self._walk(slot, low, root_is_final=False)
        for waiting, since in list(self._waiting.items()):
            if self._finalized_count - since >= self._patience:
                is_of_before = waiting < self._server_begins
                reason = "stream_lost" if is_of_before else "messages_lost"
                yield from self._close(waiting, last_chance=reason)
        self._parents.keep(self._is_open)

    def _walk(self, slot: Slot, root: Slot, *, root_is_final: bool) -> Iterator[Event]:
        """The slot is final, and so are its ancestors down to the root."""
        path = [slot]
        while (parent := self._parent_of(path[-1])) is not None and root < parent < path[-1]:
            self._learn_hash(path[-1])
            path.append(parent)
        if parent is None and path[-1] > root + 1:
            below = path[-1]
            is_pending = any(root < each < below for each in self._pending)
            if is_pending or below >= self._server_begins:
                self._broken[below] = root
            else:
                yield from self._lose(root, below)
        else:
            below = root
            if root_is_final and parent is not None and parent < root:
                yield ChainChanged(path[-1], parent, root)
        for final in reversed(path):
            self._waiting[final] = self._finalized_count
        self._forget_between(below, slot)
        for final in reversed(path):
            yield from self._close(final)

    def _again(self, slot: Slot) -> Iterator[Event]:
        """Looks again at a final slot when more is known of it."""
        if slot in self._broken and (parent := self._parent_of(slot)) is not None:
            root = self._broken.pop(slot)
            if root < parent < slot:
                if parent not in self._waiting:
                    yield from self._walk(parent, root, root_is_final=False)
                else:
                    self._broken[parent] = root
            else:
                self._forget_between(root, slot)
        if slot in self._waiting:
            yield from self._close(slot)

    def _close(self, slot: Slot, *, last_chance: str = "") -> Iterator[Event]:
        pending = self._pending.get(slot)
        found = best_of(
            pending,
            self._blockhashes.__contains__,
            stores_untouched=self._stores_untouched,
            blockhash=self._parents.hash_of(slot),
        )
        best, wholeness = found.buffer, found.wholeness
        block = None if best is None or wholeness < Wholeness.LEDGER else best.meta
        below = self._learn_hash(slot, block)
        if wholeness < Wholeness.EVERY_WRITE and not last_chance:
            yield from self._close_waiting(below)
            return
        del self._waiting[slot]
        self._forget(slot)
        if slot in self._broken:
            yield from self._lose(self._broken.pop(slot), slot)
        if best is None or wholeness < Wholeness.LEDGER:
            overflowed = pending is not None and pending.overflowed
            reason = last_chance if found.is_separated else "two_banks"
            yield SlotIncomplete(slot, "buffer_full" if overflowed else reason, found.buffers)
        else:
            reason = "" if wholeness >= Wholeness.LAST_WRITES else "writes_missing"
            closed = closed_slot(slot, best, wholeness)
            yield SlotClosed(closed, reason, wholeness, found.buffers)
        yield from self._close_waiting(below)

    def _close_waiting(self, slot: Slot | None) -> Iterator[Event]:
        if slot is not None and slot in self._waiting:
            yield from self._again(slot)

    def _parent_of(self, slot: Slot) -> Slot | None:
        """The parent of a final slot; that of its child is known before."""
        if self._parents.is_certain(slot):
            return self._parents.get(slot)
        named = {each.parent_slot for each in self._blocks(slot)}
        if slot >= self._server_begins and len(named) != 1:
            return self._parents.get(slot)
        return named.pop() if len(named) == 1 else None

    def _learn_hash(self, slot: Slot, block: BlockMetaUpdate | None = None) -> Slot | None:
        """Of a final slot's block, if it is known, else of the result: Parents.learn_hash."""
        return self._parents.learn_hash(slot, [block] if block else self._blocks(slot))

    def _blocks(self, slot: Slot) -> list[BlockMetaUpdate]:
        """Block messages of a final slot: its own where a child said which that is."""
        pending = self._pending.get(slot)
        return [] if pending is None else pending.blocks(self._parents.hash_of(slot))

    def _die(self, slot: Slot, bank: int) -> bool:
        pending = self._pending.get(slot)
        if pending is None:
            return False
        before = pending.size
        is_left = pending.die(bank)
        self._size += pending.size - before
        if not is_left:
            del self._pending[slot]
            self._parents.forget(slot)
        return True

    def _forget(self, slot: Slot) -> bool:
        pending = self._pending.pop(slot, None)
        if pending is None:
            return False
        self._size -= pending.size
        return True

    def _forget_between(self, low: Slot, top: Slot) -> None:
        """Slots that are proved to be on no final branch, or never will be proved."""
        for slot in sorted(self._pending):
            if low < slot < top and slot not in self._waiting:
                self._forget(slot)

    def _keep_within_limit(self) -> Iterator[Event]:
        """Drops the oldest buffers first: their slots stay known, and are reported when final."""
        if self._size <= self._limit_bytes:
            return
        for slot in sorted(self._pending):
            if self._size <= self._limit_bytes:
                return
            pending = self._pending[slot]
            self._size -= pending.size
            self._pending[slot] = PendingSlot(overflowed=True)
            if slot in self._waiting:
                yield from self._close(slot, last_chance="buffer_full")
