"""A summary of the replay audit, for its page."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from solders.pubkey import Pubkey

from rewind.replay.models import AuditedDay, Divergence
from rewind.replay.store import audits as store
from rewind.replay.store.audits import Count

DAYS = 30
_PROGRAMS = 25
_LISTED = 10
# `slots_behind` counts no further.
_MOST_BEHIND = 100_000


@dataclass(frozen=True, slots=True)
class Day:
    """One day's replays; `passed_over` are slots."""

    day: date
    count: Count
    passed_over: int


@dataclass(frozen=True, slots=True)
class AuditOverview:
    """The last 30 days, today last, those without an audit too; sums by program (those that were
    replayed most) and by reason. `audited_to` is None before the first slot. `newest` are open
    divergences, of `open` in all.
    """

    days: list[Day]
    total: Count
    passed_over: int
    programs: list[tuple[Pubkey, Count]]
    more_programs: bool
    reasons: list[tuple[str, int]]
    audited_to: int | None
    slots_behind: int
    open: int
    newest: list[Divergence]

    @property
    def today(self) -> Day:
        return self.days[-1]


def audit_overview(*, now: datetime) -> AuditOverview:
    first, found = _found(now)
    days = _days(first, found)
    reasons: Counter[str] = Counter()
    for each in found.values():
        reasons.update(each.reasons)
    programs = store.counts_by_program(first, limit=_PROGRAMS + 1)
    slot = store.audited_to().slot
    unresolved = store.open_divergences()
    return AuditOverview(
        days=days,
        total=sum_of(day.count for day in days),
        passed_over=sum(day.passed_over for day in days),
        programs=programs[:_PROGRAMS],
        more_programs=len(programs) > _PROGRAMS,
        reasons=reasons.most_common(),
        audited_to=None if slot < 0 else slot,
        slots_behind=store.count_above(slot, _MOST_BEHIND),
        open=unresolved.count(),
        newest=list(unresolved[:_LISTED]),
    )


def sum_of(counts: Iterable[Count]) -> Count:
    total = Count()
    for count in counts:
        total = total.plus(count)
    return total


def audited_days(now: datetime) -> list[Day]:
    """The last 30 days, today last, those without an audit too."""
    return _days(*_found(now))


def audited_today(now: datetime) -> Count:
    """Today's replays."""
    return _count(store.days_from(now.astimezone(UTC).date()).first())


def _found(now: datetime) -> tuple[date, dict[date, AuditedDay]]:
    first = now.astimezone(UTC).date() - timedelta(days=DAYS - 1)
    return first, {each.day: each for each in store.days_from(first)}


def _days(first: date, found: dict[date, AuditedDay]) -> list[Day]:
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return [
        Day(day, _count(found.get(day)), found[day].passed_over if day in found else 0)
        for day in days
    ]


def _count(day: AuditedDay | None) -> Count:
    return Count() if day is None else Count(day.verified, day.diverged, day.unverified)
