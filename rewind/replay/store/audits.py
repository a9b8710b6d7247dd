"""Queries of the replay audit: its progress, its next slots, and its counts."""

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum
from solders.pubkey import Pubkey
from solders.signature import Signature

from columns.queries import execute
from columns.raw_queries import fetch_all, fetch_one
from rewind.models import ArchiveState
from rewind.positions import Position
from rewind.replay.models import AuditedDay, Divergence, ReplayTally


class Count(NamedTuple):
    """Transactions by what became of their replay."""

    verified: int = 0
    diverged: int = 0
    unverified: int = 0

    def plus(self, other: "Count") -> "Count":
        return Count(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def replayed(self) -> int:
        return self.verified + self.diverged


# Slots that both the archive and the ledger have: nothing else can be replayed and compared.
_BOTH = (
    "FROM rewind_archivedslot a WHERE a.slot > $1"
    " AND EXISTS (SELECT FROM historical_block b WHERE b.slot = a.slot)"
)
_NEXT = f"SELECT a.slot {_BOTH} ORDER BY a.slot LIMIT $2"
_NEWEST = f"SELECT a.slot {_BOTH} ORDER BY a.slot DESC OFFSET $2 LIMIT 1"
_COUNT = f"SELECT count(*) {_BOTH} AND a.slot <= $2"
_ABOVE = f"SELECT count(*) FROM (SELECT {_BOTH} LIMIT $2) AS next"


def audited_to() -> Position:
    """The last place that the audit has looked at."""
    ArchiveState.objects.get_or_create(pk=1)
    row = ArchiveState.objects.values_list("audited_slot", "audited_position").get(pk=1)
    return Position(*row)


def advance(place: Position, to: Position) -> bool:
    """False when another worker has moved it since."""
    state = ArchiveState.objects.filter(pk=1, audited_slot=place.slot, audited_position=place.order)
    return state.update(audited_slot=to.slot, audited_position=to.order) == 1


def slots_above(slot: int, limit: int) -> list[int]:
    """The next slots to look at, lowest first."""
    return [found for (found,) in fetch_all(_NEXT, slot, limit)]


def count_above(slot: int, most: int) -> int:
    """How many slots there are to look at, counted no further than `most`."""
    row = fetch_one(_ABOVE, slot, most)
    assert row is not None
    return int(row[0])


def are_above_audited(count: int) -> bool:
    """Whether there are so many slots to look at."""
    found = fetch_one(
        "SELECT audited_slot, (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1)"
        " FROM rewind_archivestate"
    )
    audited, newest = found or (-1, None)
    # Mostly their numbers alone say that there are not.
    if newest is not None and newest - audited < count:
        return False
    return count_above(audited, count) >= count


def slot_with_above(slot: int, most: int) -> int | None:
    """The highest slot above `slot` that has `most` others above it; None when there are fewer."""
    row = fetch_one(_NEWEST, slot, most)
    return None if row is None else row[0]


def slots_between(slot: int, last: int) -> int:
    """How many there are above `slot`, up to `last`."""
    row = fetch_one(_COUNT, slot, last)
    assert row is not None
    return int(row[0])


# What is counted already and what is new, summed by reason.
_SUMMED = """
    SELECT coalesce(jsonb_object_agg(reason, number), '{}') FROM (
        SELECT reason, sum(number::bigint) AS number FROM (
            SELECT * FROM jsonb_each_text(day.reasons)
            UNION ALL SELECT * FROM jsonb_each_text(excluded.reasons)
        ) AS every (reason, number) GROUP BY reason
    ) AS summed
"""
_ADD_DAY = f"""
INSERT INTO rewind_auditedday AS day (day, verified, diverged, unverified, reasons, passed_over)
VALUES (%s, %s, %s, %s, %s::jsonb, %s)
ON CONFLICT (day) DO UPDATE SET verified = day.verified + excluded.verified,
    diverged = day.diverged + excluded.diverged,
    unverified = day.unverified + excluded.unverified,
    passed_over = day.passed_over + excluded.passed_over, reasons = ({_SUMMED})
"""
_ADD_PROGRAMS = """
INSERT INTO rewind_replaytally AS counts (day, program, verified, diverged, unverified)
SELECT %s, * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[], %s::bigint[])
ON CONFLICT (day, program) DO UPDATE SET verified = counts.verified + excluded.verified,
    diverged = counts.diverged + excluded.diverged,
    unverified = counts.unverified + excluded.unverified
"""


def add_to_day(
    day: date, count: Count, *, reasons: Mapping[str, int] | None = None, passed_over: int = 0
) -> None:
    execute(_ADD_DAY, [day, *count, json.dumps(dict(reasons or {})), passed_over])


def add_to_programs(day: date, counts: Mapping[bytes, Count]) -> None:
    programs = sorted(counts)  # in one order for all, so that none wait in a ring
    columns = [[counts[program][part] for program in programs] for part in range(3)]
    execute(_ADD_PROGRAMS, [day, programs, *columns])


def counts_by_program(first: date, *, limit: int) -> list[tuple[Pubkey, Count]]:
    """Sums from the day on, the most divergences first."""
    rows = (
        ReplayTally.objects.filter(day__gte=first)
        .values_list("program")
        .annotate(
            sum_verified=Sum("verified"),
            sum_diverged=Sum("diverged"),
            sum_unverified=Sum("unverified"),
        )
        .order_by("-sum_diverged", "-sum_verified", "-sum_unverified", "program")
    )
    return [(program, Count(*counts)) for program, *counts in rows[:limit]]


def days_from(first: date) -> QuerySet[AuditedDay]:
    return AuditedDay.objects.filter(day__gte=first)


def divergence(divergence_id: int) -> Divergence:
    return Divergence.objects.get(pk=divergence_id)


def open_divergences() -> QuerySet[Divergence]:
    """Newest first."""
    return Divergence.objects.filter(resolved_at__isnull=True)


def resolve(divergence_ids: Iterable[int], *, reason: str, now: datetime) -> int:
    """Closes the open ones of them; returns how many."""
    chosen = open_divergences().filter(pk__in=list(divergence_ids))
    return chosen.update(resolved_at=now, reason=reason)


def update_divergence(divergence_id: int, values: Mapping[str, Any]) -> None:
    Divergence.objects.filter(pk=divergence_id).update(**values)


def keep_divergence(
    signature: Signature, values: Mapping[str, Any], new: Mapping[str, Any]
) -> bool:
    """Updates the transaction's entry by the values, or creates it by `new`; whether it is new."""
    return Divergence.objects.update_or_create(
        signature=signature, defaults=values, create_defaults=new
    )[1]


def delete_program_counts_before(day: date) -> None:
    ReplayTally.objects.filter(day__lt=day).delete()
