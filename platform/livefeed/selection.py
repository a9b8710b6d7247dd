"""Selection: what the live feed sends to which process."""

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from django.conf import settings

from livefeed.messages import (
    FORGOTTEN_SECONDS,
    Answer,
    Ask,
    Body,
    Envelope,
    Kind,
    Known,
    Level,
    Missed,
    Moved,
    Opened,
    Reached,
    Received,
    Rooted,
    Want,
    channel_of,
    encode,
    hello_channel,
)
from livefeed.slots import Slot, SlotTracker
from livefeed.wanted import Picked, Wanted
from shared_state.redis_client import client_of
from upstream.geyser.updates import (
    AccountUpdate,
    PassedOn,
    SlotUpdate,
    TransactionUpdate,
    Update,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

T = TypeVar("T")

# Who waits less loses what a busy machine would have published.
_SEND_SECONDS = 5.0
_UPDATES: dict[int, str] = {
    SlotStatus.SLOT_FIRST_SHRED_RECEIVED: "firstShredReceived",
    SlotStatus.SLOT_COMPLETED: "completed",
    SlotStatus.SLOT_CREATED_BANK: "createdBank",
    SlotStatus.SLOT_DEAD: "dead",
}
_REACHED = {
    Level.PROCESSED: "frozen",
    Level.CONFIRMED: "optimisticConfirmation",
    Level.FINALIZED: "root",
}
_REMEMBERED_SLOTS = 2_000
# Accounts of a slot whose writes are missing; with more of them all of it is.
_MOST_NAMED = 1_000


class Selection:
    """What goes to which process: no thread and no clock of its own. `send` publishes.
    `stores_untouched`: the validators store accounts that a transaction left untouched.
    """

    def __init__(self, feed: int, *, is_light: bool = False) -> None:
        self.stores_untouched = False
        # Whether a process wants anything.
        self.is_wanted = False
        self._feed = feed
        self._begins_light = is_light
        self._tracker = SlotTracker(is_light=is_light)
        self._wanted = Wanted()
        self._heard_at: dict[str, float] = {}
        self._numbers: dict[str, int] = defaultdict(int)
        self._out: list[tuple[str, bytes]] = []
        self._newest = 0
        self._final = 0
        # The newest slot that a stream called final, whether or not all of it is there.
        self._root = 0
        self._said: dict[tuple[int, int, int], None] = {}

    def lost(self) -> None:
        """Something was not published, or not read: every process states its wants again."""
        self._feed += 1
        self._numbers.clear()
        self._wanted = Wanted()
        self.is_wanted = False
        self._heard_at.clear()
        self._out.clear()
        self._tracker = SlotTracker(is_light=self._begins_light)

    @property
    def is_light(self) -> bool:
        """Whether only statuses and block messages are read."""
        return self._tracker.is_light

    @property
    def wants_contents(self) -> bool:
        """Whether a process wants more than where the chain is."""
        return self._wanted.wants_contents

    def lighten(self) -> None:
        """Only statuses and block messages come from now on."""
        self._tracker.lighten()

    def fill(self, updates: Iterable[tuple[int, Update]], root: int, now: float) -> None:
        """Everything comes from now on; the updates are what came meanwhile, above the root."""
        self._tracker.fill(updates, root, now, time.time())
        self._final = self._tracker.root

    def take(self, number: int, update: Update | PassedOn, now: float, at: float) -> None:
        """A message of the connection of that number; `now` is monotonic, `at` Unix seconds."""
        is_taken = self._tracker.take(number, update, now, at)
        if isinstance(update, AccountUpdate) or not is_taken:
            return
        if isinstance(update, TransactionUpdate):
            self._received(update)
        elif isinstance(update, SlotUpdate):
            self._moved(update, at)

    @property
    def is_eager(self) -> bool:
        """Whether transactions are to be taken as soon as they come: a process wants them so, or a
        slot may be announced with one.
        """
        is_wanted = self.is_wanted and self._wanted.wants_any(Kind.RECEIVED)
        return self._tracker.is_waiting or is_wanted

    def advance(self, now: float) -> None:
        self._tracker.stores_untouched = self.stores_untouched
        for slot, level in self._tracker.steps(now):
            if level is Level.FINALIZED:
                self._check_chain(slot)
            if not self.is_wanted:
                continue
            for process, picked in self._wanted.of_slot(slot.best(), level).items():
                self._put(process, _reached(slot, level, picked, ask=0))
            if level is Level.PROCESSED:
                self._open(slot.number, slot.parent)
            is_frozen = slot if level is Level.PROCESSED else None
            self._update(slot.number, slot.parent, _REACHED[level], time.time(), slot=is_frozen)
            if level is Level.FINALIZED:
                for process in self._wanted.of_kind(Kind.ROOTS):
                    self._put(process, Rooted(slot.number))

    def _check_chain(self, slot: Slot) -> None:
        """Where a final slot missed something, or is not the next one, subscriptions with a memory
        read what is stored; others cannot go on where slots are missing.
        """
        is_next = self._final in (0, slot.parent)
        is_there = any(map(slot.is_of_chain, slot.parts.values())) or slot.is_of_before
        self._final = slot.number
        if not self.is_light and not (is_next and slot.was_always_whole):
            is_break = not (is_next and is_there) or len(slot.unwritten) > _MOST_NAMED
            missed = Missed(slot.number, is_break, [] if is_break else sorted(slot.unwritten))
            for process in self._heard_at:
                self._put(process, missed)

    def ask(self, ask: Ask, now: float) -> None:
        """A process says that it is there, and what it wants from now on."""
        process = ask.process
        if ask.whole:
            self._wanted.forget(process)
            # From the beginning, for a process that missed something.
            self._numbers[process] = 0
        elif process not in self._heard_at:
            self._out.append((hello_channel(), process.encode()))
            return
        self._heard_at[process] = now
        self._wanted.drop(process, ask.drop)
        self._wanted.add(process, ask.add)
        self._note_wants()
        if ask.number:
            tracker = self._tracker
            answer = Answer(
                ask.number,
                tracker.newest,
                tracker.root,
                tracker.first_kept(),
                self._known(ask.add),
                tracker.remembers,
            )
            self._put(process, answer)
        if ask.again:
            self._again(ask)

    def forget_silent(self, now: float) -> None:
        for process in [p for p, at in self._heard_at.items() if now - at > FORGOTTEN_SECONDS]:
            self._wanted.forget(process)
            del self._heard_at[process]
            self._numbers.pop(process, None)
            self._note_wants()

    def _note_wants(self) -> None:
        self.is_wanted = bool(self._wanted)
        self._tracker.waits_for_entries = self._wanted.wants_any(Kind.ENTRIES)
        self._tracker.checks_writes = self._wanted.wants_accounts

    def send(self) -> None:
        """Raises redis.RedisError; then what was to be sent is lost."""
        out, self._out = self._out, []
        if not out:
            return
        with client_of(settings.REDIS_URL, _SEND_SECONDS).pipeline(transaction=False) as pipe:
            for channel, message in out:
                pipe.publish(channel, message)
            pipe.execute()

    def _known(self, wants: Iterable[Want]) -> list[Known]:
        found = []
        for want in wants:
            if want.kind is Kind.SIGNATURE:
                seen = self._tracker.find(want.key)
                if seen is not None:
                    found.append(Known(want.key, seen.slot, seen.level, seen.error, seen.place))
        return found

    def _again(self, ask: Ask) -> None:
        """What is kept of slots that reached the wants' levels before, for these alone."""
        wanted = Wanted()
        wanted.add(ask.process, ask.again)
        for slot in self._tracker.kept():
            for level in Level:
                if slot.level < level:
                    continue
                picked = wanted.of_slot(slot.best(), level).get(ask.process)
                if picked is not None:
                    self._put(ask.process, _reached(slot, level, picked, ask=ask.number))

    def _moved(self, update: SlotUpdate, now: float) -> None:
        said = (update.slot, update.status, update.bank)
        if said in self._said:
            return  # another stream said it
        _remember(self._said, said)
        name = _UPDATES.get(update.status)
        if update.status == SlotStatus.SLOT_FINALIZED:
            self._root = max(self._root, update.slot)
        if update.status == SlotStatus.SLOT_CREATED_BANK:
            self._open(update.slot, update.parent)
        if name is not None:
            self._update(
                update.slot, update.parent, name, now, error=update.dead_error, bank=update.bank
            )

    def _open(self, slot: int, parent: int | None) -> None:
        """Once a slot, ascending; of a stream that does not say when banks are created, when it is
        done.
        """
        if parent is None or slot <= self._newest:
            return  # said, or of the past: the stream catches up
        self._newest = slot
        for process in self._wanted.of_kind(Kind.SLOTS) if self.is_wanted else ():
            self._put(process, Opened(slot, parent, max(self._root, self._tracker.root)))

    def _update(
        self,
        number: int,
        parent: int | None,
        name: str,
        now: float,
        *,
        error: str = "",
        bank: int = 0,
        slot: Slot | None = None,
    ) -> None:
        processes = self._wanted.of_kind(Kind.UPDATES) if self.is_wanted else ()
        if not processes:
            return
        stats = None
        if slot is not None:
            part = slot.best()
            failed = sum(bool(each.error) for each in part.transactions.values())
            entries = 0 if part.meta is None else part.meta.entry_count
            stats = (entries, len(part.transactions), failed, 0)
        at = int(now * 1_000)
        moved = Moved(number, parent, self._tracker.root, name, at, error, stats, bank)
        for process in processes:
            self._put(process, moved)

    def _received(self, update: TransactionUpdate) -> None:
        for process in self._wanted.of_kind(Kind.RECEIVED, key=update.signature):
            self._put(process, Received(update.slot, [update.signature]))

    def _put(self, process: str, body: Body) -> None:
        self._numbers[process] += 1
        message = encode(Envelope(self._feed, self._numbers[process], body))
        self._out.append((channel_of(process), message))


def _reached(slot: Slot, level: Level, picked: Picked, *, ask: int) -> Reached:
    part = slot.best()
    accounts = picked.accounts_in_order()
    signatures = part.signatures
    indexes = [
        signatures[each.signature].transaction_index if each.signature in signatures else -1
        for each in accounts
    ]
    block = part.meta.packed if picked.block and part.meta is not None else None
    return Reached(
        slot.number,
        slot.parent,
        level,
        slot.was_whole,
        slot.at,
        ask,
        [each.packed for each in accounts],
        indexes,
        picked.transactions_in_order(),
        block,
        len(part.transactions),
        len(part.accounts),
        0 if block is None else sum(bool(each.error) for each in part.transactions.values()),
        [part.entries[index] for index in sorted(part.entries)] if picked.entries else [],
        part.has_entries or slot.is_of_before or not picked.entries,
        part.bank or (0 if part.meta is None else part.meta.bank),
        list(slot.new_parents.values()) if picked.entries else [],
        part.footer if picked.footers else b"",
    )


def _remember(found: dict[T, None], key: T) -> None:
    found[key] = None
    if len(found) > _REMEMBERED_SLOTS * 8:
        del found[next(iter(found))]
