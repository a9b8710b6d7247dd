"""Accounts without a record: whether they existed, by the ledger."""

from collections.abc import Mapping, Sequence

from solders.pubkey import Pubkey

from historical.transactions.services import recorded_transactions
from rewind.accounts.services import absence
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import absence as absence_store
from rewind.accounts.store import replaying as store
from rewind.accounts.store.states import State
from rewind.positions import END_OF_SLOT, Position
from rewind.replay.services import comparing


def unknown_among(
    missing: Sequence[bytes], resolved: ResolvedPosition, states: Mapping[bytes, State]
) -> list[bytes]:
    """Those of the accounts without a state that may have been there all the same."""
    known = absence.known_absent(missing, states, resolved)
    rest = [key for key in missing if key not in known]
    if not rest:
        return []
    known = _made_later(rest, resolved)
    return [key for key in rest if key not in known]


def _made_later(keys: Sequence[bytes], resolved: ResolvedPosition) -> set[bytes]:
    """Those whose next write found nothing there, as the ledger says. Nothing may lack
    in between, or that write may not be the next.
    """
    position = resolved.position
    gap = store.first_gap_from(position.slot)
    last = resolved.latest if gap is None else gap - 1
    later = [
        each
        for each in store.next_writes(keys, position, last)
        if each.is_fine and 0 <= each.position < END_OF_SLOT
    ]
    if not later:
        return set()
    furthest = max(each.slot for each in later)
    dropped = absence_store.filtered_among([each.pubkey for each in later], furthest)
    return {
        each.pubkey
        for each in later
        if each.pubkey not in dropped
        and _was_empty_before(each.pubkey, Position(each.slot, each.position))
    }


def _was_empty_before(key: bytes, place: Position) -> bool:
    transaction = recorded_transactions.recorded_at(*place)
    if transaction is None or transaction.meta is None:
        return False
    empty = comparing.empty_before(transaction.transaction, transaction.meta)
    return Pubkey(key) in set(empty)
