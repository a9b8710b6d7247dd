"""Queries of a verification on the archive."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import transaction

from columns.queries import all_rows, execute
from columns.slot_cells import RUN_SLOTS, whole_runs
from rewind.accounts.store import slot_lookup
from rewind.positions import Position
from rewind.recording.store import partitions, slots
from rewind.recording.store.partitions import Sealed
from rewind.sealed.store import change_source, sealed_reads, sealing

# A partition is read through for its writes when it has no more: some tenths of a second.
_SCANNED_ROWS = 200_000
# And sealed blocks where they are no larger.
_DECODED_BYTES = 4 * 1_048_576


class Archived(NamedTuple):
    """The row of an archived slot."""

    slot: int
    parent_slot: int
    blockhash: bytes
    granularity: int
    changes: int


class Written(NamedTuple):
    """A write according to a block: account, transaction, and the balance afterwards."""

    pubkey: bytes
    position: int
    lamports: int


def archived_between(first: int, last: int) -> list[Archived]:
    """Ascending."""
    rows = all_rows(
        "SELECT slot, parent_slot, blockhash, granularity, changes FROM rewind_archivedslot"
        " WHERE slot BETWEEN %s AND %s ORDER BY slot",
        [first, last],
    )
    return [
        Archived(slot, parent, bytes(blockhash), *rest) for slot, parent, blockhash, *rest in rows
    ]


def balances_of(slot: int, writes: Sequence[Written]) -> list[int | None]:
    """What the archive has for each write, as stored (a u64 in a signed number's bits); None where
    it has no row.
    """
    stored = all_rows(
        "SELECT pubkey, position, lamports FROM rewind_accountchange"
        " WHERE slot = %s AND pubkey = ANY(%s) AND position = ANY(%s)",
        [
            slot,
            list({each.pubkey for each in writes}),
            list({each.position for each in writes}),
        ],
    )
    rows = {(bytes(pubkey), position): held for pubkey, position, held in stored}
    found = [rows.get((each.pubkey, each.position)) for each in writes]
    sealed = _sealed_at(slot)
    missing = [number for number, has in enumerate(found) if has is None] if sealed else []
    places = [
        (writes[number].pubkey, Position(slot, writes[number].position)) for number in missing
    ]
    packed = {
        (change.pubkey, change.position): change.lamports
        for change in sealed_reads.at_places(places, sealed)
    }
    for number in missing:
        found[number] = packed.get((writes[number].pubkey, writes[number].position))
    return found


def written_in(slot: int, pubkeys: Collection[bytes]) -> set[bytes]:
    """Those of the accounts that have any row of the slot."""
    rows = all_rows(
        "SELECT DISTINCT pubkey FROM rewind_accountchange WHERE slot = %s AND pubkey = ANY(%s)",
        [slot, list(pubkeys)],
    )
    found = {bytes(pubkey) for (pubkey,) in rows}
    sealed = [each.id for each in _sealed_at(slot)]
    end = Position.end_of(slot)
    wanted = [(pubkey, end) for pubkey in pubkeys if pubkey not in found]
    newest = sealed_reads.newest(wanted, sealed)
    return found | {pubkey for (pubkey, _), each in newest.items() if each.place[0] == slot}


def _sealed_at(slot: int) -> list[Sealed]:
    layout = partitions.layout(slot_lookup.look_up_slot(slot).layout)
    segment = layout.by_number.get(partitions.segment_of(slot))
    sealed = () if segment is None else segment.sealed
    return [each for each in sealed if each.first <= slot <= each.last]


def dropped_among(pubkeys: Collection[bytes]) -> set[bytes]:
    """Those of the accounts that a filter has dropped writes of."""
    return {
        bytes(pubkey)
        for (pubkey,) in all_rows(
            "SELECT pubkey FROM rewind_droppedaccount WHERE pubkey = ANY(%s)", [list(pubkeys)]
        )
    }


def writes_of_slots(first: int, last: int) -> dict[int, int] | None:
    """Slot → its writes, by counting them; None where that would read too much."""
    hot = [each for each in partitions.existing() if each.first <= last and each.last >= first]
    sealed = [
        each for each in sealing.active() if each.first_slot <= last and each.last_slot >= first
    ]
    if sum(each.stored_bytes for each in sealed) > _DECODED_BYTES:
        return None
    for each in hot:
        if slots.changes_counted(each.first, each.last) > _SCANNED_ROWS:
            return None
    if sealed:
        changes = change_source.merged(
            [each.table for each in hot],
            [each.id for each in sealed],
            first_slot=first,
            last_slot=last,
        )
        return Counter(change.slot for change in changes if change.kind == 0)
    return dict(
        all_rows(
            "SELECT slot, count(*) FROM rewind_accountchange"
            " WHERE slot BETWEEN %s AND %s AND kind = 0 GROUP BY slot",
            [first, last],
        )
    )


_TRUTH = f"""
    SELECT slot / {RUN_SLOTS} AS run, count(*) AS slots,
        count(*) FILTER (WHERE granularity > 0) AS coarse_slots, sum(changes)::bigint AS changes
    FROM rewind_archivedslot WHERE slot BETWEEN %(first)s AND %(last)s GROUP BY 1
"""


def wrong_counts(first: int, last: int) -> list[int]:
    """Runs that touch the range whose counts are not those of their slots. The run where the window
    begins is left out: what fell out of it is still counted there.
    """
    rows = all_rows(
        f"SELECT run FROM ({_TRUTH}) AS truth FULL JOIN (SELECT * FROM rewind_slottally"
        f" WHERE run BETWEEN %(first)s / {RUN_SLOTS} AND %(last)s / {RUN_SLOTS})"
        " AS stored USING (run) WHERE (truth.slots, truth.coarse_slots, truth.changes)"
        " IS DISTINCT FROM (stored.slots::bigint, stored.coarse_slots::bigint, stored.changes)"
        f" AND run > coalesce((SELECT first_kept_slot / {RUN_SLOTS}"
        " FROM rewind_archivestate WHERE first_kept_slot > 0), -1) ORDER BY run",
        whole_runs(first, last),
    )
    return [run for (run,) in rows]


@transaction.atomic
def recount(runs: Sequence[int]) -> None:
    """Recounts the runs from their slots. A concurrent writer waits for the rows, and adds its own
    slots afterwards.
    """
    for run in sorted(runs):
        execute(
            "INSERT INTO rewind_slottally (run, slots, coarse_slots, changes)"
            " VALUES (%s, 0, 0, 0) ON CONFLICT (run) DO UPDATE SET run = excluded.run",
            [run],
        )
        execute(
            "UPDATE rewind_slottally SET (slots, coarse_slots, changes) = (SELECT"
            " coalesce(sum(slots), 0), coalesce(sum(coarse_slots), 0),"
            f" coalesce(sum(changes), 0) FROM ({_TRUTH}) AS truth) WHERE run = %(run)s",
            {**whole_runs(run * RUN_SLOTS, run * RUN_SLOTS), "run": run},
        )
