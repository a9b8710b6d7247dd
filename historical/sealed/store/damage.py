"""Damage in what is sealed of the ledger, and how far it was read through."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Case, Min, When

from columns.other_database import OtherDatabase
from columns.queries import execute
from columns.raw_queries import fetch_all, fetch_one
from historical.models import (
    IndexRun,
    LedgerDamage,
    LedgerScrub,
    PackedTexts,
    SealedBlock,
    SealedRange,
)
from historical.sealed.store.sealed_blocks import SealedRow, row_of
from sealed.damage import Damages

Kind = LedgerDamage.Kind
# Dictionaries before what is read with them, lowest slots first.
_RANK = Case(When(kind=Kind.DICTIONARY, then=0), default=1)
DAMAGES = Damages(LedgerDamage, (_RANK, "first_slot", "pk"))
_ENTRIES = ("entries", "errs", "memo_positions", "memos")


class IndexBlockRow(NamedTuple):
    """A block of a run of the index that reads look into."""

    run: int
    kind: int
    first_entry: bytes
    block: bytes


def scrub_of(before: Any) -> LedgerScrub | None:
    """The scrub that runs, or begins: the last one ended, or the first range was begun to be
    sealed, before that moment. None otherwise.
    """
    found, _ = LedgerScrub.objects.get_or_create(id=1)
    if found.is_running:
        return found
    last = found.finished_at or SealedRange.objects.aggregate(at=Min("started_at"))["at"]
    if last is None or last >= before:
        return None
    found.is_running, found.slot, found.run, found.entry = True, -1, None, b""
    return found


def sealed_after(slot: int, limit: int) -> list[int]:
    """The next sealed blocks."""
    rows = fetch_all(
        "SELECT slot FROM historical_sealedblock WHERE slot > $1 ORDER BY slot LIMIT $2",
        slot,
        limit,
    )
    return [found for (found,) in rows]


def index_after(run: int, entry: bytes, limit: int) -> list[IndexBlockRow]:
    """The next blocks of runs that reads look into, in the order of runs and entries."""
    rows = fetch_all(
        "SELECT p.run, r.kind::bigint, p.first_entry, p.block FROM historical_packedindex p"
        " JOIN historical_indexrun r ON r.id = p.run AND r.state = 1"
        " WHERE (p.run, p.first_entry) > ($1, $2) ORDER BY p.run, p.first_entry LIMIT $3",
        run,
        entry,
        limit,
    )
    return [IndexBlockRow(*row) for row in rows]


def run_blocks(run: int) -> list[IndexBlockRow]:
    """All blocks of the run."""
    rows = fetch_all(
        "SELECT p.run, r.kind::bigint, p.first_entry, p.block FROM historical_packedindex p"
        " JOIN historical_indexrun r ON r.id = p.run AND r.state = 1 WHERE p.run = $1"
        " ORDER BY p.first_entry",
        run,
    )
    return [IndexBlockRow(*row) for row in rows]


def slots_of(kind: str, number: int) -> tuple[int, int] | None:
    """First and last slot of what a damage is in; None where it is gone."""
    bounds = ("first_slot", "last_slot")
    found: Any
    if kind == Kind.TEXTS:
        found = PackedTexts.objects.filter(pk=number).values_list(*bounds)
    elif kind == Kind.ENTRIES:
        found = SealedBlock.objects.filter(pk=number).values_list("slot", "slot")
    elif kind == Kind.DICTIONARY:
        found = SealedRange.objects.filter(pk=number).values_list(*bounds)
    else:
        found = IndexRun.objects.filter(pk=number, state=IndexRun.State.LIVE).values_list(*bounds)
    return found.first()  # type: ignore[no-any-return]


def blocks_of(kind: str, number: int, first: int, last: int) -> list[int]:
    """The sealed blocks that cannot be read for it: their slots."""
    if kind == Kind.ENTRIES:
        return [first]
    found = SealedBlock.objects.filter(slot__range=(first, last))
    if kind == Kind.TEXTS:
        found = found.filter(frames__contains=[number])
    elif kind == Kind.DICTIONARY:
        found = found.filter(sealed_range=number)
    return list(found.order_by("slot").values_list("slot", flat=True))


def recorded_blockhashes(slots: Sequence[int]) -> dict[int, bytes]:
    rows = fetch_all("SELECT slot, blockhash FROM historical_block WHERE slot = ANY($1)", slots)
    return dict(rows)


def frame(number: int) -> tuple[int, bytes] | None:
    """(range, frame) of texts."""
    row = fetch_one("SELECT sealed_range, frame FROM historical_packedtexts WHERE id = $1", number)
    return None if row is None else (int(row[0]), bytes(row[1]))


def copied_frames(copy: OtherDatabase, number: int, first: int, last: int) -> list[bytes]:
    """The frame of the same number and slots in another database."""
    rows = copy.rows(
        "SELECT frame FROM historical_packedtexts WHERE id = %s AND first_slot = %s"
        " AND last_slot = %s",
        number,
        first,
        last,
    )
    return [bytes(found) for (found,) in rows]


def copied_blocks(copy: OtherDatabase, row: SealedRow) -> list[SealedRow]:
    """The same sealed block in another database: that has the same frames."""
    rows = copy.rows(
        "SELECT slot, sealed_range, frames, ends, skipped, entries, errs, memo_positions, memos"
        " FROM historical_sealedblock WHERE slot = %s AND frames = %s::bigint[]",
        row.slot,
        row.frames,
    )
    return [row_of(found) for found in rows]


def copied_dictionaries(copy: OtherDatabase, number: int, first: int) -> list[tuple[bytes, bytes]]:
    """Keys and dictionary of the same range in another database."""
    rows = copy.rows(
        "SELECT keys, dictionary FROM historical_sealedrange WHERE id = %s AND first_slot = %s",
        number,
        first,
    )
    return [(bytes(keys), bytes(dictionary)) for keys, dictionary in rows]


def copied_index(copy: OtherDatabase, run: int, kind: int, first_entry: bytes) -> list[bytes]:
    """The block of the same run that begins with the entry in another database."""
    rows = copy.rows(
        "SELECT p.block FROM historical_packedindex p JOIN historical_indexrun r ON r.id = p.run"
        " WHERE r.id = %s AND r.kind = %s AND p.first_entry = %s",
        run,
        kind,
        first_entry,
    )
    return [bytes(found) for (found,) in rows]


def replace_frame(number: int, packed: bytes) -> None:
    PackedTexts.objects.filter(pk=number).update(frame=packed)


def replace_entries(row: SealedRow) -> None:
    SealedBlock.objects.filter(pk=row.slot).update(**dict(zip(_ENTRIES, row.packed, strict=True)))


def replace_dictionary(number: int, keys: bytes, dictionary: bytes) -> None:
    SealedRange.objects.filter(pk=number).update(keys=keys, dictionary=dictionary)


def replace_index(row: IndexBlockRow, block: bytes) -> None:
    execute(
        "UPDATE historical_packedindex SET block = %s WHERE run = %s AND first_entry = %s",
        [block, row.run, row.first_entry],
    )


def delete_index(row: IndexBlockRow) -> None:
    execute(
        "DELETE FROM historical_packedindex WHERE run = %s AND first_entry = %s",
        [row.run, row.first_entry],
    )


def count_entries(run: int, entries: int) -> None:
    """The run has so many."""
    IndexRun.objects.filter(pk=run).update(entries=entries)
