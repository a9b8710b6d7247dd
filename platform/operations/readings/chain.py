"""How far the stored slots are behind the chain, and which are missing."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import redis
from django.db.models import Count, Value

from columns.queries import all_rows
from historical.blocks.services.bounds import newest_slot_or_none
from ingest.follower_state import published
from operations.lives import LIVES
from rewind.replay.models import Divergence

# A gap is filled within seconds if a node has the block: one that is open for longer is an alarm.
GAP_PATIENCE = timedelta(minutes=2)
NOT_FOLLOWED = "not followed"

_GAPS = """
SELECT %s, cause, count(*), sum(to_slot - from_slot + 1),
       count(*) FILTER (WHERE opened_at < %s), min(opened_at)
FROM {table} WHERE closed_at IS NULL AND cannot_be_had_at IS NULL GROUP BY cause
"""
_GIVEN_UP = """
SELECT %s, coalesce(sum(to_slot - from_slot + 1), 0)
FROM {table} WHERE closed_at IS NULL AND cannot_be_had_at IS NOT NULL
"""
_TABLES = (("ledger", "historical_gap"), ("archive", "rewind_gap"))


class GapCount(msgspec.Struct, frozen=True):
    """Open gaps of one store with one cause; `old` ones are open for longer than the patience.
    Those that no source can fill are not among them.
    """

    store: str
    cause: str
    gaps: int
    slots: int
    old: int
    oldest_at: datetime | None


class DamageReading(msgspec.Struct, frozen=True):
    """How much of what is sealed in one store is damaged, and which of it lies lowest."""

    store: str
    count: int
    lowest: str


class ChainReading(msgspec.Struct, frozen=True):
    """`stream` is a StreamState, or NOT_FOLLOWED; `behind` is None while unknown.
    `given_up` is how many slots of each store no source has any more, and `streams_down` how many
    of several streams are not connected. `unstored_seconds` is how long slots wait while none is
    stored; 0 while none waits.
    """

    newest_slot: int | None
    gaps: list[GapCount]
    divergences: int
    given_up: dict[str, int]
    stream: str = NOT_FOLLOWED
    source: str = ""
    problem: str = ""
    silent_seconds: int | None = None
    head_slot: int | None = None
    finalized_slot: int | None = None
    behind: int | None = None
    waiting_slots: int = 0
    waiting_bytes: int = 0
    unstored_seconds: int = 0
    streams_down: int = 0
    damage: list[DamageReading] = []

    def open_gaps(self, store: str | None = None) -> int:
        return sum(each.gaps for each in self.gaps if store in (None, each.store))

    def gap_slots(self, store: str | None = None) -> int:
        return sum(each.slots for each in self.gaps if store in (None, each.store))


def read_chain(now: datetime) -> ChainReading:
    newest = newest_slot_or_none()
    stored: dict[str, Any] = {
        "newest_slot": newest,
        "gaps": _gaps(now),
        "given_up": _given_up(),
        "damage": _damage(),
        "divergences": Divergence.objects.filter(resolved_at__isnull=True).count(),
    }
    try:
        state = published()
    except redis.RedisError:
        state = None
    if state is None:
        return ChainReading(**stored)
    stream = str(state.stream(now.timestamp()))
    behind = None
    if stream == "following" and state.finalized_slot and newest is not None:
        behind = max(0, state.finalized_slot - newest)
    return ChainReading(
        **stored,
        stream=stream,
        source=state.source,
        problem=state.problem,
        silent_seconds=state.silent_seconds(now.timestamp()),
        head_slot=state.head_slot or None,
        finalized_slot=state.finalized_slot or None,
        behind=behind,
        waiting_slots=state.waiting_slots,
        waiting_bytes=state.waiting_bytes,
        unstored_seconds=state.unstored_seconds(now.timestamp()),
        streams_down=state.streams - state.streams_connected if state.streams > 1 else 0,
    )


def _damage() -> list[DamageReading]:
    first, *others = (
        life.damages.open()
        .order_by()
        .values("state")
        .annotate(store=Value(life.store), count=Count("pk"))
        .values_list("store", "count")
        for life in LIVES
    )
    counts = dict(first.union(*others, all=True))
    found: list[DamageReading] = []
    for life in (each for each in LIVES if each.store in counts):
        lowest = life.damages.open().order_by("first_slot", "pk").first()
        if lowest is not None:  # it may have ended just now
            slots = f"slots {lowest.first_slot} to {lowest.last_slot}"
            text = f"{lowest}, {slots}: {lowest.reason}"
            found.append(DamageReading(life.store, counts[life.store], text))
    return found


def _gaps(now: datetime) -> list[GapCount]:
    parts = " UNION ALL ".join(_GAPS.format(table=table) for _, table in _TABLES)
    values = [value for store, _ in _TABLES for value in (store, now - GAP_PATIENCE)]
    return [
        GapCount(store, cause, gaps, int(slots), old, oldest_at)
        for store, cause, gaps, slots, old, oldest_at in all_rows(f"{parts} ORDER BY 1, 2", values)
    ]


def _given_up() -> dict[str, int]:
    parts = " UNION ALL ".join(_GIVEN_UP.format(table=table) for _, table in _TABLES)
    return {store: int(slots) for store, slots in all_rows(parts, [store for store, _ in _TABLES])}
