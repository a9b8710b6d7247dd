"""Outbox: closed slots of the follower, kept until the database has them."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection

from access.outages import AWAY
from embedded.notify import progress
from gaps.slot_gap import GapStatus
from historical.store import blocks as ledger
from ingest import handover
from ingest.calls import call_ingest
from ingest.follower_state import FollowerState, publish
from ingest.handover import Packed
from ingest.services.slots import open_gaps
from ingest.source_lock import SourceLock
from rewind.services import slots as archive
from rewind.store.slots import first_kept_slot

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.25
# While so few slots are kept it is looked less often what is stored: three statements each time.
_FEW, _CALM_SECONDS = 8, 2.0
_LONGEST_PAUSE_SECONDS = 5.0
_PUBLISH_SECONDS = 2.0
# Slots without a transaction wait so long for others, as long as they are few: each call of the
# worker costs several times what a slot does, and a chain where nothing happens makes only these.
_COMPANY_SECONDS, _COMPANY = 2.0, 8
# How long a slot may wait for the worker before it is called again, and Redis asked whether it
# still has it: a killed Redis loses its last second.
_CALL_AGAIN_SECONDS = 3.0
_ASKED_AT_ONCE = 200


@dataclass(slots=True)
class _Kept:
    parcel: Packed
    offered_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Slots that the stream did not give, and why."""

    first: int
    last: int
    status: GapStatus
    cause: str


class Outbox:
    """A thread that hands slots over, sees them stored, and hands over again what Redis lost.

    While it is full whoever adds to it waits: then nothing is read from the stream.
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
        self._changed = threading.Condition()
        self._stop = False
        self._released = False
        self._away_since = 0.0
        self._offered_at = 0.0
        self._lock = lock
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Hands over what is not yet, for a moment; what stays is asked of the stream again."""
        with self._changed:
            self._stop = self._released = True
            self._changed.notify_all()
        self._thread.join(timeout=3.0)

    def add(self, parcel: Packed) -> bool:
        """Keep the slot until it is stored; waits while the outbox is full. Whether it waited."""
        waited = False
        with self._changed:
            while self._size >= self._limit and not self._released and self.failure is None:
                if not waited:
                    log.warning(
                        "%d MB wait to be stored: reading stops until they are",
                        self._size // 1_048_576,
                    )
                waited = True
                progress()
                self._changed.wait(1.0)
            if parcel.name not in self._kept:
                self._kept[parcel.name] = _Kept(parcel)
                self._size += len(parcel.data)
            self._changed.notify_all()
        return waited

    def release(self) -> None:
        """Whoever adds waits no more: the end has come."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def add_lost(self, lost: Lost) -> None:
        """The slots become gaps."""
        with self._changed:
            self._lost.append(lost)
            self._changed.notify_all()

    def holds(self, slot: int) -> bool:
        """Whether the slot is not known to be stored yet."""
        with self._changed:
            return any(each.parcel.slot == slot for each in self._kept.values())

    def _run(self) -> None:
        pause = _PAUSE_SECONDS
        published_at = looked_at = 0.0
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
                    self._tell_lost()
                    now = time.monotonic()
                    if now - looked_at >= self._look_seconds():
                        self._see_what_is_stored()
                        looked_at = time.monotonic()
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
            log.error("handing over stopped: %s", error, exc_info=error)
        finally:
            connection.close()
            with self._changed:
                self._changed.notify_all()

    def _look_seconds(self) -> float:
        """How often it is looked what is stored: a few slots need not be let go soon."""
        return _CALM_SECONDS if len(self._kept) <= _FEW else _PAUSE_SECONDS

    def _fresh(self) -> list[_Kept]:
        return [each for each in self._kept.values() if not each.offered_at]

    def _has_to_offer(self) -> bool:
        fresh = self._fresh()
        return bool(fresh) and (
            len(fresh) >= _COMPANY
            or self._stop
            or any(each.parcel.has_transactions for each in fresh)
            or time.monotonic() - self._offered_at >= _COMPANY_SECONDS
        )

    def _seconds_until_turn(self) -> float:
        """Until it is to be looked what is stored, or slots have waited for company."""
        seconds = self._look_seconds()
        if self._fresh():
            seconds = min(seconds, self._offered_at + _COMPANY_SECONDS - time.monotonic())
        return max(seconds, 0.0)

    def _offer(self) -> None:
        while True:
            with self._changed:
                if not self._has_to_offer():
                    return
                fresh = self._fresh()
            self._offered_at = time.monotonic()
            batch = handover.first_of([each.parcel for each in fresh])
            is_heard = handover.offer(batch)
            for each in fresh[: len(batch)]:
                each.offered_at = time.monotonic()
            if not is_heard:
                call_ingest(batch[0].slot)

    def _tell_lost(self) -> None:
        while self._lost:
            lost = self._lost[0]
            open_gaps(lost.first, lost.last, status=lost.status, cause=lost.cause, now=self._now())
            with self._changed:
                self._lost.pop(0)

    def _see_what_is_stored(self) -> None:
        with self._changed:
            oldest = [each for each in self._kept.values() if each.offered_at][:_ASKED_AT_ONCE]
        if not oldest:
            return
        self._forget(self._stored(oldest))
        late = [
            each
            for each in oldest
            if each.parcel.name in self._kept
            and time.monotonic() - each.offered_at > _CALL_AGAIN_SECONDS
        ]
        if not late:
            return
        names = [each.parcel.name for each in late]
        refused = handover.refused(names)
        self._forget(refused)
        waiting = handover.waiting(names)
        for each in late:
            lost = each.parcel.name not in waiting and each.parcel.name not in refused
            # To be offered again, or only to be waited for anew.
            each.offered_at = 0.0 if lost else time.monotonic()
        if waiting:
            call_ingest(late[0].parcel.slot)

    def _stored(self, kept: Iterable[_Kept]) -> list[str]:
        parcels = [each.parcel for each in kept]
        slots = [parcel.slot for parcel in parcels]
        in_ledger = {slot for slot, _ in ledger.links_between(min(slots), max(slots))}
        archived = archive.archived_among(slots)
        first_kept = first_kept_slot()
        return [
            parcel.name
            for parcel in parcels
            if parcel.slot in in_ledger
            and (not parcel.has_writes or parcel.slot in archived or parcel.slot < first_kept)
        ]

    def _forget(self, names: Iterable[str]) -> None:
        with self._changed:
            for name in names:
                kept = self._kept.pop(name, None)
                if kept is not None:
                    self._size -= len(kept.parcel.data)
            self._changed.notify_all()

    def _publish(self) -> None:
        with self._changed:
            state = replace(self.state, waiting_bytes=self._size, waiting_slots=len(self._kept))
        publish(state)

    def _is_away(self, error: BaseException) -> None:
        connection.close()
        self._lock.let_go()
        if not self._away_since:
            self._away_since = time.monotonic()
            log.warning("waiting for the database or Redis: %s", str(error).strip())

    def _is_back(self) -> None:
        if self._away_since:
            log.info("they answer again, after %.1f s", time.monotonic() - self._away_since)
            self._away_since = 0.0
