"""SlotTracker: the stream's updates, kept by slot, and when each slot reaches a commitment."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from livefeed.messages import Level
from livefeed.parts import Part
from upstream.geyser.lineage import Blockhashes
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    EntryUpdate,
    FooterUpdate,
    ParentUpdate,
    PassedOn,
    SlotUpdate,
    Update,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

# Seconds that a slot's messages may come after its status, and after those of the slots below it: a
# stream that catches up may send statuses long before. Then the slot counts as it is.
LATE_SECONDS = 2.0
# Slots that are not final: more are of no chain that a client follows live.
_MOST_OPEN = 2_000
# Final slots are kept for subscriptions with a memory, which first read what is stored.
_KEPT_SLOTS = 150
_KEPT_BYTES = 128 * 1_048_576
# Slots whose signatures are kept: a blockhash is good for 150.
_KEPT_SIGNATURES = 300

Without = Callable[[Part], set[bytes]]

_LEVEL_OF: dict[int, Level] = {
    SlotStatus.SLOT_PROCESSED: Level.PROCESSED,
    SlotStatus.SLOT_CONFIRMED: Level.CONFIRMED,
    SlotStatus.SLOT_FINALIZED: Level.FINALIZED,
}


@dataclass(slots=True)
class Slot:
    """A slot; `parts` are by connection and bank, `named` the bank that a connection's status of
    the highest level names, `child_hash` the blockhash that a confirmed child names. `wanted` is
    the level that its status or a descendant's says, `level` the one that was announced, -1 for
    none, `blockhash` that block's. `at` is when its block message came (Unix seconds),
    `wanted_at` when it was first said to have a level (monotonic). `was_whole` when it was
    announced last, `was_always_whole` each time; `unwritten` are accounts whose last write had not
    come then, as far as that is looked at. `is_of_before` if the streams began above it, and
    only its statuses come. `new_parents` are messages that its block goes on from these.
    """

    number: int
    parent: int | None = None
    parts: dict[tuple[int, int], Part] = field(default_factory=dict)
    named: dict[int, tuple[Level, int]] = field(default_factory=dict)
    child_hash: str = ""
    blockhash: str = ""
    # When something of it, not its status, came last (monotonic).
    heard_at: float = 0.0
    wanted: int = -1
    level: int = -1
    wanted_at: float = 0.0
    at: float = 0.0
    was_whole: bool = True
    was_always_whole: bool = True
    unwritten: set[bytes] = field(default_factory=set)
    is_of_before: bool = False
    new_parents: dict[int, bytes] = field(default_factory=dict)

    def announce(self, level: Level, without: Without | None = None) -> "Step":
        """`without` returns the accounts of a whole part whose last write did not come."""
        self.level = level
        best = self.best()
        if best.meta is not None:
            self.parent, self.blockhash = best.meta.parent_slot, best.meta.blockhash
        self.was_whole = best.is_whole
        if best.is_whole and without is not None:
            unwritten = without(best)
            self.unwritten |= unwritten
            self.was_whole = not unwritten
        self.was_always_whole = self.was_always_whole and self.was_whole
        return Step(self, level)

    def chosen(self) -> Iterator[Part]:
        """Of each connection the final bank's part, as far as that can be known by now."""
        for connection in dict.fromkeys(number for number, _ in self.parts):
            part = self._chosen_of(connection)
            if part is not None and not part.is_mixed and self.is_of_chain(part):
                yield part

    def is_of_chain(self, part: Part) -> bool:
        """False if it is of another block than the one that a confirmed child names: before a
        restart of its node it was this one.
        """
        return not self.child_hash or part.blockhash in ("", self.child_hash)

    def _chosen_of(self, connection: int) -> Part | None:
        banks = {bank: part for (number, bank), part in self.parts.items() if number == connection}
        unmarked = banks.pop(0, None)
        if not banks:
            return unmarked
        level, bank = self.named.get(connection, (None, 0))
        if self.child_hash and level is not Level.FINALIZED:
            fitting = [b for b, part in banks.items() if part.blockhash == self.child_hash]
            bank = fitting[0] if len(fitting) == 1 else bank
        if not bank:
            frozen = [b for b, part in banks.items() if part.meta is not None] or list(banks)
            bank = frozen[0] if len(frozen) == 1 else 0
        part = banks.get(bank)
        return part if part is None or unmarked is None else part.with_unmarked(unmarked)

    def name(self, connection: int, level: Level, bank: int) -> None:
        """A status of a level names its bank."""
        known = self.named.get(connection)
        if known is None or known[0] <= level:
            self.named[connection] = (level, bank)

    def die(self, connection: int, bank: int, *, is_light: bool = False) -> bool:
        """A bank died, 0 for the one whose messages have no id; False if no other is left."""
        if not bank:
            parts = self.parts.items()
            named = [key for key, part in parts if key[1] and (is_light or part.has_accounts)]
            self.parts = {key: self.parts[key] for key in named}
            return bool(named)
        dead = self.parts.pop((connection, bank), Part())
        if dead.blockhash and dead.blockhash == self.blockhash:
            self.level = -1
        if self.named.get(connection, (None, 0))[1] == bank:
            del self.named[connection]
            self.wanted = -1
        return bool(self.parts)

    def best(self) -> Part:
        """The whole part, else the one with the most in it; an empty one where two banks cannot be
        separated.
        """
        parts = self.chosen()
        return max(parts, key=lambda part: (part.is_whole, *part.extent), default=Part())

    @property
    def is_whole(self) -> bool:
        return any(part.is_whole for part in self.chosen())

    def is_late(self, now: float, heard_at: float) -> bool:
        """Whether what is missing does not come any more; `heard_at` as of the slots up to it."""
        return now - max(self.wanted_at, heard_at) > LATE_SECONDS

    @property
    def misses_entries(self) -> bool:
        """Whether entries came, and not all of them yet."""
        parts = list(self.chosen())
        is_there = any(part.is_whole and part.has_entries for part in parts)
        return any(part.entries for part in parts) and not is_there

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts.values())


