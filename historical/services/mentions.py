"""How often transactions name an address, and how fast slots pass, from the newest blocks."""

from itertools import islice
from typing import NamedTuple

from solders.pubkey import Pubkey

from historical.ledger_positions import LedgerPosition
from historical.segments import MAX_POSITION, digest
from historical.services.address_places import newest_first
from historical.store import blocks as store

# Without two blocks with a block time: a slot of 400 ms.
SLOTS_PER_DAY = 216_000.0
_LOOKED_BACK = 20_000
_MOST_NAMED = 20_000


class Mentions(NamedTuple):
    """Transactions that name an address in so many slots."""

    transactions: int
    slots: int


def mentions_of(address: Pubkey) -> Mentions | None:
    """In the newest slots; None where the ledger is empty."""
    bounds = store.bounds()
    if bounds is None:
        return None
    lowest = max(bounds[0], bounds[1] - _LOOKED_BACK + 1)
    below, above = LedgerPosition(bounds[1] + 1, 0), LedgerPosition(lowest - 1, MAX_POSITION)
    places = newest_first(digest(bytes(address)), below=below, above=above)
    named = list(islice(places, _MOST_NAMED))
    if len(named) == _MOST_NAMED:  # there are more below: what was read reaches down to here
        lowest = named[-1].slot
    return Mentions(len(named), bounds[1] - lowest + 1)


def slots_per_day() -> float:
    """As the times of two stored blocks say."""
    bounds = store.bounds()
    if bounds is None:
        return SLOTS_PER_DAY
    below = store.slots_between(max(bounds[0], bounds[1] - _LOOKED_BACK), bounds[1], 1)
    first, last = store.block(below[0]), store.block(bounds[1])
    if first is None or last is None or first.block_time is None or last.block_time is None:
        return SLOTS_PER_DAY
    seconds = last.block_time - first.block_time
    if seconds <= 0:
        return SLOTS_PER_DAY
    return 86_400 * (last.slot - first.slot) / seconds
