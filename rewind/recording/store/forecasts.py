"""Samples of what the archive holds, for a forecast of what a filter would save."""

from itertools import islice
from typing import NamedTuple

from columns.queries import first_row
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.walking import rows_below
from rewind.positions import CARRIED, Position
from rewind.recording.store import partitions, slots
from rewind.recording.store.partitions import Partition

# Of the newest partitions so many rows are looked at, page by page: some milliseconds.
_SAMPLED_ROWS = 40_000
_SAMPLED_PARTITIONS = 2
# What PostgreSQL takes for a row of ours and its index entry, without the account's data.
ROW_BYTES = 190
# Rows of one account that are counted.
_COUNTED_ROWS = 5_000
# What the data of a row that came without them count for.
_LARGE = 8_192


class Sample(NamedTuple):
    """Rows that were looked at, with their bytes, and those of them that are asked about."""

    rows: int = 0
    size: int = 0
    chosen_rows: int = 0
    chosen_size: int = 0
    chosen_accounts: int = 0

    def plus(self, other: "Sample") -> "Sample":
        return Sample(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Written(NamedTuple):
    """The newest writes of an account, and the lowest slot that they reach down to."""

    rows: int
    size: int
    lowest_slot: int | None
    is_cut: bool


class Recent(NamedTuple):
    """What the newest slots of the archive came to."""

    slots: int
    changes: int


def sample_of_owner(owner_id: int | None) -> Sample:
    """The newest partitions' writes, and those among them of accounts of the owner."""
    found = Sample()
    # One over sealed slots has late rows alone.
    hot = [each for each in partitions.existing() if not each.turn]
    for partition in hot[-_SAMPLED_PARTITIONS:]:
        found = found.plus(_sampled(partition, owner_id))
    return found


def _sampled(partition: Partition, owner_id: int | None) -> Sample:
    rows = slots.changes_counted(partition.first, partition.last)
    share = min(100.0, 100.0 * _SAMPLED_ROWS / max(rows, 1))
    row = first_row(
        "SELECT count(*), coalesce(sum(octet_length(data)), 0),"
        " count(*) FILTER (WHERE owner_id = %(owner)s),"
        " coalesce(sum(octet_length(data)) FILTER (WHERE owner_id = %(owner)s), 0),"
        " count(DISTINCT pubkey) FILTER (WHERE owner_id = %(owner)s)"
        f" FROM {partition.table} TABLESAMPLE SYSTEM (%(share)s) REPEATABLE (1) WHERE kind = 0",
        {"owner": owner_id, "share": share},
    )
    return Sample(*row)


def writes_of_account(pubkey: bytes, from_slot: int) -> Written:
    """From the slot on, newest first, as far as the counting goes."""
    top = Position(2**62, CARRIED)
    layout = look_up_slot(from_slot).layout
    pages = rows_below(pubkey, top, from_slot, layout, at_once=_COUNTED_ROWS)
    writes = (row for page in pages for row in page if row.is_write)
    counted = list(islice(writes, _COUNTED_ROWS))
    size = sum(_LARGE if row.packed is None else len(row.packed) for row in counted)
    lowest = counted[-1].slot if counted else None
    return Written(len(counted), size, lowest, len(counted) == _COUNTED_ROWS)


def recent(from_slot: int) -> Recent:
    """The counts of the runs from the slot on."""
    row = first_row(
        "SELECT coalesce(sum(slots), 0)::bigint, coalesce(sum(changes), 0)::bigint"
        " FROM rewind_slottally WHERE run >= %s / 1000",
        [from_slot],
    )
    return Recent(*row)


def dropped_since(pubkey: bytes) -> tuple[int, int] | None:
    """Between which slots a filter dropped writes of the account."""
    row = first_row(
        "SELECT first_slot, last_slot FROM rewind_droppedaccount WHERE pubkey = %s", [pubkey]
    )
    return None if row is None else (row[0], row[1])