class Step(NamedTuple):
    """A slot reached a level."""

    slot: Slot
    level: Level


class Seen(NamedTuple):
    """A transaction of a kept slot."""

    slot: int
    level: Level
    error: bytes
    place: int


class SlotTracker:
    """`take` every update of every stream, then read the `steps`. `waits_for_entries`: a slot is
    not ready without them; `checks_writes`: it is looked for account writes that did not come,
    also those of accounts that a transaction left untouched if the validator `stores_untouched`.
    `is_light`: no one wants what is in slots, so only statuses and block
    messages come, and a slot is ready with these. Not thread-safe.
    """

    def __init__(self, *, is_light: bool = False) -> None:
        self.waits_for_entries = False
        self.checks_writes = False
        self.stores_untouched = False
        self._blockhashes = Blockhashes()
        self.is_light = is_light
        self.root = 0
        self.newest = 0
        self._slots: dict[int, Slot] = {}
        self._final: deque[Slot] = deque()
        self._final_bytes = 0
        # Of final slots that are not kept any more: {signature: error and index}.
        self._signatures: deque[tuple[int, dict[bytes, tuple[bytes, int]]]] = deque()
        # Whether a slot waits for a level: something of it has not come yet.
        self.is_waiting = False
        # The lowest slot with more than statuses, 0 before that.
        self._first = 0
        # `heard_at` of the newest final slot.
        self._heard_at = 0.0

    def take(self, number: int, update: Update | PassedOn, now: float, at: float) -> bool:
        """Takes a message of the connection of that number; `now` is monotonic, `at` Unix seconds.
        False if it is of a slot that is decided, or one too many.
        """
        slot = self._slots.get(update.slot)
        if slot is None:
            if update.slot <= self.root or len(self._slots) >= _MOST_OPEN:
                return False
            slot = self._slots[update.slot] = Slot(update.slot)
        if isinstance(update, SlotUpdate):
            return self._moved(slot, number, update, now)
        slot.heard_at = now
        if isinstance(update, ParentUpdate):
            slot.new_parents.setdefault(update.parent_slot, update.packed)
            return True
        part = slot.parts.get((number, update.bank))
        if part is None:
            part = slot.parts[number, update.bank] = Part(bank=update.bank)
            self._first = min(self._first or slot.number, slot.number)
        if isinstance(update, AccountUpdate):
            part.put_account(update)
            return True
        if isinstance(update, EntryUpdate):
            if update.place not in part.entries:
                part.size += len(update.packed)
            part.entries[update.place] = update.packed
        elif isinstance(update, FooterUpdate):
            part.footer = update.packed
        else:
            part.put(update)
        if isinstance(update, BlockMetaUpdate):
            slot.parent = update.parent_slot
            slot.at = slot.at or at
            self._blockhashes.remember(update.blockhash)
            self._begin_again(slot)
        self.is_waiting = self.is_waiting or (slot.wanted > slot.level and slot.is_whole)
        return True

    def _moved(self, slot: Slot, number: int, update: SlotUpdate, now: float) -> bool:
        if update.parent is not None:
            slot.parent = update.parent
        if update.status == SlotStatus.SLOT_DEAD:
            is_alive = slot.wanted >= Level.CONFIRMED
            if not is_alive and not slot.die(number, update.bank, is_light=self.is_light):
                del self._slots[slot.number]
            return True
        level = _LEVEL_OF.get(update.status)
        if level is None:
            return True
        if update.bank:
            slot.name(number, level, update.bank)
            self._begin_again(slot)
        if level is Level.PROCESSED:
            self.newest = max(self.newest, slot.number)
        while slot.wanted < level:
            slot.wanted = level
            slot.wanted_at = slot.wanted_at or now
            self.is_waiting = True
            # Ancestors reach the level with it. Those that were not seen are not to come.
            parent = None if level is Level.PROCESSED else self._slots.get(slot.parent or -1)
            if parent is None:
                break
            meta = slot.best().meta
            if meta is None and slot.parts and not any(map(slot.is_of_chain, slot.parts.values())):
                break  # which one its parent is, is not known
            if meta is not None and meta.parent_slot == parent.number:
                parent.child_hash = meta.parent_blockhash
                self._begin_again(parent)
            slot = parent
        return True

    def _begin_again(self, slot: Slot) -> None:
        """What was announced of the slot is announced again if another bank took its place."""
        if slot.level >= 0 and slot.blockhash:
            meta = slot.best().meta
            if meta is not None and meta.blockhash != slot.blockhash:
                slot.level = -1
                self.is_waiting = True

    def steps(self, now: float) -> Iterator[Step]:
        """The levels that slots reached, ascending. A slot that misses something is waited for, and
        what its chain reached above it too, LATE_SECONDS at most once nothing comes of it and of
        those below it.
        """
        if not self.is_waiting:
            return
        self.is_waiting = False
        is_held, heard_at = False, self._heard_at
        without = self._without_last_write if self.checks_writes else None
        for number in sorted(self._slots):
            slot = self._slots.get(number)
            if slot is None:
                continue
            heard_at = max(heard_at, slot.heard_at)
            if slot.wanted <= slot.level:
                continue
            is_there = self._is_there(slot)
            slot.is_of_before = not slot.parts and number < self._first
            is_late = slot.is_late(now, heard_at)
            is_ready = is_there or slot.is_of_before or is_late
            if not is_ready or (is_held and slot.wanted >= Level.CONFIRMED):
                self.is_waiting = True
                is_held = is_held or slot.wanted >= Level.CONFIRMED
                if slot.level < 0 and is_ready:
                    yield slot.announce(Level.PROCESSED, without)
                continue
            while slot.level < slot.wanted:
                yield slot.announce(Level(slot.level + 1), without)
            if slot.level == Level.FINALIZED:
                self._finish(slot)

    def _without_last_write(self, part: Part) -> set[bytes]:
        is_blockhash = self._blockhashes.__contains__
        return part.without_last_write(is_blockhash, stores_untouched=self.stores_untouched)

    def _is_there(self, slot: Slot) -> bool:
        if self.is_light:
            return any(part.meta is not None for part in slot.parts.values())
        return slot.is_whole and not (self.waits_for_entries and slot.misses_entries)

    def lighten(self) -> None:
        """Keeps statuses and block messages alone from now on."""
        self.is_light = True
        self._final.clear()
        self._final_bytes = 0
        self._signatures.clear()
        for slot in self._slots.values():
            slot.parts = {key: part.emptied() for key, part in slot.parts.items()}

    def fill(self, updates: Iterable[tuple[int, Update]], root: int, now: float, at: float) -> None:
        """Ends being light: the updates are what was sent of slots above the root, which is final,
        each with the number of its connection. What a slot reached counts as announced, unless more
        of it is still to come.
        """
        self.is_light = False
        self._drop_to(max(self.root, root))
        heard = {number: slot.heard_at for number, slot in self._slots.items()}
        for slot in self._slots.values():
            slot.parts = {}
        for number, update in updates:
            self.take(number, update, now, at)
        heard_at = self._heard_at
        for number in sorted(self._slots):
            slot = self._slots[number]
            slot.heard_at = heard.get(number, now)
            heard_at = max(heard_at, slot.heard_at)
            if slot.level < 0:
                continue
            slot.was_always_whole = True
            slot.announce(Level(slot.level))
            if not slot.was_whole and not slot.is_late(now, heard_at):
                slot.level = -1
                self.is_waiting = True

    @property
    def remembers(self) -> bool:
        """Whether the signatures of as many final slots are known as are kept at most."""
        return len(self._signatures) >= _KEPT_SIGNATURES

    def _drop_to(self, root: int) -> None:
        self.root = root
        for number in [each for each in self._slots if each <= root]:
            del self._slots[number]

    def _finish(self, slot: Slot) -> None:
        """The slot is final: what is left below is of no chain."""
        self._heard_at = max(self._heard_at, slot.heard_at)
        self._drop_to(slot.number)
        if self.is_light:
            return
        best = slot.best()
        slot.parts = {(0, 0): best}
        self._final.append(slot)
        self._final_bytes += slot.size
        signatures = {
            each.signature: (each.error, each.transaction_index)
            for each in best.transactions.values()
            if not each.is_vote
        }
        self._signatures.append((slot.number, signatures))
        if len(self._signatures) > _KEPT_SIGNATURES:
            self._signatures.popleft()
        while len(self._final) > _KEPT_SLOTS or (
            self._final_bytes > _KEPT_BYTES and len(self._final) > 1
        ):
            self._final_bytes -= self._final.popleft().size

    def kept(self) -> list[Slot]:
        """Every kept slot that reached a level: final ones first, each sort ascending."""
        still_open = [self._slots[each] for each in sorted(self._slots)]
        return [*self._final, *(slot for slot in still_open if slot.level >= 0)]

    def first_kept(self) -> int | None:
        """The lowest final slot from which on the chain is kept without a break."""
        if not self._final:
            return None
        first = self._final[-1]
        for slot in reversed(self._final):
            if slot is not first and first.parent != slot.number:
                break
            if not slot.was_whole:
                break
            first = slot
        return first.number if first.was_whole else None

    def find(self, signature: bytes) -> Seen | None:
        """The transaction in the slot that came the furthest."""
        found: Seen | None = None
        for slot in self._slots.values():
            for part in slot.chosen() if slot.level >= 0 else ():
                update = part.signatures.get(signature)
                if update is not None and (found is None or slot.level > found.level):
                    found = Seen(
                        slot.number, Level(slot.level), update.error, update.transaction_index
                    )
        if found is not None:
            return found
        for number, signatures in reversed(self._signatures):
            known = signatures.get(signature)
            if known is not None:
                return Seen(number, Level.FINALIZED, *known)
        return None
