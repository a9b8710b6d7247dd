"""Whether the ledger is consistent, slot by slot."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from chain.blocks import TransactionRecord
from chain.encodings import b58encode
from chain.signed import duplicates_among, unsigned_among
from chain.slot_ranges import SlotRange
from chain.transaction_json import wire_from_json
from chain.transactions import BadTransaction, sanitize
from gaps.life_cycle import open_gaps
from historical.blocks.services.stored_content import Unreadable, transactions_of
from historical.blocks.store import blocks as store
from historical.coverage.store import checking
from historical.errors import SealedDataDamaged
from historical.models import Gap
from historical.transactions.outcomes import err_of, outcome_of
from historical.transactions.positions import LedgerPosition
from historical.transactions.segments import MAX_POSITION, digest
from historical.transactions.services.address_places import oldest_first
from historical.transactions.services.recorded_transactions import recorded_at
from historical.transactions.store import transactions as transaction_store


class Fault(NamedTuple):
    """What of a slot is not as it should be, by a key of ingest/findings.py."""

    slot: int
    what: str
    detail: str = ""


def check_links(window: SlotRange) -> Iterator[Fault]:
    """What the blocks of the window say of each other and of their parents."""
    bounds = store.bounds()
    if bounds is None:
        return
    headers = checking.headers_between(*window)
    known = {header.slot: header for header in headers}
    outside = {header.parent_slot for header in headers} - known.keys()
    known.update(checking.headers_at(sorted(outside)))
    below = checking.slot_below(headers[0].slot) if headers else None
    for header in headers:
        slot, parent_slot = header.slot, header.parent_slot
        parent = known.get(parent_slot)
        if below is not None and parent_slot < below and slot != 0:
            yield Fault(below, "between_links", f"block {slot} follows {parent_slot}")
        if parent is not None and slot != 0:
            if parent.blockhash != header.previous_blockhash:
                found = f"{b58encode(header.previous_blockhash)}, block {parent_slot} is"
                yield Fault(slot, "wrong_link", f"{found} {b58encode(parent.blockhash)}")
        elif bounds[0] <= parent_slot < slot and not _in_gap(parent_slot):
            yield Fault(parent_slot, "parent_missing", f"block {slot} follows it")
        below = slot


def check_index(window: SlotRange) -> Iterator[Fault]:
    """Whether the index has each block's transactions, no more and no less."""
    counted = checking.indexed_counts(*window)
    for header in checking.headers_between(*window):
        number, highest = counted.pop(header.slot, (0, -1))
        if number != header.transaction_count or highest != number - 1:
            detail = f"{number} in the index, {header.transaction_count} in the block"
            yield Fault(header.slot, "index_count", detail)
    for slot, (number, _) in sorted(counted.items()):
        yield Fault(slot, "index_count", f"{number} in the index, and no block")


def check_transactions(slot: int, entries: Sequence[dict[str, Any]], count: int) -> Iterator[Fault]:
    """Whether the block's texts are as many as it says, all of them what was signed, each once, and
    the fee payers of some lead to them.
    """
    if len(entries) != count:
        yield Fault(slot, "unreadable", f"{len(entries)} texts, {count} in the block")
        return
    yield from _check_signatures(slot, entries)
    yield from _check_outcomes(slot, entries)
    for index in sorted({0, count // 2, count - 1} & set(range(count))):
        try:
            found = recorded_at(slot, index)
        except Exception as error:  # whatever a damaged text makes of its reader
            yield Fault(slot, "unreadable", f"transaction {index}: {type(error).__name__}")
            continue
        if found is None:
            continue  # reported by check_index
        payer = found.transaction.message.account_keys[0]
        if not _leads_to(bytes(payer), slot, index):
            yield Fault(slot, "address_index", f"transaction {index}, fee payer {payer}")


def _check_signatures(slot: int, entries: Sequence[dict[str, Any]]) -> Iterator[Fault]:
    """Of every transaction. One whose signature stands in the index where another transaction has
    it is a fault of the index: it holds the first signatures.
    """
    transactions = []
    for index, entry in enumerate(entries):
        try:
            wire = wire_from_json(entry["transaction"], entry["version"])
            sanitize(wire)
        except (BadTransaction, KeyError) as error:
            yield Fault(slot, "unreadable", f"transaction {index}: {error}"[:300])
            return
        transactions.append(TransactionRecord(wire, None))
    twice = {
        each.position: each
        for each in duplicates_among(transactions)
        # Of another content it is the index that has the signature twice.
        if transactions[each.position] == transactions[each.first]
    }
    for found in unsigned_among(transactions):
        if found.position in twice:
            continue
        detail = f"transaction {found.position}, {found.signature}"
        signature = transactions[found.position].signature
        elsewhere = transaction_store.other_place_of(signature, slot, found.position)
        if elsewhere is None:
            yield Fault(slot, found.defect.value, detail)
        else:
            also = f"which is also transaction {elsewhere[1]} of slot {elsewhere[0]}"
            yield Fault(slot, "wrong_index", f"{detail}, {also}")
    for found in twice.values():
        detail = f"transactions {found.first} and {found.position}, {found.signature}"
        yield Fault(slot, found.defect.value, detail)


def _check_outcomes(slot: int, entries: Sequence[dict[str, Any]]) -> Iterator[Fault]:
    """Whether the index has the outcomes that the texts have."""
    try:
        listed = transaction_store.listed([(slot, index) for index in range(len(entries))])
    except SealedDataDamaged as error:
        yield Fault(slot, "unreadable", str(error))
        return
    for row in listed:
        err = err_of(entries[row.position]["meta"])
        if row.err != err:
            names = [outcome_of(row.err), outcome_of(err)]
            detail = f"transaction {row.position}, {b58encode(row.signature)}"
            yield Fault(slot, "wrong_outcome", f"{detail}: {names[0]}, its meta says {names[1]}")


def read_transactions(slot: int) -> tuple[list[dict[str, Any]], Fault | None]:
    """The block's transactions, or why they cannot be read."""
    try:
        return transactions_of(slot), None
    except Unreadable as error:
        return [], Fault(slot, "unreadable", str(error))


def _leads_to(address: bytes, slot: int, index: int) -> bool:
    place = LedgerPosition(slot, index)
    below = LedgerPosition(slot, index + 1)
    above = LedgerPosition(slot, index - 1) if index else LedgerPosition(slot - 1, MAX_POSITION)
    return place in oldest_first(digest(address), above=above, below=below)


def _in_gap(slot: int) -> bool:
    return bool(open_gaps(Gap, SlotRange(slot, slot)))
