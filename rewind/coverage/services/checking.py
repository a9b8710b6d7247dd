"""Compares the archive with the blocks of the ledger, slot by slot."""

from collections.abc import Iterator, Sequence

from chain.blocks import Granularity
from chain.encodings import b58encode
from chain.slot_ranges import SlotRange
from chain.units import U64_MAX
from gaps.life_cycle import open_gaps
from historical.blocks.services.stored_content import Balance
from historical.coverage.services.checking import Fault
from historical.coverage.store.checking import Header
from historical.models import Gap as LedgerGap
from rewind.coverage.store import checking as store
from rewind.coverage.store.checking import Archived, Written
from rewind.models import Gap
from rewind.recording.store import owners
from rewind.recording.store import slots as archive


def check_slots(window: SlotRange, headers: Sequence[Header]) -> Iterator[Fault]:
    """Archive and ledger have the same slots, except for open gaps and outside the window, and the
    same block of each slot.
    """
    bounds = archive.bounds()
    if bounds is None:
        return
    archived = {each.slot: each for each in store.archived_between(*window)}
    stored = {header.slot: header for header in headers}
    for slot in sorted(archived.keys() | stored.keys()):
        mine, theirs = archived.get(slot), stored.get(slot)
        if mine is None:
            if bounds[0] <= slot <= bounds[1] and not open_gaps(Gap, SlotRange(slot, slot)):
                yield Fault(slot, "not_archived")
        elif theirs is None:
            if stored and not open_gaps(LedgerGap, SlotRange(slot, slot)):
                yield Fault(slot, "not_stored")
        elif (mine.blockhash, mine.parent_slot) != (theirs.blockhash, theirs.parent_slot):
            ours = f"{b58encode(mine.blockhash)} is archived"
            yield Fault(slot, "other_block", f"{ours}, {b58encode(theirs.blockhash)} stored")


def check_writes(archived: Archived, balances: Sequence[Balance]) -> Iterator[Fault]:
    """Every balance that a transaction changed is a write of the archive, with that balance;
    writes that a filter dropped are not checked.
    """
    if archived.granularity != Granularity.WRITE:
        wanted = {each.pubkey for each in balances}
        missing = wanted - store.written_in(archived.slot, wanted)
        absent = [each for each in balances if each.pubkey in missing]
        wrong: list[tuple[Balance, int]] = []
    else:
        writes = [Written(each.pubkey, each.index, each.lamports) for each in balances]
        found = store.balances_of(archived.slot, writes)
        absent = [each for each, has in zip(balances, found, strict=True) if has is None]
        wrong = [
            (each, has & U64_MAX)
            for each, has in zip(balances, found, strict=True)
            if has is not None and has & U64_MAX != each.lamports
        ]
    for each in _unfiltered(absent):
        yield Fault(archived.slot, "write_missing", f"{_named(each)}: {each.lamports:,} lamports")
    for each, has in wrong:
        detail = f"{_named(each)}: {has:,} lamports, the block has {each.lamports:,}"
        yield Fault(archived.slot, "wrong_balance", detail)


def check_counts(window: SlotRange) -> Iterator[Fault]:
    """Each slot has as many writes as its row says, if they can be counted at little cost."""
    counted = store.writes_of_slots(*window)
    if counted is None:
        return
    for each in store.archived_between(*window):
        there = counted.get(each.slot, 0)
        if there != each.changes:
            yield Fault(each.slot, "write_count", f"{there} are there, {each.changes} were counted")


def _unfiltered(balances: Sequence[Balance]) -> list[Balance]:
    if not balances:
        return []
    pubkeys = {each.pubkey for each in balances}
    left_out = owners.filtered_pubkeys() | store.dropped_among(pubkeys)
    return [each for each in balances if each.pubkey not in left_out]


def _named(balance: Balance) -> str:
    return f"{b58encode(balance.pubkey)}, transaction {balance.index}"
