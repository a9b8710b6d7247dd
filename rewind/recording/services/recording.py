"""Records slots: each completely or not at all; recording one twice changes nothing."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.addresses import STAKE
from chain.blocks import Granularity, SlotRecord
from chain.transactions import BadTransaction
from chain.units import Slot
from columns.queries import lift_timeouts
from rewind import positions
from rewind.coverage.services.gaps import follow_links
from rewind.errors import BadSlot, SlotConflict
from rewind.models import AccountChange, ArchivedSlot
from rewind.proof.services import proof_records
from rewind.proof.store import stake_turns
from rewind.recording.store import (
    dropped_writes,
    gaps,
    owners,
    partitions,
    runtime_accounts,
    writing,
)
from rewind.recording.store import slots as store
from rewind.recording.store.partitions import segment_of
from rewind.sealed.store import segments, slot_owners, unsealing

# A range with an end one above it must still fit a bigint.
_HIGHEST_SLOT = 2**62
_WRITE = AccountChange.Kind.WRITE.value
_STAKE = bytes(STAKE)


@dataclass(slots=True)
class Recorded:
    """What became of the records, by slot; `changes` are new rows, `filtered` writes that were
    dropped by filter, `corrected` rows that said otherwise. `too_old` lie below the window,
    `without_accounts` had no account writes.
    """

    recorded: list[Slot] = field(default_factory=list)
    improved: list[Slot] = field(default_factory=list)
    present: list[Slot] = field(default_factory=list)
    too_old: list[Slot] = field(default_factory=list)
    without_accounts: list[Slot] = field(default_factory=list)
    changes: int = 0
    filtered: int = 0
    corrected: int = 0


@transaction.atomic
def record_slots(
    records: Sequence[SlotRecord], *, source: str, now: datetime, recheck: bool = False
) -> Recorded:
    """All of the slots, or none when one of them cannot be recorded: raises BadSlot, SlotConflict.

    A slot that is there stays as it is; one with only each account's last write is
    completed by a record that has every write. Gaps follow (rewind/coverage/services/gaps.py).
    With `recheck`, what such a record says of a slot that has every write is held against its rows:
    missing rows are added, wrong ones corrected.
    """
    result = Recorded()
    if not records:
        return result
    lift_timeouts()
    ascending = sorted(records, key=lambda record: record.slot)
    for record in ascending:
        _check_numbers(record)
    store.lock_for_writing([record.slot for record in ascending])
    known = store.stored([record.slot for record in ascending])
    chosen = _chosen(ascending, known, result, recheck=recheck)
    fresh = [record for record in chosen if record.slot not in result.improved]
    reopened = _reopened(fresh)
    proof = proof_records.before(chosen, result.improved)
    last_writes = proof_records.LastWrites()
    changes = _write(chosen, result, reopened, last_writes)
    follow_links(
        fresh, without_accounts=_without_accounts(ascending, result), source=source, now=now
    )
    _mark(chosen, changes, known, source, now)
    proof_records.note(chosen, last_writes, proof)
    return result


def _check_numbers(record: SlotRecord) -> None:
    slot, parent = record.slot, record.parent_slot
    if not 0 <= slot <= _HIGHEST_SLOT:
        raise BadSlot(slot, "the slot is out of range")
    if not 0 <= parent < slot and (slot, parent) != (0, 0):
        raise BadSlot(slot, f"its parent {parent} does not come before it")


def _chosen(
    records: list[SlotRecord], known: dict[int, store.Stored], result: Recorded, *, recheck: bool
) -> list[SlotRecord]:
    """The records to write, ascending: new slots, and those that improve a slot that is there."""
    kept_from = store.first_kept_slot()
    chosen: dict[Slot, SlotRecord] = {}
    for record in records:
        slot, there = record.slot, known.get(record.slot)
        if there is not None and there.blockhash != _blockhash(record):
            stored = Hash.from_bytes(there.blockhash)
            raise SlotConflict(slot, f"holds block {stored} already, not {record.blockhash}")
        rival = chosen.get(slot)
        if rival is not None and rival.blockhash != record.blockhash:
            raise SlotConflict(slot, f"comes as {rival.blockhash} and as {record.blockhash}")
        if slot < kept_from:
            result.too_old.append(slot)
        elif record.account_writes is None:
            (result.without_accounts if there is None else result.present).append(slot)
        elif there is not None and not _improves(record, there, recheck=recheck):
            result.present.append(slot)
        elif rival is None or record.granularity < rival.granularity:
            chosen[slot] = record
    result.without_accounts = [slot for slot in result.without_accounts if slot not in chosen]
    result.improved = [slot for slot in chosen if slot in known]
    result.recorded = [slot for slot in chosen if slot not in known]
    return list(chosen.values())


def _improves(record: SlotRecord, there: store.Stored, *, recheck: bool) -> bool:
    if recheck and record.granularity == Granularity.WRITE:
        return True
    return record.granularity < there.granularity


def _blockhash(record: SlotRecord) -> bytes:
    try:
        return bytes(Hash.from_string(record.blockhash))
    except ValueError:
        raise BadSlot(record.slot, f"no blockhash: {record.blockhash[:64]!r}") from None


def _reopened(fresh: Sequence[SlotRecord]) -> frozenset[Slot]:
    """New slots that were archived before and have sealed changes left."""
    if not fresh:
        return frozenset()
    parts = gaps.damaged_among(fresh[0].slot, fresh[-1].slot)
    return frozenset(
        record.slot
        for record in fresh
        if any(first <= record.slot <= last for first, last in parts)
    )


def _write(
    records: list[SlotRecord],
    result: Recorded,
    reopened: frozenset[Slot],
    last_writes: proof_records.LastWrites,
) -> Counter[int]:
    """New rows by slot; of the reopened slots all."""
    found_owners = _owners(records)
    # Filters are asked for with each batch, so that one that staff just set holds from here on.
    batch = _Batch(
        filtered_owners=owners.filtered_owners(),
        filtered_pubkeys=owners.filtered_pubkeys(),
        owner_ids=owners.ids_of(found_owners),
        staged_slots=reopened.union(result.improved),
        kept_segments=segments.kept(),
        last_writes=last_writes,
    )
    partitions.ensure(record.slot for record in records if record.account_writes)
    try:
        # PostgreSQL takes in one slot's rows while we place the next one's.
        writing.copy_new(row for record in records for row in batch.new_rows(record))
        changes = batch.written
        if batch.staged:
            writing.stage()
            writing.copy_staged(batch.staged)
            is_restored = unsealing.restore_staged()
            result.corrected = writing.correct_staged()
            changes.update(writing.insert_staged())
            changes.update(writing.turn_bases_into_writes())
            if is_restored:
                unsealing.forget_restored()
    except writing.NotAU64 as error:
        raise BadSlot(Slot(error.slot), "a number of an account is no u64") from None
    whole = [each.slot for each in records if each.granularity == Granularity.WRITE]
    batch.replace(reopened.intersection(whole))
    changes.update({slot: last_writes.archived[slot] - changes[slot] for slot in reopened})
    segments.keep(batch.occurrences)
    slot_owners.put(batch.last_owners, result.improved)
    _keep_runtime_accounts(records, found_owners)
    if _STAKE in found_owners and _STAKE not in batch.filtered_owners:
        stake_turns.keep_accounts(_owned(records, {_STAKE}))
    if batch.dropped:
        dropped_writes.note(batch.dropped, batch.filters())
    result.changes = changes.total()
    result.filtered = batch.filtered
    return changes


def _owners(records: list[SlotRecord]) -> set[bytes]:
    found: set[bytes] = set()
    for record in records:
        owners_here = {write.owner for write in record.account_writes or ()}
        if any(len(owner) != 32 for owner in owners_here):
            raise BadSlot(record.slot, "an account's owner has not 32 bytes")
        found |= owners_here
    return found


def _keep_runtime_accounts(records: list[SlotRecord], found_owners: set[bytes]) -> None:
    """New features, builtins and sysvars are known by their address. Sysvars are in every block,
    but a new one begins with its feature: other blocks are not looked through.
    """
    rare = {runtime_accounts.FEATURE, runtime_accounts.NATIVE_LOADER}
    if not rare.isdisjoint(found_owners):
        runtime_accounts.keep(_owned(records, runtime_accounts.OWNERS))


def _owned(records: list[SlotRecord], owners: Set[bytes]) -> set[bytes]:
    return {
        write.pubkey
        for record in records
        for write in record.account_writes or ()
        if write.owner in owners
    }


@dataclass(slots=True)
class _Batch:
    """What turns records into rows. Those that may meet a row of the same key are kept for later:
    of slots that are there already, and where a snapshot's row may stand.
    """

    filtered_owners: dict[bytes, int]
    filtered_pubkeys: set[bytes]
    owner_ids: dict[bytes, int]
    staged_slots: frozenset[Slot]
    kept_segments: int
    last_writes: proof_records.LastWrites
    staged: list[writing.NewChange] = field(default_factory=list)
    written: Counter[int] = field(default_factory=Counter)
    dropped: dict[bytes, tuple[Slot, Slot]] = field(default_factory=dict)
    occurrences: segments.Occurrences = field(default_factory=segments.Occurrences)
    # Of each slot: account → its owner after the last write, as far as that is archived.
    last_owners: dict[int, dict[bytes, int]] = field(default_factory=dict)
    filtered: int = 0

    def filters(self) -> Hashable:
        return frozenset(self.filtered_owners.items()), frozenset(self.filtered_pubkeys)

    def replace(self, slots: Collection[int]) -> None:
        """Writes of the slots that an earlier record left, and this one does not have, leave. Those
        that are sealed stay, and those of accounts that a filter keeps out now.
        """
        if slots:
            own = {(row.write.pubkey, row.slot, row.position) for row in self.staged}
            there = writing.places_in(slots)
            writing.drop(
                [each for each in there if each not in own and each[0] not in self.dropped]
            )

    def new_rows(self, record: SlotRecord) -> Iterator[writing.NewChange]:
        slot, staged_slot = record.slot, record.slot in self.staged_slots
        is_late = segment_of(slot) < self.kept_segments
        places = _places(record)
        last = self.last_writes.of_slot(slot)
        last_owners = self.last_owners[slot] = {}
        # In the order of the index: pages filled at random cost more to find and to write.
        for pubkey, position in sorted(places):
            write = places[pubkey, position]
            if write.owner in self.filtered_owners or pubkey in self.filtered_pubkeys:
                self.filtered += 1
                last[pubkey] = write
                last_owners.pop(pubkey, None)
                # Records come ascending.
                self.dropped[pubkey] = self.dropped.get(pubkey, (slot, slot))[0], slot
                continue
            last[pubkey] = None
            self.last_writes.archived[slot] += 1
            owner_id = last_owners[pubkey] = self.owner_ids[write.owner]
            row = writing.NewChange(slot, position, owner_id, _WRITE, write)
            if is_late:
                self.occurrences.add(pubkey, slot)
            if staged_slot or position == positions.END_OF_SLOT:
                self.staged.append(row)
            else:
                self.written[slot] += 1
                yield row


def _places(record: SlotRecord) -> dict[positions.Place, AccountWrite]:
    writes = record.account_writes or []
    for write in writes:
        if len(write.pubkey) != 32:
            raise BadSlot(record.slot, "an account's pubkey has not 32 bytes")
    try:
        indexes = positions.first_signatures(record.transactions)
        return positions.placed(writes, indexes)
    except positions.UnknownSignature as error:
        signature = str(error)
        raise BadSlot(
            record.slot, f"a write names transaction {signature}, which its block does not have"
        ) from None
    except BadTransaction as error:
        raise BadSlot(record.slot, f"a transaction cannot be read: {error}") from None


def _without_accounts(records: list[SlotRecord], result: Recorded) -> list[SlotRecord]:
    missing = set(result.without_accounts)
    return [record for record in records if record.slot in missing]


def _mark(
    records: list[SlotRecord],
    changes: Counter[int],
    known: dict[int, store.Stored],
    source: str,
    now: datetime,
) -> None:
    """The rows that say that the slots are there: the last that are written."""
    fresh: list[ArchivedSlot] = []
    run_counts = store.RunCounts()
    for record in records:
        slot, rows = record.slot, changes[record.slot]
        coarse = int(record.granularity is not Granularity.WRITE)
        if slot in known:
            store.improve_slot(slot, granularity=record.granularity, changes=rows, source=source)
            was_coarse = int(known[slot].granularity != Granularity.WRITE)
            run_counts.add(slot, slots=0, coarse_slots=coarse - was_coarse, changes=rows)
            continue
        fresh.append(
            ArchivedSlot(
                slot=slot,
                parent_slot=record.parent_slot,
                recorded_at=now,
                changes=rows,
                granularity=int(record.granularity),
                blockhash=Hash.from_bytes(_blockhash(record)),
                source=source,
            )
        )
        run_counts.add(slot, slots=1, coarse_slots=coarse, changes=rows)
    store.insert_slots(fresh)
    store.add_run_counts(run_counts)
