"""Repairs what is damaged of the sealed ledger: from another database, or by recording blocks again
that a source has; else its slots become gaps.
"""

import logging
from collections.abc import Callable
from datetime import datetime

import zstandard
from django.db import transaction
from solders.hash import Hash

from chain.blocks import SlotRecord
from chain.signed import Signatures
from chain.slot_ranges import runs
from columns.other_database import OtherDatabase
from columns.queries import lift_timeouts
from gaps.causes import DAMAGED
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from historical.errors import BadBlock, BlockConflict, SealedDataDamaged
from historical.models import LedgerDamage
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.remote.services import remote_history
from historical.sealed import dictionary as segment_dictionary
from historical.sealed.dictionary import DamagedDictionary
from historical.sealed.packed_texts import OpenFrame
from historical.sealed.services import scrubbing
from historical.sealed.store import damage, sealed_blocks, sealing
from historical.sealed.store.damage import Kind
from historical.sealed.store.sealed_blocks import RangeGone
from jsonrpc.errors import RpcError
from sealed.life import NotReadBack

log = logging.getLogger(__name__)

# Of one damage; more are recorded again by hand: reingest.
MOST_BLOCKS = 2_000
State = LedgerDamage.State
# A block by its slot; None where the source does not have it.
Fetch = Callable[[int], SlotRecord | None]


@transaction.atomic
def is_over(found: LedgerDamage, *, now: datetime) -> bool:
    """Whether it is whole after all, or gone: then the damage ends."""
    sealing.wait_alone()
    if damage.slots_of(found.kind, found.number) is None:
        damage.DAMAGES.end(found, State.GONE, "it is not read any more", now)
        return True
    if scrubbing.faults_of(found.kind, found.number):
        return False
    damage.DAMAGES.end(found, State.REPAIRED, "itself: it is read as it was sealed", now)
    return True


@transaction.atomic
def repair_from(found: LedgerDamage, copy: OtherDatabase, *, now: datetime) -> bool:
    """Whether the other database has a whole copy, which is stored now. Raises NotReadBack."""
    lift_timeouts()
    sealing.wait_alone()
    repair = {
        Kind.TEXTS: _frame,
        Kind.ENTRIES: _entries,
        Kind.DICTIONARY: _dictionary,
        Kind.INDEX: _index,
    }[Kind(found.kind)]
    if not repair(found, copy):
        return False
    if scrubbing.faults_of(found.kind, found.number):
        raise NotReadBack(f"{found}")
    sealing.moved()
    damage.DAMAGES.end(found, State.REPAIRED, copy.name, now)
    return True


def _frame(found: LedgerDamage, copy: OtherDatabase) -> bool:
    stored = damage.frame(found.number)
    if stored is None:
        return False
    try:
        dictionary = sealed_blocks.dictionary(stored[0])
    except (SealedDataDamaged, RangeGone):
        return False
    for packed in damage.copied_frames(copy, found.number, found.first_slot, found.last_slot):
        if isinstance(scrubbing.open_frame(found.number, packed, dictionary), OpenFrame):
            damage.replace_frame(found.number, packed)
            return True
    return False


def _entries(found: LedgerDamage, copy: OtherDatabase) -> bool:
    row = sealed_blocks.sealed_block(found.number)
    for each in () if row is None else damage.copied_blocks(copy, row):
        try:
            sealed_blocks.entries_of(each)
        except SealedDataDamaged:
            continue
        damage.replace_entries(each)
        return True
    return False


def _dictionary(found: LedgerDamage, copy: OtherDatabase) -> bool:
    for keys, dictionary in damage.copied_dictionaries(copy, found.number, found.first_slot):
        try:
            segment_dictionary.opened(keys)
            segment_dictionary.opened(dictionary)
        except (DamagedDictionary, zstandard.ZstdError):
            continue
        damage.replace_dictionary(found.number, keys, dictionary)
        return True
    return False


def _index(found: LedgerDamage, copy: OtherDatabase) -> bool:
    for row in damage.run_blocks(found.number):
        if not scrubbing.index_fault(row):
            continue
        for block in damage.copied_index(copy, row.run, row.kind, row.first_entry):
            if not scrubbing.index_fault(row._replace(block=block)):
                damage.replace_index(row, block)
                break
        else:
            return False
    return True


def record_again(found: LedgerDamage, fetch: Fetch, source: str, *, now: datetime) -> bool:
    """Whether the source has all blocks of the damage, of the blockhashes that are recorded: then
    they are recorded again.
    """
    slots = damage.blocks_of(found.kind, found.number, found.first_slot, found.last_slot)
    if not 0 < len(slots) <= MOST_BLOCKS:
        return False
    known = damage.recorded_blockhashes(slots)
    records: list[SlotRecord] = []
    for slot in slots:
        record = fetch(slot)
        if record is None or bytes(Hash.from_string(record.blockhash)) != known.get(slot):
            return False
        records.append(record)
    try:
        with transaction.atomic():
            lift_timeouts()
            for part in runs(slots):
                remove_blocks(*part)
            record_blocks(records, now=now, signatures=Signatures.REFUSE)
            damage.DAMAGES.end(found, State.REPAIRED, source, now)
    except (BadBlock, BlockConflict) as error:
        log.warning("%s is not repaired from %s: %s", found, source, error)
        return False
    return True


def record_again_from_remote_history(found: LedgerDamage, *, now: datetime) -> bool:
    """The same from Old Faithful, where it is configured."""
    if not remote_history.is_configured():
        return False
    reads = remote_history.RemoteReads("repair", {})

    def fetch(slot: int) -> SlotRecord | None:
        try:
            return reads.read(lambda history: history.block(slot), slot)
        except RpcError as error:
            log.warning("slot %d is not repaired from remote history: %s", slot, error)
            return None

    return record_again(found, fetch, "remote history", now=now)


@transaction.atomic
def open_as_gap(found: LedgerDamage, *, now: datetime) -> int:
    """The blocks that cannot be read leave, and their slots are gaps of the ledger; how many."""
    lift_timeouts()
    sealing.wait_alone()
    slots = damage.blocks_of(found.kind, found.number, found.first_slot, found.last_slot)
    for part in runs(slots):
        remove_blocks(*part)
        ledger_gaps.open_gap(*part, status=GapStatus.MISSING, cause=DAMAGED, now=now)
    damage.DAMAGES.end(found, State.GAP, "gaps of the ledger", now)
    return len(slots)
