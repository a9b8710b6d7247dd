"""Summaries of the whole ledger; their cost does not grow with its size."""

from typing import Any, NamedTuple

from django.db.models import (
    Case,
    F,
    Func,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from columns.clusters import is_clustered
from columns.raw_queries import fetch_all, fetch_one
from historical.models import Block, Gap, Import, SealedBlock

# Counting rows costs a scan of the table's index; beyond this PostgreSQL's own estimate will do.
COUNTED_EXACTLY = 200_000


class Ends(NamedTuple):
    """The lowest and the highest stored slot, and the highest one's time in Unix seconds."""

    first_slot: int
    last_slot: int
    last_time: int | None


def ends() -> Ends | None:
    row = fetch_one(
        "SELECT (SELECT slot FROM historical_block ORDER BY slot LIMIT 1) AS first_slot,"
        " slot, block_time FROM historical_block ORDER BY slot DESC LIMIT 1"
    )
    return None if row is None else Ends(*row)


def block_count() -> tuple[int, bool]:
    """The number of blocks, and whether it was counted; else it is PostgreSQL's estimate."""
    (estimate,) = fetch_all(
        "SELECT reltuples::bigint FROM pg_class WHERE oid = 'historical_block'::regclass"
    )[0]
    if estimate > COUNTED_EXACTLY:
        return estimate, False
    (count,) = fetch_all(
        "SELECT count(*) FROM (SELECT FROM historical_block LIMIT $1) AS counted",
        2 * COUNTED_EXACTLY,
    )[0]
    return count, bool(count < 2 * COUNTED_EXACTLY)


def blocks_without_bodies(blocks: QuerySet[Block]) -> QuerySet[Block]:
    """The blocks with `stored_bytes`, which PostgreSQL knows without reading the body, and
    `sealed_bytes`, None unless they are sealed: both are 0 in a cluster, where the blocks and what
    is sealed of them lie apart, and `sealed_bytes` of this module has them.
    """
    size: Any = Func(F("body"), function="octet_length", output_field=IntegerField())
    # A cluster's coordinator does not have them.
    sealed: Any = Case(When(body__isnull=True, then=Value(0)), output_field=IntegerField())
    if not is_clustered():
        found = SealedBlock.objects.filter(slot=OuterRef("slot")).values("stored_bytes")
        sealed = Subquery(found)
    return blocks.defer("body", "frames", "rewards").annotate(
        sealed_bytes=sealed, stored_bytes=Coalesce(size, F("sealed_bytes"), 0)
    )


def sealed_bytes(slot: int) -> int:
    """What a sealed block takes; 0 where it is not sealed."""
    row = fetch_one("SELECT stored_bytes FROM historical_sealedblock WHERE slot = $1", slot)
    return 0 if row is None else int(row[0])


def neighbours(slot: int) -> tuple[int | None, int | None]:
    """The next stored slots below and above."""
    below, above = fetch_all(
        "SELECT (SELECT slot FROM historical_block WHERE slot < $1 ORDER BY slot DESC LIMIT 1),"
        " (SELECT slot FROM historical_block WHERE slot > $1 ORDER BY slot LIMIT 1)",
        slot,
    )[0]
    return below, above


def last_imports(count: int) -> list[Import]:
    return list(Import.objects.order_by("-started_at", "-pk")[:count])


def open_gaps_by_cause() -> tuple[list[tuple[str, int]], int]:
    """(cause, slots) of open gaps, the most first; and how many gaps that are."""
    rows = fetch_all(
        "SELECT cause, sum(to_slot - from_slot + 1)::bigint AS slots, count(*) FROM historical_gap"
        " WHERE closed_at IS NULL GROUP BY cause ORDER BY slots DESC, cause"
    )
    return [(cause, slots) for cause, slots, _ in rows], sum(gaps for _, _, gaps in rows)


def newest_open_gaps(count: int) -> list[Gap]:
    return list(Gap.objects.filter(closed_at__isnull=True).order_by("-from_slot")[:count])
