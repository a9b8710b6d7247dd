"""NodeFollower: stores a node's finalized blocks in the ledger, where there is no stream."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime

from django.db import connection

from chain.blocks import SlotRecord
from chain.signed import Signatures
from chain.units import Slot
from embedded.notify import allowed, progress
from gaps.slot_gap import GapStatus
from historical.blocks.services.bounds import newest_slot_or_none
from historical.coverage.services.gaps import ledger_gaps
from historical.errors import BadBlock as BadLedgerBlock
from historical.errors import BlockConflict
from ingest import chain_identity
from ingest.event_publisher import events_of_finalized
from ingest.follower_state import FollowerState, publish
from ingest.services.slots import publish_pace, store_records
from ingest.sources import SourceLock
from priority.lander.store.chain_events import publish_events
from shared_state.outages import AWAY
from shared_state.pace import slot_seconds
from upstream.head_bound import HeadBound, clock
from upstream.node import Node, NodeError, NodeUnreachable

log = logging.getLogger(__name__)

# The node is asked once a slot, within these seconds.
_LEAST_POLL_SECONDS, _MOST_POLL_SECONDS = 0.1, 2.0
_LONGEST_PAUSE_SECONDS = 15.0
_WAIT_SECONDS = 1.0
# A few calls to the node and database transactions, each with a deadline of its own.
_TURN_SECONDS = 300.0
# Slots in one getBlocks call, more where none has a block; and blocks of one transaction.
_MOST_SLOTS = 500
_MOST_EMPTY_SLOTS = 100_000
_RUN_BLOCKS = 8
_REFUSALS = (BlockConflict, BadLedgerBlock)


def _poll_seconds() -> float:
    return min(max(slot_seconds(), _LEAST_POLL_SECONDS), _MOST_POLL_SECONDS)


class NodeFollower:
    """`run` until `stop`. An empty ledger begins at the node's newest finalized slot."""

    def __init__(self, node: Node, lock: SourceLock, *, now: Callable[[], datetime]) -> None:
        self._node = node
        self._lock = lock
        self._now = now
        self._stopping = threading.Event()
        self._state = FollowerState(source=f"node {node.name}")
        self._next: Slot | None = None
        self._span = _MOST_SLOTS
        self._bound = HeadBound()
        self._is_publishing_failing = False

    def stop(self) -> None:
        """For any thread or signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Follows until `stop`. Raises what no new attempt can repair."""
        pause, said = _poll_seconds(), ""
        while not self._stopping.is_set():
            text = ""
            try:
                with allowed(_TURN_SECONDS):
                    self._lock.keep()
                    busy = self._follow_once()
                pause = 0.0 if busy else _poll_seconds()
                self._state.problem = ""
                publish(self._state)
            except NodeError as error:
                text = f"node {self._node.name}: {error}"
            except AWAY as error:
                self._lock.let_go()
                connection.close()
                text = f"waiting for the database or Redis: {str(error).strip()}"
            if text:
                self._state.connected_since, self._state.problem, self._next = 0.0, text, None
                log.log(logging.DEBUG if text == said else logging.WARNING, "%s", text)
                pause = min(max(pause, _poll_seconds()) * 2, _LONGEST_PAUSE_SECONDS)
            said = text
            self._wait(pause)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            progress()
            if self._stopping.wait(min(left, _WAIT_SECONDS)):
                return

    def _follow_once(self) -> bool:
        """True if more slots may be ready at once."""
        if self._next is None:
            chain_identity.check(self._node)
            newest = newest_slot_or_none()
            self._next = self._node.slot() if newest is None else Slot(newest + 1)
            log.info("connected to node %s, from slot %d on", self._node.name, self._next)
            self._state.connected_since = time.time()
        finalized = self._node.slot()
        if not self._bound.hear(finalized, clock()):
            raise NodeUnreachable(f"slot {finalized} cannot have been reached by now")
        self._state.head_slot = self._state.finalized_slot = finalized
        self._state.heard_at = time.time()
        if finalized < self._next:
            if finalized + _MOST_SLOTS < self._next and newest_slot_or_none() is None:
                self._next = None  # the node went back behind the slot that we began at
            return False
        self._skip_unavailable(self._next, finalized)
        last = Slot(min(finalized, self._next + self._span - 1))
        slots = self._node.blocks(self._next, last)
        for at in range(0, len(slots), _RUN_BLOCKS):
            if self._stopping.is_set():
                return False
            with allowed(_TURN_SECONDS):
                self._store(slots[at : at + _RUN_BLOCKS])
        # A finalized slot has a block: where the last requested one has none, the node reported too
        # high a slot, or is a pool of nodes that disagree.
        if slots:
            self._next, self._span = Slot(slots[-1] + 1), _MOST_SLOTS
        elif last < finalized:
            self._span = min(2 * self._span, _MOST_EMPTY_SLOTS)
        return last < finalized

    def _skip_unavailable(self, wanted: Slot, finalized: Slot) -> None:
        oldest = self._node.first_available_block()
        if oldest > finalized:
            raise NodeUnreachable(f"its first block is {oldest}, above its newest, {finalized}")
        if oldest > wanted:
            log.warning("slots %d to %d are lost to node %s", wanted, oldest - 1, self._node.name)
            ledger_gaps.open_gap(
                wanted, oldest - 1, status=GapStatus.UNKNOWN, cause="follower_down", now=self._now()
            )
            self._next = oldest

    def _store(self, slots: list[Slot]) -> None:
        records = []
        for slot in slots:
            try:
                records.append(self._node.block(slot))
            except NodeUnreachable:
                raise
            except NodeError as error:
                self._open_gap(slot, error)
        self._state.closed_slot = max([self._state.closed_slot, *slots])
        self._publish(self._stored(records))

    def _stored(self, records: list[SlotRecord]) -> list[SlotRecord]:
        """Stores the blocks; those that could be. The others become gaps, which are filled from
        other nodes too, so one with an unsigned transaction is refused whatever is kept.
        """
        try:
            self._store_records(records)
        except _REFUSALS as refusal:
            if len(records) == 1:
                self._open_gap(records[0].slot, refusal)
                return []
            return [record for each in records for record in self._stored([each])]
        return records

    def _store_records(self, records: list[SlotRecord]) -> None:
        store_records(
            records,
            source=f"node {self._node.name}",
            now=self._now(),
            signatures=Signatures.REFUSE,
        )

    def _publish(self, records: list[SlotRecord]) -> None:
        """Publishes to landers if Redis is there: stored blocks settle submissions in any case."""
        try:
            for record in records:
                publish_events(events_of_finalized(record), now=time.time())
            publish_pace()
            self._is_publishing_failing = False
        except AWAY as error:
            level = logging.DEBUG if self._is_publishing_failing else logging.WARNING
            log.log(level, "chain events are not published: %s", str(error).strip())
            self._is_publishing_failing = True

    def _open_gap(self, slot: Slot, error: Exception) -> None:
        log.warning("slot %d was not stored: %s", slot, error)
        ledger_gaps.open_gap(slot, slot, status=GapStatus.MISSING, cause="refused", now=self._now())
