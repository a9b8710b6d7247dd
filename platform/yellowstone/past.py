"""What ledger and archive hold of a range of slots, as content. For threads."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from chain.accounts import AccountWrite
from historical.blocks.store import blocks as ledger
from historical.transactions.store.transactions import signatures_of
from livefeed.messages import Level
from rewind.accounts.services.owned_between import OwnedSlots, OwnedWrite, owned_between
from rewind.accounts.services.written_between import Written, written_between
from rewind.errors import ArchiveDamaged
from rewind.recording.store import slots as archive
from subscriptions import stored_blocks
from upstream.geyser.cuckoo import HashedKeys
from upstream.geyser.messages import block_meta, transaction_info
from upstream.geyser.request_filters import Filters
from upstream.geyser.sent_messages import AccountMessage, TransactionMessage
from yellowstone.content import Content
from yellowstone.matching import WrittenAccounts, accounts_of, level_of

# Slots that are read at once: whole blocks are some megabytes each.
_WINDOW_SLOTS = 100
_WINDOW_BLOCKS = 8
# A page ends behind so many accounts of owners, or bytes of their data.
_MOST_WRITES = 2_000
_MOST_BYTES = 16 << 20


@dataclass(slots=True)
class Page:
    """The content of a range's slots up to `last`, ascending, each at every level. `gap` are slots
    (first, last) above `last` that are not stored and are not waited for.
    """

    last: int
    contents: list[Content] = field(default_factory=list)
    gap: tuple[int, int] | None = None


# By slot, by account.
Writes = dict[int, dict[bytes, Written]]


def bounds_of(filters: Filters) -> tuple[int, int] | None:
    """The lowest and the highest slot with everything that is wanted; None for nothing."""
    found = ledger.bounds()
    if found is None or not accounts_of(filters):
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
    missing ends the page, and the whole range is missing where something of it is damaged. Raises
    Unreadable.
    """
    try:
        return _read(filters, first, last, waits=waits)
    except ArchiveDamaged:
        return Page(first - 1, gap=(first, last))


def _read(filters: Filters, first: int, last: int, *, waits: bool) -> Page:
    page = Page(last)
    before = first - 1
    stored: list[tuple[int, int]] = []
    wanted = accounts_of(filters)
    archived = set(archive.archived_between(first, last)) if wanted else None
    for slot, parent in ledger.links_between(first, last, and_next=True):
        is_there = archived is None or slot in archived or slot > last
        if before < parent < slot or not is_there:  # slot 0 is its own parent
            page.last = before
            if not waits:
                # All slots that are missing here at once: each gap is waited for.
                above = slot if is_there else archive.neighbours([slot])[slot].above or slot + 1
                page.gap = (before + 1, above - 1)
            break
        if slot > last:
            break
        stored.append((slot, parent))
        before = slot
    else:
        page.last = before  # what comes above it is not known yet
    if not stored:
        return page
    writes: Writes = {}
    if wanted.are_found_by_owner:
        owned = owned_between(wanted.listed_owners, first, stored[-1][0], most=_MOST_WRITES)
        _read_owned(writes, wanted, owned)
        stored = _listed(page, stored, owned)
    if stored:
        _add_writes(writes, wanted, first, stored[-1][0])
    for slot, parent in stored:
        page.contents += _contents(filters, slot, parent, writes.get(slot, {}))
    return page


def _read_owned(writes: Writes, wanted: WrittenAccounts, owned: OwnedSlots) -> None:
    """With their data, so many as one page may hold."""
    size = 0
    for slot in sorted(owned.slots):
        listed = _wanted_of(owned.slots[slot], wanted)
        writes[slot] = found = {each.pubkey: each.written() for each in listed}
        size += sum(len(each.data) for each in found.values())
        if size > _MOST_BYTES:
            owned.last = slot
            return


def _wanted_of(listed: list[OwnedWrite], wanted: WrittenAccounts) -> list[OwnedWrite]:
    if wanted.owners is None or not wanted.within:
        return listed
    keys = {*wanted.keys}
    for each in wanted.within:
        keys.update(each.among(HashedKeys((write.pubkey for write in listed), each.seed)))
    return [write for write in listed if write.pubkey in keys or write.owner in wanted.owners]


def _listed(page: Page, stored: list[tuple[int, int]], owned: OwnedSlots) -> list[tuple[int, int]]:
    """The slots that were read for owners: the page ends above them. Of one that was recorded
    before lists of its accounts were kept nothing is known.
    """
    if owned.last < stored[-1][0]:
        page.last, page.gap = owned.last, None
    for number, (slot, _) in enumerate(stored):
        if slot > page.last:
            return stored[:number]
        if slot not in owned.listed:
            run = takewhile(lambda slot: slot not in owned.listed, (s for s, _ in stored[number:]))
            page.last, page.gap = slot - 1, (slot, min(max(run), page.last))
            return stored[:number]
    return stored


def _contents(
    filters: Filters, slot: int, parent: int, writes: dict[bytes, Written]
) -> Iterator[Content]:
    wanted = level_of(filters)
    for level in Level:
        content = Content(slot, parent, level)
        if level is wanted:
            _fill(content, filters, writes)
        yield content


def _fill(content: Content, filters: Filters, writes: dict[bytes, Written]) -> None:
    slot = content.slot
    if writes:
        signatures = signatures_of(slot)
        content.accounts = [
            AccountMessage(slot, _account(key, each, signatures))
            for key, each in sorted(writes.items(), key=lambda item: (item[1].order, item[0]))
        ]
        content.account_count = len(writes)
    if not (filters.blocks or filters.blocks_meta or _wants_transactions(filters)):
        return
    row = stored_blocks.row_of(slot)
    content.meta = block_meta(stored_blocks.header_of(row), entry_count=0)
    content.meta.executed_transaction_count = row.transaction_count
    if _wants_transactions(filters):
        content.transactions = [
            TransactionMessage(slot, _transaction(slot, index, entry))
            for index, entry in enumerate(stored_blocks.entries_of(row))
        ]


def _transaction(slot: int, index: int, entry: dict[str, Any]) -> Any:
    return transaction_info(index, stored_blocks.record_of(slot, index, entry))


def _add_writes(writes: Writes, wanted: WrittenAccounts, first: int, last: int) -> None:
    """The accounts that are wanted by their keys."""
    for key in wanted.keys if wanted.listed_owners is not None else ():
        for each in written_between(key, first, last):
            writes.setdefault(each.slot, {})[key] = each


def _account(pubkey: bytes, written: Written, signatures: list[bytes]) -> AccountWrite:
    place = written.place
    signature = signatures[place] if place is not None and place < len(signatures) else None
    return AccountWrite(
        pubkey,
        written.lamports,
        written.owner,
        written.data,
        written.executable,
        written.rent_epoch,
        0,
        signature,
    )


def _wants_transactions(filters: Filters) -> bool:
    return bool(
        filters.transactions
        or filters.statuses
        or any(each.transactions for _, each in filters.blocks)
    )
