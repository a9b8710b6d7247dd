"""How often transactions name an address, and how fast slots pass, from the newest blocks."""

from itertools import islice
from typing import NamedTuple

from solders.pubkey import Pubkey

from historical.blocks.store import blocks as store
from historical.blocks.store.blocks import slots_and_seconds
from historical.transactions.positions import LedgerPosition
from historical.transactions.segments import MAX_POSITION, digest
from historical.transactions.services.address_places import newest_first
from shared_state import pace

_LOOKED_BACK = 20_000
_MOST_NAMED = 20_000
_DAY_SECONDS = 86_400


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
    """As the times of stored blocks say, over hours; else by the chain's pace of now."""
    found = slots_and_seconds(least=1, most=_LOOKED_BACK)
    if found is None or found[1] <= 0:
        return _DAY_SECONDS / pace.slot_seconds()
    return _DAY_SECONDS * found[0] / found[1]
