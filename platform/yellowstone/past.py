"""What ledger and archive hold of a range of slots, as content. For threads."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58encode
from chain.transaction_json import wire_from_json
from chain.transactions import BadTransaction
from chain.units import Slot, UnixTimestamp
from historical.services.stored_content import Unreadable, transactions_of
from historical.store import blocks as ledger
from historical.store.transactions import signatures_of
from livefeed.messages import Level
from rewind.services import slots as archive
from rewind.services.written_between import Written, written_between
from upstream.geyser.messages import block_meta, transaction_info
from upstream.geyser.request_filters import Filters
from upstream.protobuf import geyser_pb2 as schema
from yellowstone.content import AccountMessage, Content, TransactionMessage
from yellowstone.matching import keys_of, level_of

# Slots that are read at once: whole blocks are some megabytes each.
_WINDOW_SLOTS = 100
_WINDOW_BLOCKS = 8
_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Page:
    """The content of a range's slots up to `last`, ascending, each at every level. `gap` are slots
    (first, last) above `last` that are not stored and are not waited for.
    """

    last: int
    contents: list[Content] = field(default_factory=list)
    gap: tuple[int, int] | None = None


def bounds_of(filters: Filters) -> tuple[int, int] | None:
    """The lowest and the highest slot of which all that is wanted is stored; None for nothing."""
    found = ledger.bounds()
    if found is None or not keys_of(filters):
        return found
    archived = archive.bounds()
    if archived is None:
        return None
    return max(found[0], archived[0]), min(found[1], archived[1])


def first_stored() -> int | None:
    """The lowest slot that the ledger has."""
    found = ledger.bounds()
    return None if found is None else found[0]


def window_of(filters: Filters) -> int:
    """How many slots should be read at once."""
    return _WINDOW_BLOCKS if _wants_transactions(filters) else _WINDOW_SLOTS


def read(filters: Filters, first: int, last: int, *, waits: bool) -> Page:
    """The range's slots, both ends inclusive; all below `last` should be stored. A slot that is
    missing ends the page. Raises Unreadable.
    """
    page = Page(last)
    before = first - 1
    stored: list[tuple[int, int]] = []
    keys = keys_of(filters) or set()
    archived = set(archive.archived_between(first, last)) if keys else None
    for slot, parent in ledger.links_between(first, last, and_next=True):
        is_there = archived is None or slot in archived or slot > last
        if parent > before or not is_there:
            page.last = before
            if not waits:
                page.gap = (before + 1, slot - 1 if is_there else slot)
            break
        if slot > last:
            break
        stored.append((slot, parent))
        before = slot
    else:
        page.last = before  # what comes above it is not known yet
    writes = _writes(keys, first, stored[-1][0]) if stored else {}
    for slot, parent in stored:
        page.contents += _contents(filters, slot, parent, writes.get(slot, []))
    return page


def _contents(
    filters: Filters, slot: int, parent: int, writes: list[tuple[bytes, Written]]
) -> Iterator[Content]:
    wanted = level_of(filters)
    for level in Level:
        content = Content(slot, parent, level)
        if level is wanted:
            _fill(content, filters, writes)
        yield content


def _fill(content: Content, filters: Filters, writes: list[tuple[bytes, Written]]) -> None:
    slot = content.slot
    if writes:
        signatures = signatures_of(slot)
        content.accounts = [
            AccountMessage(slot, _account(key, each, signatures)) for key, each in writes
        ]
        content.account_count = len(writes)
    if not (filters.blocks or filters.blocks_meta or _wants_transactions(filters)):
        return
    row = ledger.block_now(slot)
    if row is None:
        raise Unreadable(f"slot {slot} was taken out meanwhile")
    record = SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(row.parent_slot),
        blockhash=b58encode(row.blockhash),
        previous_blockhash=b58encode(row.previous_blockhash),
        block_time=None if row.block_time is None else UnixTimestamp(row.block_time),
        block_height=row.block_height,
        transactions=[],
        rewards=None if row.rewards is None else _decode(row.rewards),
        reward_partitions=row.reward_partitions,
    )
    content.meta = block_meta(record, entry_count=0)
    content.meta.executed_transaction_count = row.transaction_count
    if _wants_transactions(filters):
        entries = transactions_of(slot)
        if len(entries) != row.transaction_count:
            raise Unreadable(f"slot {slot} has {len(entries)} readable transactions")
        content.transactions = [
            TransactionMessage(slot, _transaction(slot, index, entry))
            for index, entry in enumerate(entries)
        ]


def _transaction(slot: int, index: int, entry: dict[str, Any]) -> Any:
    version = entry.get("version", "legacy")
    try:
        wire = wire_from_json(entry["transaction"], version)
    except BadTransaction as error:
        raise Unreadable(f"slot {slot}, transaction {index}: {error}") from None
    return transaction_info(index, TransactionRecord(wire, entry.get("meta")))


def _writes(keys: set[bytes], first: int, last: int) -> dict[int, list[tuple[bytes, Written]]]:
    """By slot, in the order of the transactions that wrote."""
    found: dict[int, list[tuple[bytes, Written]]] = defaultdict(list)
    for key in keys:
        for each in written_between(key, first, last):
            found[each.slot].append((key, each))
    for writes in found.values():
        writes.sort(key=lambda each: (each[1].place is None, each[1].place or 0))
    return found


def _account(pubkey: bytes, written: Written, signatures: list[bytes]) -> Any:
    place = written.place
    signature = signatures[place] if place is not None and place < len(signatures) else None
    return schema.SubscribeUpdateAccountInfo(
        pubkey=pubkey,
        lamports=written.lamports,
        owner=written.owner,
        executable=written.executable,
        rent_epoch=written.rent_epoch,
        data=written.data,
        txn_signature=signature,
    )


def _wants_transactions(filters: Filters) -> bool:
    return bool(
        filters.transactions
        or filters.statuses
        or any(each.transactions for _, each in filters.blocks)
    )
