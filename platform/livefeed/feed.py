"""LiveFeed: the follower's part, which publishes what subscribers want of the stream."""

import contextlib
import logging
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TypeVar

import msgspec
import redis
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
    asks_channel,
    channel_of,
    encode,
    hello_channel,
    read_ask,
)
from livefeed.slots import Slot, SlotTracker
from livefeed.wanted import Picked, Wanted
from shared_state.outages import AWAY
from shared_state.redis_client import client, client_of
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    PassedOn,
    SlotUpdate,
    TransactionUpdate,
    Update,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

T = TypeVar("T")

log = logging.getLogger(__name__)

# Updates that wait for the feed's thread; more than some seconds of mainnet are not wanted live.
_MOST_WAITING = 400_000
_TURN_SECONDS = 0.25
_PAUSE_SECONDS = 0.5
_LISTEN_SECONDS = 1.0
# Who waits less loses what a busy machine would have published.
_SEND_SECONDS = 5.0
_AT_ONCE = 5_000
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


class LiveFeed:
    """Two threads: one hears what processes want, one reads the updates. `add` never waits."""

    def __init__(self) -> None:
        self._updates: deque[tuple[int, Update | PassedOn] | Ask] = deque()
        self._added = threading.Event()
        self._stopping = threading.Event()
        self._dropped = False
        self._is_eager = False
        self._select = Selection(int.from_bytes(os.urandom(6)))
        self._threads = [
            threading.Thread(target=self._run, name="live feed", daemon=True),
            threading.Thread(target=self._listen, name="live asks", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._added.set()
        with contextlib.suppress(*AWAY):
            client().publish(asks_channel(), b"")  # ends the listening thread's wait
        for thread in self._threads:
            thread.join(timeout=3.0)

    def add(self, number: int, update: Update | PassedOn) -> None:
        """A message of the connection of that number; cheap, for the reading threads."""
        if len(self._updates) >= _MOST_WAITING:
            self._dropped = True
            return
        self._updates.append((number, update))
        # Account writes alone reach no commitment: what wakes the thread follows them.
        if isinstance(update, AccountUpdate) or self._added.is_set():
            return
        if self._is_eager or isinstance(update, SlotUpdate | BlockMetaUpdate):
            self._added.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._added.wait(_TURN_SECONDS)
            self._added.clear()
            try:
                self._turn()
            except AWAY as error:
                self._select.lost()
                log.warning("subscribers get nothing: %s", str(error).strip())
                self._stopping.wait(_PAUSE_SECONDS)
            except Exception:
                self._select.lost()
                log.exception("the live feed failed")
                self._stopping.wait(_PAUSE_SECONDS)

    def _turn(self) -> None:
        if self._dropped:
            self._dropped = False
            log.warning("the live feed is behind: updates were dropped")
            self._updates.clear()
            self._select.lost()
        while self._updates:
            now, at = time.monotonic(), time.time()
            for _ in range(min(len(self._updates), _AT_ONCE)):
                item = self._updates.popleft()
                if isinstance(item, Ask):
                    self._select.ask(item, now)
                else:
                    number, update = item
                    self._select.take(number, update, now, at)
            self._select.advance(time.monotonic())
            self._select.send()
        self._select.advance(time.monotonic())
        self._select.forget_silent(time.monotonic())
        self._select.send()
        self._is_eager = self._select.is_eager

    def _listen(self) -> None:
        """Hears asks; after each connection to Redis, processes state all."""
        while not self._stopping.is_set():
            try:
                with redis.Redis.from_url(
                    settings.REDIS_URL, socket_timeout=_LISTEN_SECONDS + 2
                ) as connection:
                    pubsub = connection.pubsub(ignore_subscribe_messages=True)
                    pubsub.subscribe(asks_channel())
                    connection.publish(hello_channel(), b"")
                    while not self._stopping.is_set():
                        message = pubsub.get_message(timeout=_LISTEN_SECONDS)
                        if message is not None and message["data"]:
                            self._heard(message["data"])
            except AWAY:
                self._stopping.wait(_PAUSE_SECONDS)
            except Exception:
                log.exception("asks of subscribers could not be read")
                self._stopping.wait(_PAUSE_SECONDS)

    def _heard(self, data: bytes) -> None:
        try:
            ask = read_ask(data)
        except msgspec.MsgspecError as error:
            log.error("an ask could not be read: %s", error)
            return
        self._updates.append(ask)
        self._added.set()


class Selection:
    """What goes to which process: no thread and no clock of its own. `send` publishes."""

    def __init__(self, feed: int) -> None:
        self._feed = feed
        self._tracker = SlotTracker()
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
        self._heard_at.clear()
        self._out.clear()
        self._tracker = SlotTracker()

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
        return self._tracker.is_waiting or self._wanted.wants_any(Kind.RECEIVED)

    def advance(self, now: float) -> None:
        self._tracker.waits_for_entries = self._wanted.wants_any(Kind.ENTRIES)
        for slot, level in self._tracker.steps(now):
            if level is Level.FINALIZED:
                self._check_chain(slot)
            if not self._wanted:
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
        is_there = bool(slot.parts) or slot.is_of_before
        self._final = slot.number
        if not (is_next and slot.was_always_whole):
            for process in self._heard_at:
                self._put(process, Missed(slot.number, not (is_next and is_there)))

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
        if ask.number:
            tracker = self._tracker
            answer = Answer(
                ask.number, tracker.newest, tracker.root, tracker.first_kept(), self._known(ask.add)
            )
            self._put(process, answer)
        if ask.again:
            self._again(ask)

    def forget_silent(self, now: float) -> None:
        for process in [p for p, at in self._heard_at.items() if now - at > FORGOTTEN_SECONDS]:
            self._wanted.forget(process)
            del self._heard_at[process]
            self._numbers.pop(process, None)

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
        for process in self._wanted.of_kind(Kind.SLOTS):
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
        processes = self._wanted.of_kind(Kind.UPDATES)
        if not processes:
            return
        stats = None
        if slot is not None:
            part = slot.best()
            failed = sum(bool(each.error) for each in part.transactions.values())
            entries = 0 if part.meta is None else part.meta.entry_count
            stats = (entries, len(part.transactions) - failed, failed, 0)
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
