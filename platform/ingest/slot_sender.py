"""SlotSender: queues closed slots, and keeps them until the database has them."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection

from embedded.notify import progress
from gaps.slot_gap import GapStatus
from historical.blocks.store import blocks as ledger
from ingest import slot_queue
from ingest.follower_state import FollowerState, publish
from ingest.services.slots import open_gaps
from ingest.slot_queue import Payload, call_ingest
from ingest.sources import SourceLock
from rewind.recording.store import slots as archive
from rewind.recording.store.gaps import damaged_among
from rewind.recording.store.slots import first_kept_slot
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.25
# With few slots kept, stored slots are checked less often: two statements each time.
_FEW, _IDLE_SECONDS = 8, 2.0
_LONGEST_PAUSE_SECONDS = 5.0
_PUBLISH_SECONDS = 2.0
# A few slots without a transaction but votes wait this long for others: calling the worker costs
# several times what a slot does, and an idle chain produces only such slots.
_BATCH_SECONDS, _BATCH_SLOTS = 2.0, 8
# After this long in the queue the worker is called again, and the queue is checked for the slot: a
# killed Redis loses its last second.
_CALL_AGAIN_SECONDS = 3.0
_CHECKED_AT_ONCE = 200


@dataclass(slots=True)
class _Kept:
    payload: Payload
    offered_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Slots that the stream did not deliver, and why."""

    first: int
    last: int
    status: GapStatus
    cause: str


