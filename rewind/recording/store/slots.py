"""Which slots are archived, and their neighbours."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import OperationalError, transaction
from psycopg.errors import LockNotAvailable

from chain.blocks import Granularity
from chain.slot_ranges import SlotRange
from chain.units import Slot
from columns import clusters
from columns.advisory_locks import AdvisoryLock, exclusive, shared, wait_for
from columns.queries import all_rows, execute, first_row
from columns.raw_queries import fetch_all, fetch_one
from columns.slot_cells import RUN_SLOTS
from historical.models import Block
from rewind.models import ArchivedSlot, ArchiveState
from rewind.sealed.store import slot_owners

# Locks are few and large: their table in PostgreSQL is small.
_SLOT_LOCKS = 256
_LONGEST_WAIT_MS = 1_000


class Stored(NamedTuple):
    """What identifies an archived slot among others of its number, and its granularity."""

    blockhash: bytes
    granularity: int


class Neighbours(NamedTuple):
    """The next archived slots below and above, the latter with its parent."""

    below: int | None
    above: int | None
    above_parent: int | None


class RunCounts:
    """What a batch adds to the counts of its runs of slots."""

    def __init__(self) -> None:
        self._added: dict[int, tuple[int, int, int]] = {}

    def add(self, slot: int, *, slots: int, coarse_slots: int, changes: int) -> None:
        run = slot // RUN_SLOTS
        known = self._added.get(run, (0, 0, 0))
        self._added[run] = (known[0] + slots, known[1] + coarse_slots, known[2] + changes)

    def rows(self) -> list[tuple[int, int, int, int]]:
        """(run, slots, coarse slots, changes), in one order for all, so that none wait in ring."""
        return sorted((run, *added) for run, added in self._added.items())


def has_unarchived_blocks(first: int, last: int) -> bool:
    """Whether the ledger has a block of the range that is not archived."""
    row = first_row(
        "SELECT EXISTS (SELECT FROM historical_block b WHERE b.slot BETWEEN %s AND %s AND NOT"
        " EXISTS (SELECT FROM rewind_archivedslot a WHERE a.slot = b.slot))",
        [first, last],
    )
    return bool(row[0])


def lock_for_writing(slots: Collection[int]) -> None:
    """No other transaction writes these slots or moves the window until this one ends."""
    keys = sorted({slot % _SLOT_LOCKS for slot in slots})  # in one order, so that none wait in ring
    execute(
        f"{shared(AdvisoryLock.ARCHIVE_WINDOW)};"
        f"{exclusive(AdvisoryLock.ARCHIVED_SLOT, 'key')}"
        f" FROM unnest(ARRAY{keys}::int[]) AS key"
    )


def lock_window() -> bool:
    """No other transaction writes until this one ends. False when a writer took too long: waiting
    for this lock keeps every other writer waiting behind it.
    """
    try:
        with transaction.atomic():
            execute(f"SET LOCAL lock_timeout = {_LONGEST_WAIT_MS}")
            wait_for(AdvisoryLock.ARCHIVE_WINDOW)
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


def first_kept_slot() -> int:
    """Slots below it fell out of the window."""
    found = fetch_one("SELECT first_kept_slot FROM rewind_archivestate")
    return 0 if found is None else int(found[0])


def keep_from(slot: int, *, edge_is_whole: bool, lost: SlotRange | None) -> None:
    """`lost` is the newest run of missing slots below the slot, None where there is none since the
    edge moved last.
    """
    values = {"first_kept_slot": slot, "edge_is_whole": edge_is_whole}
    if lost is not None:
        values |= {"lost_first_slot": lost.first, "lost_last_slot": lost.last}
    ArchiveState.objects.update_or_create(id=1, defaults=values)


def stored(slots: Collection[int]) -> dict[int, Stored]:
    """Those of the slots that are archived."""
    rows = fetch_all(
        "SELECT slot, blockhash, granularity FROM rewind_archivedslot WHERE slot = ANY($1)",
        list(slots),
    )
    return {slot: Stored(blockhash, granularity) for slot, blockhash, granularity in rows}


def bounds() -> tuple[Slot, Slot] | None:
    """The lowest archived slot of the window, and the highest; None before the first."""
    found = fetch_one(
        "SELECT (SELECT slot FROM rewind_archivedslot WHERE slot >="
        " coalesce((SELECT first_kept_slot FROM rewind_archivestate), 0)"
        " ORDER BY slot LIMIT 1),"
        " (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1)"
    )
    return None if found is None or found[0] is None else (Slot(found[0]), Slot(found[1]))


def neighbours(slots: Sequence[int]) -> dict[int, Neighbours]:
    """Of slots that are not archived themselves."""
    rows = fetch_all(
        "SELECT asked, below.slot, above.slot, above.parent_slot"
        " FROM unnest((SELECT $1)) AS asked"
        " LEFT JOIN LATERAL (SELECT slot FROM rewind_archivedslot"
        " WHERE slot < asked ORDER BY slot DESC LIMIT 1) AS below ON true"
        " LEFT JOIN LATERAL (SELECT slot, parent_slot FROM rewind_archivedslot"
        " WHERE slot > asked ORDER BY slot LIMIT 1) AS above ON true",
        list(slots),
    )
    return {asked: Neighbours(*rest) for asked, *rest in rows}


def is_coarse(slot: int) -> bool:
    """Whether of the slot the archive may have each account's last write alone."""
    return ArchivedSlot.objects.filter(slot=slot).exclude(granularity=Granularity.WRITE).exists()


