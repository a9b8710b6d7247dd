"""What happens to sealed data after it was sealed; each area gives how its own is read."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.db import transaction

from columns.advisory_locks import AdvisoryLock, try_for
from columns.other_database import OtherDatabase
from columns.queries import lift_timeouts
from sealed.damage import D, Damages
from shared_state import counters, damage_reports

log = logging.getLogger(__name__)
T = TypeVar("T")

# Reports of reads that one run looks into.
_REPORTS = 100


class NotReadBack(Exception):
    """What was stored is not read back as written; nothing was committed."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many finished ranges of slots wait to be sealed, and for how many slots the lowest of
    them has been finished.
    """

    waiting: int
    lag: int


def seal_for(store: str, step: Callable[[], T], *, seconds: float) -> Iterator[T]:
    """What each step did, until the time is over or one has nothing to do. Their CPU time counts as
    that of sealing the store.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.thread_time()
        done = step()
        spent = int((time.thread_time() - started) * 1e6)
        if not done:
            return
        counters.add({(counters.SEALING_MICROSECONDS, store): spent})
        yield done


@dataclass(slots=True)
class Scrubbed(Generic[D]):
    """What a step did: rows that were read, and the damage that was not known before. `is_last`:
    its run ends with it, for what it read costs money.
    """

    rows: int = 0
    found: list[D] = field(default_factory=list)
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class SealedLife(Generic[D]):
    """One store, `archive` or `ledger`, and how it is done there.

    has_unread: whether anything was read through last before this moment
    read_next: reads the next rows of it, in a transaction that holds `lock`; None: all were read
    look_into: reads what a read reported
    repair_here: from what is here, cheaply; from what it was repaired, empty if that is impossible
    repair: the same from all there is, another database among it
    open_as_gaps: what cannot be read leaves; a sentence on each
    """

    store: str
    damages: Damages[D]
    lock: AdvisoryLock
    has_unread: Callable[[datetime], object]
    read_next: Callable[[datetime, datetime], Scrubbed[D] | None]
    look_into: Callable[[str, datetime], list[D]]
    repair_here: Callable[[D, datetime], str]
    repair: Callable[[D, OtherDatabase | None, datetime], str]
    open_as_gaps: Callable[[Sequence[D], datetime], Iterator[str]]

    def is_due(self, *, older_than: timedelta, now: datetime) -> bool:
        """Whether reads reported damage, or something is to be read through."""
        is_reported = damage_reports.are_waiting(self.store)
        return is_reported or bool(older_than and self.has_unread(now - older_than))

    def scrub_step(self, *, older_than: timedelta, now: datetime) -> Scrubbed[D] | None:
        """Reads the next rows of what was read through last longer ago than that; None when all
        were read, or another worker is at it. It may be stopped anywhere.
        """
        with transaction.atomic():
            lift_timeouts()
            return self.read_next(now - older_than, now) if try_for(self.lock) else None

    def look_into_reports(self, *, now: datetime) -> list[D]:
        """Reads what reads met damage in; the damage that was not known before."""
        reports = damage_reports.taken(self.store, _REPORTS)
        return [found for report in reports for found in self.look_into(report, now)]

    def scrub(self, *, older_than: timedelta, seconds: float, now: Callable[[], datetime]) -> None:
        """Looks into reports, reads on until the time is over (not at all if `older_than` is 0),
        and repairs from what is here.
        """
        end = time.monotonic() + seconds
        found = self.look_into_reports(now=now())
        while older_than and time.monotonic() < end:
            done = self.scrub_step(older_than=older_than, now=now())
            if done is None:
                break
            found += done.found
            if done.is_last:
                break
        for each in found:
            if source := self.repair_here(each, now()):
                log.warning("%s is repaired from %s", each, source)
