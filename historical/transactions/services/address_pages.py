"""getTransactionsForAddress: pages of an address's transactions, filtered, in either direction."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from solders.pubkey import Pubkey

from chain.commitment import BlockForm, TransactionEncoding
from chain.encodings import b58encode
from chain.units import I64_MAX
from eventloop.faces import complete
from historical.blocks.store import blocks as block_store
from historical.errors import BadPaginationToken
from historical.results import AddressSignature, AddressTransactions
from historical.transactions import filters
from historical.transactions.filters import Filters
from historical.transactions.positions import LOWEST, LedgerPosition
from historical.transactions.segments import MAX_POSITION, digest
from historical.transactions.services import whole_lists
from historical.transactions.services.address_places import newest_first, oldest_first
from historical.transactions.services.addresses import (
    MAX_LIMIT,
    batches,
    listed,
    listed_fields,
    require_limit,
)
from historical.transactions.services.transactions import entry
from historical.transactions.store import transactions as transaction_store
from historical.transactions.store.apart import ListedRow

MAX_FULL = 100
_SCAN_BATCH = 500
# A filter that nothing matches must not hold a request for ever: after so many transactions the
# page ends where the scan stands, and its token leads on.
_MAX_SCANNED = 20_000
_TOKEN = re.compile(r"^(\d{1,19}):(\d{1,8})(:partial)?$", re.ASCII)


class SortOrder(Enum):
    DESC = "desc"
    ASC = "asc"


@dataclass(frozen=True, slots=True)
class Page:
    """What a caller asked for."""

    order: SortOrder
    limit: int
    token: str | None
    filters: Filters


def transactions_for_address(
    address: Pubkey, page: Page, headers: dict[str, str], *, strict: bool
) -> AddressTransactions:
    """A page of signatures; raises LimitInvalid, BadPaginationToken. Slots of its range that the
    ledger does not have are named in the headers; where `strict` they raise RangeHasGaps.
    """
    require_limit(page.limit, MAX_LIMIT)
    rows, token = _whole(address, page, headers, strict=strict)
    return AddressTransactions(
        data=[AddressSignature(**listed_fields(row)) for row in rows],
        pagination_token=token,
    )


def full_transactions_for_address(
    address: Pubkey,
    page: Page,
    headers: dict[str, str],
    *,
    strict: bool,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> AddressTransactions:
    """A page of whole transactions; raises UnsupportedTransactionVersion too."""
    require_limit(page.limit, MAX_FULL)
    rows, token = _whole(address, page, headers, strict=strict)
    places = [(row.slot, row.position) for row in rows]
    found = transaction_store.transactions_at(places) if places else []
    return AddressTransactions(
        data=[
            entry(row, encoding=encoding, max_version=max_version, wanted=wanted) for row in found
        ],
        pagination_token=token,
    )


_Rows = tuple[list[ListedRow], str | None]


def _whole(address: Pubkey, page: Page, headers: dict[str, str], *, strict: bool) -> _Rows:
    async def read(highest: int) -> whole_lists.Page[_Rows]:
        rows, token = _page(address, page, highest)
        first, last = _slots_of_holes(page.filters)
        # The page lies between its own token's place and the next one's.
        lower, upper = _slot_of(page.token), _slot_of(token)
        if page.order is SortOrder.DESC:
            lower, upper = upper, lower
        if lower is not None:
            first = max(first, lower)
        if upper is not None:
            last = upper if last is None else min(last, upper)
        return whole_lists.Page((rows, token), first, highest if last is None else last)

    return complete(whole_lists.whole_list(read, headers, strict=strict))


def _slot_of(token: str | None) -> int | None:
    return None if token is None else int(token.partition(":")[0])


def _page(address: Pubkey, page: Page, highest: int) -> _Rows:
    """The rows of the page up to a slot, and the token that leads on when there is more."""
    found: list[ListedRow] = []
    scanned = 0
    size = _SCAN_BATCH if _reads_rows(page.filters) else page.limit + 1
    for batch in batches(_places(address, page, highest), size):
        for row in listed(batch):
            scanned += 1
            if not _matches(page.filters, row):
                continue
            if len(found) == page.limit:
                return found, f"{found[-1].slot}:{found[-1].position}"
            found.append(row)
        if scanned >= _MAX_SCANNED:
            return found, f"{batch[-1].slot}:{batch[-1].position}:partial"
    return found, None


def _reads_rows(wanted: Filters) -> bool:
    """Do the filters look at the rows, so that more of them may be read than the page holds?"""
    return any((wanted.status, wanted.signature, wanted.block_time))


def _places(address: Pubkey, page: Page, highest: int) -> Iterator[LedgerPosition]:
    low, high = _slots(page.filters)
    above = LedgerPosition(min(low, I64_MAX) - 1, MAX_POSITION) if low else LOWEST
    below = LedgerPosition((highest if high is None else min(high, highest)) + 1, 0)
    token = _token_place(page)
    key = digest(bytes(address))
    if page.order is SortOrder.DESC:
        below = below if token is None else min(below, token)
        return newest_first(key, below=below, above=above)
    above = above if token is None else max(above, token)
    return oldest_first(key, above=above, below=below)


def _slots(wanted: Filters) -> tuple[int, int | None]:
    low, high = filters.slot_range(wanted.slot)
    if wanted.block_time is not None:
        first, last = block_store.slots_in_time(*filters.time_range(wanted.block_time))
        low = max(low, first)
        high = last if high is None else min(high, last)
    return low, high


def _slots_of_holes(wanted: Filters) -> tuple[int, int | None]:
    """Where missing blocks can match: of a time also those next to the blocks of that time."""
    low, high = filters.slot_range(wanted.slot)
    if wanted.block_time is not None:
        first, last = block_store.slots_beside_time(*filters.time_range(wanted.block_time))
        low = low if first is None else max(low, first + 1)
        high = high if last is None else last - 1 if high is None else min(high, last - 1)
    return low, high


def _token_place(page: Page) -> LedgerPosition | None:
    """The place a token names. It was the last entry of a page, so an entry that the filters
    exclude shows that they are not the ones of that page.
    """
    if page.token is None:
        return None
    match = _TOKEN.match(page.token)
    if match is None:
        raise BadPaginationToken("expected `slot:position` as the previous answer gave it")
    place = LedgerPosition(int(match[1]), int(match[2]))
    is_possible = place.slot <= I64_MAX and place.position <= MAX_POSITION
    if match[3] and is_possible:
        return place
    rows = listed([place]) if is_possible else []
    if not rows:
        raise BadPaginationToken("it names no transaction of the ledger")
    low, high = filters.slot_range(page.filters.slot)
    if not low <= place.slot <= (place.slot if high is None else high):
        raise BadPaginationToken("it belongs to other filters")
    if not _matches(page.filters, rows[0]):
        raise BadPaginationToken("it belongs to other filters")
    return place


def _matches(wanted: Filters, row: ListedRow) -> bool:
    return (
        filters.status_matches(wanted.status, row.err)
        and filters.time_matches(wanted.block_time, row.block_time)
        and (
            wanted.signature is None
            or filters.signature_matches(wanted.signature, b58encode(row.signature))
        )
    )
