"""The transactions that an address occurs in."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58encode
from columns.clusters import is_clustered
from eventloop.faces import complete, in_thread
from historical.errors import FilterTransactionNotFound, LimitInvalid
from historical.transactions.outcomes import UNKNOWN
from historical.transactions.positions import LOWEST, Following, LedgerPosition
from historical.transactions.segments import digest
from historical.transactions.services.address_places import anewest_first
from historical.transactions.services.whole_lists import Page
from historical.transactions.store import transactions as transaction_store
from historical.transactions.store.apart import ListedRow
from jsonrpc.wire import Encoded

MAX_LIMIT = 1000
_UNKNOWN = ',"outcome":"unknown"'
# Entries that are listed on the loop.
_MOST_ON_LOOP = 128


async def signatures_for_address(
    address: Pubkey,
    highest: int,
    *,
    limit: int,
    before: Signature | None,
    until: Signature | None,
) -> Page[Encoded]:
    """A list of AddressSignature, newest first, strictly between the two transactions and up to the
    highest slot; raises LimitInvalid, FilterTransactionNotFound and SealedDataDamaged.
    """
    require_limit(limit, MAX_LIMIT)
    if is_clustered():
        return await in_thread(complete, _signatures(address, highest, limit, before, until))
    return await _signatures(address, highest, limit, before, until)


async def _signatures(
    address: Pubkey, highest: int, limit: int, before: Signature | None, until: Signature | None
) -> Page[Encoded]:
    below = LedgerPosition(highest + 1, 0)
    if before is not None:
        below = min(below, await _place("before", before))
    above = LOWEST if until is None else await _place("until", until)
    walk = partial(anewest_first, digest(bytes(address)), above=above)
    following = walk(below=below, enough=limit)
    places: list[LedgerPosition] = []
    while len(places) < limit and (found := await following()) is not None:
        places += found[: limit - len(places)]
        if len(places) > _MOST_ON_LOOP:
            break
    listing = _listing(places, following, limit, walk, is_first=before is None)
    listed = await (in_thread(complete, listing) if len(places) > _MOST_ON_LOOP else listing)
    # A full list ends its range: what is older is on the next page.
    first = places[-1].slot if len(places) == limit else max(above.slot, 0)
    return Page(listed, first, below.slot)


async def _listing(
    places: list[LedgerPosition],
    following: Following,
    limit: int,
    walk: Callable[..., Following],
    *,
    is_first: bool,
) -> Encoded:
    """The list of the places, and of those that follow up to the limit. A full one does not end
    with a signature that is stored above, too, where `before` would begin again. Of the first page
    all that is above is in it.
    """
    while True:
        while len(places) < limit and (found := await following()) is not None:
            places += found[: limit - len(places)]
        if not places:
            return Encoded(b"[]")
        columns = await transaction_store.listed_columns(places)
        if len(columns.signatures) < limit:
            break
        *others, last = columns.signatures
        if is_first and last not in others:
            break
        if places[-1] == await transaction_store.aplace_of(last):
            break
        following = walk(below=places.pop(), enough=1)
    # Written here: a struct and its members for each takes three times as long.
    entries = [
        f'{{"signature":"{Signature(signature)!s}","slot":{slot},"err":{err or "null"},'
        f'"memo":{memo},"blockTime":{time},"confirmationStatus":"finalized",'
        f'"transactionIndex":{index}{_UNKNOWN if err == UNKNOWN else ""}}}'
        for slot, index, signature, err, memo, time in zip(*columns, strict=True)
    ]
    return Encoded(f"[{','.join(entries)}]".encode())


def require_limit(found: int, maximum: int) -> None:
    """Raises LimitInvalid outside 1..maximum."""
    if not 1 <= found <= maximum:
        raise LimitInvalid(found, maximum)


def listed(places: list[LedgerPosition]) -> list[ListedRow]:
    return (
        transaction_store.listed([(place.slot, place.position) for place in places])
        if places
        else []
    )


def listed_fields(row: ListedRow) -> dict[str, Any]:
    """The members that every list of transactions shows."""
    return {
        "signature": b58encode(row.signature),
        "slot": row.slot,
        "err": _raw(row.err),
        "memo": _raw(row.memo),
        "block_time": row.block_time,
        "transaction_index": row.position,
        "outcome": "unknown" if row.err == UNKNOWN else UNSET,
    }


def _raw(json: str | None) -> msgspec.Raw:
    return msgspec.Raw(b"null" if json is None else json.encode())


async def _place(name: str, signature: Signature) -> LedgerPosition:
    found = await transaction_store.aplace_of(bytes(signature))
    if found is None:
        raise FilterTransactionNotFound(name, str(signature))
    return LedgerPosition(*found)


def batches(places: Iterator[LedgerPosition], size: int) -> Iterator[list[LedgerPosition]]:
    """The places in lists of a size, the last one shorter."""
    while batch := list(islice(places, size)):
        yield batch
