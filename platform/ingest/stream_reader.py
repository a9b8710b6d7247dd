"""StreamReader: reads one stream into finalized slots, and reconnects when it breaks."""

import contextlib
import itertools
import logging
import random
import threading
import time
from collections.abc import Iterator
from statistics import median_low

from django.conf import settings
from django.db import connection

from chain.units import Slot
from ingest import chain_identity
from ingest.chain_identity import SameChain
from ingest.errors import ChainBroken
from ingest.joining import JoinedStreams
from ingest.sources import Stream, validator_stores_untouched
from rewind.coverage.services.gaps import resume_slot
from rewind.recording.store import slots as archive
from shared_state.outages import AWAY
from shared_state.pace import slots_in
from upstream.geyser.assembly import Assembler
from upstream.geyser.client import GeyserStream, first_available, newest_slot
from upstream.geyser.errors import FromSlotTooOld, StreamError, StreamRefused, Unreachable
from upstream.geyser.events import (
    ChainChanged,
    Event,
    HeadMoved,
    SlotClosed,
    SlotIncomplete,
    SlotsLost,
    TooFarAhead,
)
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    PassedOn,
    SlotUpdate,
    Update,
)
from upstream.head_bound import MOST_SLOT, HeadBound, clock
from upstream.node import Node, NodeError, NodeUnreachable

log = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 0.25
# Calls to the node and queries before the stream begins, each with a deadline of its own.
_BEGIN_SECONDS = 120.0
_WAIT_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 15.0
# A reader shows progress at least every second; on a busy machine it may be late.
_TURN_SECONDS = 5.0
# A stream that lived this long was healthy: its end resets the pause.
_HEALTHY_SECONDS = 10.0
# localnet starts together with its follower: early connection failures are not logged.
_QUIET_SECONDS = 10.0
# A server may drop its oldest slot while we ask for it: then the next request begins this many
# slots later, then four times as many, and the last one names no slot.
_SAFETY_SLOTS = 2
_MOST_SAFETY_SLOTS = 32
# When a stream begins, the slot in progress may be this far above the newest processed one:
# skipped slots lie between.
_LIVE_MARGIN_SLOTS = 8
# Numbers the connections of all streams: bank ids and write versions are of one validator, and a
# new connection may be to another one.
_CONNECTIONS = itertools.count()
# What the live feed reads while no process wants what is in slots.
_LIGHT = (SlotUpdate, BlockMetaUpdate)
# Blocks that a node is asked for before the stream is read on.
_LINKED_AT_ONCE = 64
# Slots kept while the chain of a stream is unproved: more than arrive during a call to a node.
_KEPT_UNPROVED = 63


