"""Slots into the archive: each wholly or not at all, and the same slot twice changes nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord
from chain.transactions import BadTransaction
from chain.units import U64_MAX, Slot
from rewind import positions
from rewind.errors import BadSlot, SlotConflict
from rewind.models import AccountChange, ArchivedSlot
from rewind.services import links
from rewind.store import owners, partitions, writing
from rewind.store import slots as store

# A range with an end one above it must still fit a bigint.
_HIGHEST_SLOT = 2**62
_WRITE = AccountChange.Kind.WRITE.value


@dataclass(slots=True)
class Recorded:
    """What became of the records, by slot; `changes` are new rows, `filtered` writes that were
    dropped by filter. `too_old` lie below the window, `without_accounts` had no account writes.
    """

    recorded: list[Slot] = field(default_factory=list)
    improved: list[Slot] = field(default_factory=list)
    present: list[Slot] = field(default_factory=list)
    too_old: list[Slot] = field(default_factory=list)
    without_accounts: list[Slot] = field(default_factory=list)
    changes: int = 0
    filtered: int = 0


@dataclass(slots=True)
class _Placed:
    """A record with the writes of it that are kept."""

    record: SlotRecord
    writes: list[positions.PlacedWrite]
    improves: bool


@transaction.atomic
def record_slots(records: Sequence[SlotRecord], *, source: str, now: datetime) -> Recorded:
    """All of the slots, or none when one of them cannot be recorded: raises BadSlot, SlotConflict.

    A slot that is there stays as it is; one of which only each account's last write was told is
    completed by a record that has every write. Gaps follow (rewind/services/gaps.py).
    """
    result = Recorded()
    if not records:
        return result
    writing.lift_timeouts()
    ascending = sorted(records, key=lambda record: record.slot)
    for record in ascending:
        _check_numbers(record)
    store.lock_for_writing([record.slot for record in ascending])
    chosen = _chosen(ascending, result)
    placed = _unfiltered(chosen, result)
    new_rows = _write(placed, result)
    fresh = [each.record for each in placed if not each.improves]
    links.follow(
        fresh, without_accounts=_without_accounts(ascending, result), source=source, now=now
    )
    _mark(placed, new_rows, source, now)
    return result


def _check_numbers(record: SlotRecord) -> None:
    slot, parent = record.slot, record.parent_slot
    if not 0 <= slot <= _HIGHEST_SLOT:
        raise BadSlot(slot, "the slot is out of range")
    if not 0 <= parent < slot and (slot, parent) != (0, 0):
        raise BadSlot(slot, f"its parent {parent} does not come before it")


def _chosen(records: list[SlotRecord], result: Recorded) -> dict[Slot, tuple[SlotRecord, bool]]:
    """The records to write, and whether each improves a slot that is there."""
    kept_from = store.first_kept_slot()
    known = store.stored([record.slot for record in records])
    chosen: dict[Slot, tuple[SlotRecord, bool]] = {}
    for record in records:
        slot, there = record.slot, known.get(record.slot)
        blockhash = _blockhash(record)
        if there is not None and there.blockhash != blockhash:
            stored = Hash.from_bytes(there.blockhash)
            raise SlotConflict(slot, f"holds block {stored} already, not {record.blockhash}")
        if slot < kept_from:
            result.too_old.append(slot)
        elif record.account_writes is None:
            if there is None:
                result.without_accounts.append(slot)
            else:
                result.present.append(slot)
        elif there is not None and there.granularity <= record.granularity:
            result.present.append(slot)
        elif slot in chosen:
            rival = chosen[slot][0]
            if rival.blockhash != record.blockhash:
                raise SlotConflict(slot, f"comes as {rival.blockhash} and as {record.blockhash}")
            if record.granularity < rival.granularity:
                chosen[slot] = (record, there is not None)
        else:
            chosen[slot] = (record, there is not None)
    result.without_accounts = [slot for slot in result.without_accounts if slot not in chosen]
    return chosen


def _blockhash(record: SlotRecord) -> bytes:
    try:
        return bytes(Hash.from_string(record.blockhash))
    except ValueError:
        raise BadSlot(record.slot, f"no blockhash: {record.blockhash[:64]!r}") from None


def _unfiltered(chosen: dict[Slot, tuple[SlotRecord, bool]], result: Recorded) -> list[_Placed]:
    # Asked for each batch, so that a filter that staff just set holds from here on.
    filtered_owners, filtered_pubkeys = owners.filtered_owners(), owners.filtered_pubkeys()
    placed: list[_Placed] = []
    for record, improves in chosen.values():
        writes = _placed_writes(record)
        kept = [
            each
            for each in writes
            if each.write.owner not in filtered_owners and each.write.pubkey not in filtered_pubkeys
        ]
        result.filtered += len(writes) - len(kept)
        placed.append(_Placed(record, kept, improves))
    return placed


def _placed_writes(record: SlotRecord) -> list[positions.PlacedWrite]:
    writes = record.account_writes or []
    for write in writes:
        if len(write.pubkey) != 32 or len(write.owner) != 32:
            raise BadSlot(record.slot, "an account's pubkey or owner has not 32 bytes")
    try:
        indexes = positions.first_signatures(entry.wire for entry in record.transactions)
        return positions.placed(writes, indexes)
    except positions.UnknownSignature as error:
        signature = str(error)
        raise BadSlot(
            record.slot, f"a write names transaction {signature}, which its block does not have"
        ) from None
    except BadTransaction as error:
        raise BadSlot(record.slot, f"a transaction cannot be read: {error}") from None


def _write(placed: list[_Placed], result: Recorded) -> Counter[int]:
    """New rows by slot."""
    new_rows: Counter[int] = Counter()
    if any(each.writes for each in placed):
        partitions.ensure(each.record.slot for each in placed)
        ids = owners.ids_of({each.write.owner for slot in placed for each in slot.writes})
        writing.stage()
        writing.copy_staged(_rows(placed, ids))
        new_rows.update(writing.insert_staged())
        if any(each.position == positions.END_OF_SLOT for slot in placed for each in slot.writes):
            new_rows.update(writing.turn_bases_into_writes())
    result.changes = new_rows.total()
    for each in placed:
        (result.improved if each.improves else result.recorded).append(each.record.slot)
    return new_rows


def _rows(placed: list[_Placed], owner_ids: dict[bytes, int]) -> Iterator[writing.NewChange]:
    for each in placed:
        slot = each.record.slot
        for position, write in each.writes:
            _check_write(slot, write)
            yield writing.NewChange(
                slot, write.write_version, write.lamports, write.rent_epoch, position,
                owner_ids[write.owner], _WRITE, write.executable, write.pubkey, write.data,
            )  # fmt: skip


def _check_write(slot: Slot, write: AccountWrite) -> None:
    if not (
        0 <= write.lamports <= U64_MAX
        and 0 <= write.rent_epoch <= U64_MAX
        and 0 <= write.write_version <= U64_MAX
    ):
        raise BadSlot(slot, "an account's number is no u64")


def _without_accounts(records: list[SlotRecord], result: Recorded) -> list[SlotRecord]:
    lacking = set(result.without_accounts)
    return [record for record in records if record.slot in lacking]


def _mark(placed: list[_Placed], new_rows: Counter[int], source: str, now: datetime) -> None:
    """The rows that say that the slots are there: the last that are written."""
    fresh: list[ArchivedSlot] = []
    tallies: dict[int, store.Tally] = {}
    for each in placed:
        record, changes = each.record, new_rows[each.record.slot]
        coarse = int(record.granularity is not Granularity.WRITE)
        if each.improves:
            store.improve_slot(
                record.slot, granularity=record.granularity, changes=changes, source=source
            )
            added = store.Tally(record.slot // store.TALLIED_SLOTS, 0, coarse - 1, changes)
        else:
            fresh.append(
                ArchivedSlot(
                    slot=record.slot,
                    parent_slot=record.parent_slot,
                    recorded_at=now,
                    changes=changes,
                    granularity=int(record.granularity),
                    blockhash=Hash.from_string(record.blockhash),
                    source=source,
                )
            )
            added = store.Tally(record.slot // store.TALLIED_SLOTS, 1, coarse, changes)
        known = tallies.get(added.run, store.Tally(added.run, 0, 0, 0))
        sums = (a + b for a, b in zip(known[1:], added[1:], strict=True))
        tallies[added.run] = store.Tally(added.run, *sums)
    store.insert_slots(fresh)
    store.add_to_tallies(tallies.values())
