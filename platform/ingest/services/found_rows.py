"""What the ledger knows of submissions that are in it."""

from collections.abc import Sequence

from historical.transactions.outcomes import UNKNOWN
from historical.transactions.store import transactions
from priority.fates.store.settling import FoundRow


def found_in_ledger(signatures: Sequence[bytes]) -> tuple[set[bytes], list[FoundRow]]:
    """Those that the ledger has, and what became of them, but for those of unknown outcome."""
    places = transactions.places(signatures)
    known = [FoundRow(each, *place) for each, place in places.items() if place.err != UNKNOWN]
    return set(places), known