def archived_between(first: int, last: int) -> list[int]:
    """The archived slots of the range, ascending."""
    found = ArchivedSlot.objects.filter(slot__gte=first, slot__lte=last)
    return list(found.order_by("slot").values_list("slot", flat=True))


def links_between(first: int, last: int) -> list[tuple[int, int]]:
    """(slot, parent slot) of every archived slot in the range, ascending, and of the next one."""
    return fetch_all(
        "(SELECT slot, parent_slot FROM rewind_archivedslot WHERE slot BETWEEN $1 AND $2"
        " ORDER BY slot) UNION ALL (SELECT slot, parent_slot FROM rewind_archivedslot"
        " WHERE slot > $2 ORDER BY slot LIMIT 1)",
        first,
        last,
    )


def contents_between(first: int, last: int) -> list[tuple[int, int, int]]:
    """(slot, granularity, changes) of the archived slots."""
    found = ArchivedSlot.objects.filter(slot__range=(first, last))
    return list(found.values_list("slot", "granularity", "changes"))


def block_transactions(first: int, last: int) -> dict[int, int]:
    """The ledger's blocks: slot → how many transactions it has."""
    found = Block.objects.filter(slot__range=(first, last))
    return dict(found.values_list("slot", "transaction_count"))


def changes_counted(first: int, last: int) -> int:
    """Writes of the runs that the slots are in, as far as they are archived."""
    found = fetch_one(
        "SELECT coalesce(sum(changes), 0)::bigint FROM rewind_slottally"
        " WHERE run BETWEEN $1 AND $2",
        first // RUN_SLOTS,
        last // RUN_SLOTS,
    )
    return 0 if found is None else int(found[0])


def insert_slots(rows: list[ArchivedSlot]) -> None:
    if not rows:
        return
    clusters.commit_alone()
    values = [
        (
            row.slot,
            row.parent_slot,
            row.recorded_at,
            row.changes,
            row.granularity,
            bytes(row.blockhash),
            row.source,
        )
        for row in rows
    ]
    execute(
        "INSERT INTO rewind_archivedslot (slot, parent_slot, recorded_at, changes, granularity,"
        " blockhash, source) SELECT * FROM unnest(%s::bigint[], %s::bigint[],"
        " %s::timestamptz[], %s::int[], %s::smallint[], %s::bytea[], %s::text[])",
        list(map(list, zip(*values, strict=True))),
    )


def improve_slot(slot: int, *, granularity: int, changes: int, source: str) -> None:
    """`changes` more rows, and a finer granularity."""
    clusters.commit_alone()
    execute(
        "UPDATE rewind_archivedslot SET granularity = %s, changes = changes + %s, source = %s"
        " WHERE slot = %s",
        [granularity, changes, source, slot],
    )


def forget(slots: Collection[int]) -> list[int]:
    """The slots are archived no more; those that were, ascending. No other transaction writes."""
    rows = all_rows(
        "DELETE FROM rewind_archivedslot WHERE slot = ANY(%s) RETURNING slot, granularity, changes",
        [list(slots)],
    )
    gone = sorted(rows)
    slot_owners.forget(slots)
    run_counts = RunCounts()
    for slot, granularity, changes in gone:
        coarse = int(granularity != Granularity.WRITE)
        run_counts.add(slot, slots=-1, coarse_slots=-coarse, changes=-changes)
    add_run_counts(run_counts)
    return [slot for slot, *_ in gone]


def add_run_counts(run_counts: RunCounts) -> None:
    for row in run_counts.rows():
        execute(
            "INSERT INTO rewind_slottally AS stored (run, slots, coarse_slots, changes)"
            " VALUES (%s, %s, %s, %s) ON CONFLICT (run) DO UPDATE SET"
            " slots = stored.slots + excluded.slots,"
            " coarse_slots = stored.coarse_slots + excluded.coarse_slots,"
            " changes = stored.changes + excluded.changes",
            row,
        )


def forget_below(slot: int) -> None:
    """No slot below it is archived any more."""
    execute("DELETE FROM rewind_archivedslot WHERE slot < %s", [slot])
    execute("DELETE FROM rewind_slottally WHERE run < %s", [slot // RUN_SLOTS])
    slot_owners.forget_below(slot)