class StreamReader:
    """`run` until `stop`, in a thread of its own. With `is_one_of_several` the stream's slots are
    passed on once its blocks are proved to be of the followed chain.
    """

    def __init__(
        self,
        number: int,
        stream: Stream,
        node: Node | None,
        joined: JoinedStreams,
        same_chain: SameChain,
        *,
        is_one_of_several: bool,
        assembler_bytes: int,
    ) -> None:
        self.name = stream.name
        self.problem = ""
        # `heard_at` is of the monotonic clock, `connected_since` in Unix seconds; 0 for never.
        self.connected_since = 0.0
        self.heard_at = 0.0
        self.leads = number == 0
        self.stores_untouched = True
        self._number = number
        self._connection = next(_CONNECTIONS)
        self._source = stream
        self._node = node
        self._joined = joined
        self._same_chain = same_chain
        self._is_one_of_several = is_one_of_several
        self._is_proved = False
        # Slots that arrived before their chain was proved.
        self._unproved: list[SlotClosed | SlotIncomplete] = []
        self._assembler_bytes = assembler_bytes
        self._assembler: Assembler | None = None
        self._bound = HeadBound(gives_way=False)
        self._chain_heard_at = 0.0
        self._turned_at = time.monotonic()
        self._allowed_until = 0.0
        self._stream: GeyserStream | None = None
        self._stopping = threading.Event()
        # The first slot that the stream no longer has; the next connection begins later.
        self._lost_from: Slot | None = None
        self._safety = 0
        # The server named its first slot: reconnect at once, before it drops more.
        self._at_once = False

    def stop(self) -> None:
        """For any thread."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    def is_alive(self) -> bool:
        """True if it showed progress lately, or is in a step that may take longer."""
        now = time.monotonic()
        return now - self._turned_at < _TURN_SECONDS or now < self._allowed_until

    def is_blockhash(self, value: bytes) -> bool:
        """True if one of the stream's latest blocks has the hash."""
        assembler = self._assembler
        return assembler is not None and assembler.is_blockhash(value)

    def held(self) -> tuple[Slot, list[tuple[int, Update]]]:
        """Assembler.held of the connection. For any thread."""
        while self._is_proved and (assembler := self._assembler) is not None:
            connection = self._connection
            found = assembler.held(connection)
            if connection == self._connection:
                return found
        return Slot(0), []

    def run(self) -> None:
        """Follows until `stop`. Raises what no new connection can repair."""
        pause = _FIRST_PAUSE_SECONDS
        said = ""
        quiet_until = time.monotonic() + _QUIET_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._follow_once()
            except StreamRefused as error:
                said = self._say(said, f"the {self.name} refuses the connection: {error}")
                pause = _LONGEST_PAUSE_SECONDS
            except (StreamError, NodeError) as error:
                text = f"the {self.name}: {error}"
                early = time.monotonic() < quiet_until
                if early and isinstance(error, (Unreachable, NodeUnreachable)):
                    self._say(text, text)  # logged as a warning if it lasts
                else:
                    said = self._say(said, text)
            except AWAY as error:
                connection.close()
                said = self._say(said, f"waiting for the database or Redis: {str(error).strip()}")
            self._joined.check()
            if self._at_once:
                self._at_once = False
                continue
            self.connected_since = 0.0
            self._is_proved = False
            self._joined.set_connected(self._number, False)
            if time.monotonic() - began > _HEALTHY_SECONDS:
                pause, said = _FIRST_PAUSE_SECONDS, ""
            # Jitter: after a server's restart its clients do not all reconnect at once.
            self._wait(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _turn(self) -> None:
        self._turned_at = time.monotonic()

    @contextlib.contextmanager
    def _allowed(self, seconds: float) -> Iterator[None]:
        """The block may take this long."""
        self._allowed_until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._turn()
            self._allowed_until = 0.0

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._turn()
            if self._stopping.wait(min(left, _WAIT_SECONDS)):
                return

    def _say(self, said: str, text: str) -> str:
        if not self._stopping.is_set():
            self.problem = text
            log.log(logging.DEBUG if text == said else logging.WARNING, "%s", text)
        return text

    def _follow_once(self) -> None:
        with self._allowed(_BEGIN_SECONDS):
            if self._node is not None:
                chain_identity.check(self._node)
            self.stores_untouched = validator_stores_untouched(self._node)
            if self._assembler is None:
                self._assembler = self._begin()
            self._assembler.reconnect(stores_untouched=self.stores_untouched)
            from_slot = None if self._lost_from is not None else self._assembler.replay_from
            stream = GeyserStream(
                self._source.url,
                token=self._source.token,
                from_slot=from_slot,
                on_turn=self._turn,
                on_entry=self._observe_entry if settings.FOLLOW_ENTRIES else None,
            )
        self._stream = stream
        self._connection = next(_CONNECTIONS)
        with stream:
            if self._stopping.is_set():
                return
            try:
                self._read(stream, from_slot)
            except FromSlotTooOld as error:
                if from_slot is None:
                    raise  # no slot was requested
                log.warning("the %s no longer has the slot: %s", self.name, error)
                with self._allowed(_BEGIN_SECONDS):
                    self._begin_later(error.first_available)
                self._at_once = True

    def _read(self, stream: GeyserStream, from_slot: Slot | None) -> None:
        assert self._assembler is not None
        feed, admits, publish, live = (
            self._assembler.feed,
            self._assembler.admits,
            self._joined.publish,
            self._joined.live,
        )
        connected = False
        for update in stream:
            if not connected:
                connected, self._safety = True, 0
                self.connected_since, self.problem = time.time(), ""
                self._set_proved(not self._is_one_of_several)
                begins = "its newest slot" if from_slot is None else f"slot {from_slot}"
                log.info("connected to the %s, from %s on", self.name, begins)
                with self._allowed(_BEGIN_SECONDS):
                    self._find_head(self._assembler)
            admitted = True
            if not isinstance(update, AccountUpdate) or self._lost_from is not None:
                admitted = admits(update.slot)
                if admitted and self._lost_from is not None and not isinstance(update, SlotUpdate):
                    # The first slot of the stream may be incomplete.
                    with self._allowed(_BEGIN_SECONDS):
                        self._give_up(self._assembler, self._lost_from, Slot(update.slot + 1))
                    self._lost_from = None
                if admitted and self.leads and not isinstance(update, AccountUpdate):
                    publish(update)
            is_live = self._is_proved and admitted
            # Before the live feed is asked what it reads: what it does not is held.
            # Which slots the server has is known first: statuses name no block.
            events = feed(update) if self._lost_from is None else []
            if is_live and (live.reads_all or isinstance(update, _LIGHT)) and admits(update.slot):
                live.add(self._connection, update)
            for event in events:
                self._take(event)
            if events:
                self._joined.check()
                if self._assembler.is_astray:
                    self._start_over()
            if not admitted and self._bound.is_contradicted(clock()):
                # Without a node the next stream is trusted.
                self._chain_heard_at = self._chain_heard_at if self._node is not None else 0.0
                raise Unreachable("it sends only slots that the chain cannot have reached")

    def _observe_entry(self, entry: PassedOn) -> None:
        if self._is_proved and self._assembler is not None and self._assembler.admits(entry.slot):
            self._joined.live.add(self._connection, entry)

    def _set_proved(self, is_proved: bool) -> None:
        self._is_proved = is_proved
        self._unproved.clear()
        self._joined.set_connected(self._number, is_proved)

    def _link(self, assembler: Assembler) -> None:
        """Asks the node for the parents of final blocks that the stream did not bring, down to one
        that an earlier connection did.
        """
        if self._node is None or not assembler.unlinked:
            return
        with self._allowed(_BEGIN_SECONDS), contextlib.suppress(NodeError):
            for _ in range(_LINKED_AT_ONCE):
                slot = max(assembler.unlinked)
                header = self._node.header(slot)
                parent = Slot(header.parent_slot)
                events = assembler.link(slot, header.blockhash, parent, header.previous_blockhash)
                for event in events:
                    self._take(event)
                if not assembler.unlinked or slot in assembler.unlinked:
                    return

    def _find_head(self, assembler: Assembler) -> None:
        """Called after the stream began: slots up to its reported newest one are replayed. If it
        reports none, all slots count as replayed.

        The head is the median of three estimates, or the lower of two: the stream's, the node's,
        and the last known head plus the time since.
        """
        now, estimates = clock(), []
        with contextlib.suppress(StreamError):
            newest = newest_slot(self._source.url, token=self._source.token)
            if newest is not None:
                estimates.append(newest)
                assembler.live_after(Slot(newest + _LIVE_MARGIN_SLOTS))
        if self._node is not None:
            with contextlib.suppress(NodeError):
                estimates.append(self._node.slot("processed"))
        if self._bound.slot is not None and self._chain_heard_at:
            passed = now - self._chain_heard_at
            estimates.append(Slot(self._bound.slot + slots_in(passed)))
        if len(estimates) > 1 or not self._chain_heard_at:
            self._bound.expect(median_low(estimates) if estimates else None, now)

    def _start_over(self) -> None:
        """The stream reported slots that its chain has not reached: continue after stored slots."""
        state = self._joined.state
        log.warning("the %s reported slots as final that are not: starting over", self.name)
        state.head_slot = state.finalized_slot = state.closed_slot = 0
        self._assembler = None
        raise Unreachable("the stream went back behind slots that it had finalized")

    def _take(self, event: Event) -> None:
        match event:
            case SlotClosed() | SlotIncomplete():
                self._slot(event)
            case HeadMoved(finalized=finalized):
                self.heard_at = time.monotonic()
                self._chain_heard_at = clock()
                decided = None
                if finalized is not None and self._is_proved and self._assembler is not None:
                    decided = self._assembler.decided
                self._joined.moved(self._number, event, decided, leads=self.leads)
                if finalized is not None and self._assembler is not None:
                    self._link(self._assembler)
            case SlotsLost(first, last):
                self._joined.lost(self._number, first, last)
            case TooFarAhead(slot):
                log.warning(
                    "the %s sent slot %d, which the chain cannot have reached yet: ignored",
                    self.name,
                    slot,
                )
            case ChainChanged(slot, parent, expected):
                raise ChainBroken(
                    f"block {slot} of the {self.name} has parent {parent}, which leaves"
                    f" out slot {expected}, finalized before: this is another chain, or its node"
                    " went back. Stored data was not changed."
                )

    def _slot(self, event: SlotClosed | SlotIncomplete) -> None:
        if not self._is_proved:
            self._unproved = [*self._unproved[-_KEPT_UNPROVED:], event]
            if isinstance(event, SlotIncomplete):
                return
            with self._allowed(_BEGIN_SECONDS):
                if not self._same_chain.is_proved_by(self._number, event.closed):
                    return
            log.info("the %s is of the followed chain, proved by block %d",
                     self.name, event.closed.slot)  # fmt: skip
            unproved, self._is_proved = self._unproved, True
            self._unproved = []
            self._joined.set_connected(self._number, True)
        else:
            unproved = [event]
        for each in unproved:
            if isinstance(each, SlotClosed):
                self._joined.closed(self._number, each)
            else:
                self._joined.incomplete(self._number, each)

    def _begin(self) -> Assembler:
        """Continues after the last stored slot; the first time, at the server's oldest slot."""
        resume = resume_slot()
        if resume is not None:
            return self._assembler_from(
                Slot(resume + 1), after_finalized=bool(archive.stored([resume]))
            )
        self._joined.begin_new()
        oldest = first_available(self._source.url, token=self._source.token)
        if oldest is None or oldest > MOST_SLOT:
            return Assembler(limit_bytes=self._assembler_bytes, bound=self._bound)
        return self._assembler_from(oldest)

    def _assembler_from(self, begin: Slot, *, after_finalized: bool = False) -> Assembler:
        return Assembler(
            begin=begin,
            after_finalized=after_finalized,
            limit_bytes=self._assembler_bytes,
            bound=self._bound,
        )

    def _begin_later(self, oldest: Slot | None) -> None:
        """The server no longer has the next slot."""
        assembler = self._assembler
        wanted = None if assembler is None else assembler.replay_from
        if assembler is None or wanted is None:
            return
        if oldest is None or not assembler.admits(oldest) or self._safety > _MOST_SAFETY_SLOTS:
            self._lost_from = wanted
            return
        self._give_up(assembler, wanted, Slot(oldest + self._safety))
        self._safety = 4 * self._safety or _SAFETY_SLOTS

    def _give_up(self, assembler: Assembler, wanted: Slot, begin: Slot) -> None:
        """The stream delivers nothing more of slots below `begin`."""
        # First, because the query may fail, and all of this is then repeated.
        is_first = archive.bounds() is None and not self._joined.state.closed_slot
        if is_first:  # nothing was followed before: the history begins here
            for event in assembler.give_up_before(begin, "stream_lost"):
                self._take(event)
        elif begin > wanted:
            log.warning("the %s does not have slots %d to %d", self.name, wanted, begin - 1)
            assembler.begin_later(begin)