class SlotSender:
    """A thread that queues slots, checks that they are stored, and queues again what Redis lost.

    While it is full `add` blocks, so that nothing is read from the stream.
    """

    def __init__(
        self, lock: SourceLock, *, source: str, limit_bytes: int, now: Callable[[], datetime]
    ) -> None:
        self.state = FollowerState(source=source)
        self.failure: BaseException | None = None
        self._limit = limit_bytes
        self._now = now
        self._kept: dict[str, _Kept] = {}
        self._lost: list[Lost] = []
        self._size = 0
        self._unstored_since = 0.0
        self._changed = threading.Condition()
        self._stop = False
        self._released = False
        self._away_since = 0.0
        self._offered_at = 0.0
        self._lock = lock
        self._thread = threading.Thread(target=self._run, name="slot-sender", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Queues what is left, for up to three seconds; the stream is asked again for the rest."""
        with self._changed:
            self._stop = self._released = True
            self._changed.notify_all()
        self._thread.join(timeout=3.0)

    def add(self, payload: Payload) -> bool:
        """Keeps the slot until it is stored; blocks while full. True if it blocked."""
        waited = False
        with self._changed:
            while self._size >= self._limit and not self._released and self.failure is None:
                if not waited:
                    log.warning(
                        "%d MB wait to be stored: reading is paused",
                        self._size // 1_048_576,
                    )
                waited = True
                progress()
                self._changed.wait(1.0)
            if not self._kept:
                self._unstored_since = self._now().timestamp()
            if payload.name not in self._kept:
                self._kept[payload.name] = _Kept(payload)
                self._size += len(payload.data)
            self._changed.notify_all()
        return waited

    def release(self) -> None:
        """Unblocks `add`: the follower is stopping."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def add_lost(self, lost: Lost) -> None:
        """Opens gaps of the slots."""
        with self._changed:
            self._lost.append(lost)
            self._changed.notify_all()

    def holds(self, slot: int) -> bool:
        """True while the slot is not known to be stored."""
        with self._changed:
            return any(each.payload.slot == slot for each in self._kept.values())

    def _run(self) -> None:
        pause = _PAUSE_SECONDS
        published_at = checked_at = 0.0
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._lost or self._stop or self._has_to_offer(),
                        timeout=self._seconds_until_turn(),
                    )
                    stopping = self._stop
                try:
                    self._lock.keep()
                    self._offer()
                    self._open_gaps()
                    now = time.monotonic()
                    if now - checked_at >= self._check_seconds():
                        self._check_stored()
                        checked_at = time.monotonic()
                    if now - published_at >= _PUBLISH_SECONDS:
                        self._publish()
                        published_at = now
                    self._is_back()
                    pause = _PAUSE_SECONDS
                except AWAY as error:
                    self._is_away(error)
                    if stopping:
                        return
                    time.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                if stopping:
                    return
        except BaseException as error:
            self.failure = error
            log.error("the slot sender stopped: %s", error, exc_info=error)
        finally:
            connection.close()
            with self._changed:
                self._changed.notify_all()

    def _check_seconds(self) -> float:
        """The interval of checks for stored slots: a few kept ones are not urgent."""
        return _IDLE_SECONDS if len(self._kept) <= _FEW else _PAUSE_SECONDS

    def _fresh(self) -> list[_Kept]:
        return [each for each in self._kept.values() if not each.offered_at]

    def _has_to_offer(self) -> bool:
        fresh = self._fresh()
        return bool(fresh) and (
            len(fresh) >= _BATCH_SLOTS
            or self._stop
            or any(each.payload.is_urgent for each in fresh)
            or time.monotonic() - self._offered_at >= _BATCH_SECONDS
        )

    def _seconds_until_turn(self) -> float:
        """Until the next check for stored slots, or until waiting slots are due."""
        seconds = self._check_seconds()
        if self._fresh():
            seconds = min(seconds, self._offered_at + _BATCH_SECONDS - time.monotonic())
        return max(seconds, 0.0)

    def _offer(self) -> None:
        while True:
            with self._changed:
                if not self._has_to_offer():
                    return
                fresh = self._fresh()
            self._offered_at = time.monotonic()
            batch = slot_queue.first_batch([each.payload for each in fresh])
            slot_queue.offer(batch)
            for each in fresh[: len(batch)]:
                each.offered_at = time.monotonic()
            call_ingest()

    def _open_gaps(self) -> None:
        while self._lost:
            lost = self._lost[0]
            open_gaps(lost.first, lost.last, status=lost.status, cause=lost.cause, now=self._now())
            with self._changed:
                self._lost.pop(0)

    def _check_stored(self) -> None:
        with self._changed:
            oldest = [each for each in self._kept.values() if each.offered_at][:_CHECKED_AT_ONCE]
        if not oldest:
            return
        self._forget(self._stored(oldest))
        late = [
            each
            for each in oldest
            if each.payload.name in self._kept
            and time.monotonic() - each.offered_at > _CALL_AGAIN_SECONDS
        ]
        if not late:
            return
        names = [each.payload.name for each in late]
        refused = slot_queue.refused(names)
        self._forget(refused)
        waiting = slot_queue.waiting(names)
        for each in late:
            lost = each.payload.name not in waiting and each.payload.name not in refused
            # Offer it again, or restart its timeout.
            each.offered_at = 0.0 if lost else time.monotonic()
        if waiting:
            call_ingest()

    def _stored(self, kept: Iterable[_Kept]) -> list[str]:
        payloads = [each.payload for each in kept]
        slots = [payload.slot for payload in payloads]
        in_ledger = {slot for slot, _ in ledger.links_between(min(slots), max(slots))}
        archived = archive.stored(slots)
        there = [each for each in payloads if each.slot in in_ledger]
        left = [each for each in there if each.has_writes and each.slot not in archived]
        if left:
            # Was stored, and left the archive as wrong: it comes from another source.
            wrong = damaged_among(min(slots), max(slots))
            first_kept = first_kept_slot()
            left = [
                each
                for each in left
                if each.slot >= first_kept
                and not any(first <= each.slot <= last for first, last in wrong)
            ]
        names = {each.name for each in left}
        return [each.name for each in there if each.name not in names]

    def _forget(self, names: Iterable[str]) -> None:
        with self._changed:
            before = len(self._kept)
            for name in names:
                kept = self._kept.pop(name, None)
                if kept is not None:
                    self._size -= len(kept.payload.data)
            if len(self._kept) < before:
                self._unstored_since = self._now().timestamp()
            self._changed.notify_all()

    def _publish(self) -> None:
        with self._changed:
            state = replace(
                self.state,
                waiting_bytes=self._size,
                waiting_slots=len(self._kept),
                unstored_since=self._unstored_since if self._kept else 0.0,
            )
        publish(state)

    def _is_away(self, error: BaseException) -> None:
        connection.close()
        self._lock.let_go()
        if not self._away_since:
            self._away_since = time.monotonic()
            log.warning("waiting for the database or Redis: %s", str(error).strip())

    def _is_back(self) -> None:
        if self._away_since:
            log.info(
                "the database and Redis are back, after %.1f s", time.monotonic() - self._away_since
            )
            self._away_since = 0.0
