"""Accounts at a position, for who runs transactions on them."""

from collections.abc import Collection, Sequence, Set

from solders.account import Account
from solders.pubkey import Pubkey

from rewind.errors import FilteredAccountStale, StateNotRecorded, WritesIncomplete
from rewind.positions import END_OF_SLOT
from rewind.services import absence, origins, seeding, shapes
from rewind.services.completeness import Findings
from rewind.services.placing import Placed
from rewind.store.ahead import newest
from rewind.store.placing import ground
from rewind.store.states import State, newest_states
from rewind.store.walking import written_later_in_slot


def accounts_at(
    pubkeys: Collection[Pubkey],
    placed: Placed,
    *,
    tolerate_gaps: bool = False,
    empty: Set[Pubkey] = frozenset(),
    findings: Findings,
) -> dict[Pubkey, Account | None]:
    """Every account of the pubkeys, None for those that were not there. Raises, in this order,
    WritesIncomplete and StateNotRecorded (which `tolerate_gaps` lifts) and FilteredAccountStale.
    What is not known of them goes to the findings.

    Of the `empty` ones it is known that they were not there: they need no record, but if the
    archive has one, that stands.
    """
    keys = {bytes(pubkey): pubkey for pubkey in pubkeys}
    states, unknown = states_at(list(keys), placed, empty={bytes(each) for each in empty})
    checked = [
        key
        for key, pubkey in keys.items()
        if pubkey not in empty or (key in states and states[key].lamports)
    ]
    stale = absence.stale_among(checked, states, placed)
    if not tolerate_gaps:
        _check_order(placed, [key for key in checked if key not in stale])
        lacking = [key for key in unknown if key not in stale]
        if lacking:
            told = [keys[key] for key in lacking]
            raise StateNotRecorded(placed.position.slot, placed.earliest, told)
    if stale:
        raise FilteredAccountStale([keys[key] for key in checked if key in stale])
    findings.note(checked, states, unknown, placed)
    slot, order = placed.position
    if tolerate_gaps and placed.is_coarse and order < END_OF_SLOT:
        for key in written_later_in_slot(checked, placed.position, placed.layout):
            findings.coarse[key] = slot, slot
    return {pubkey: account_of(states.get(key)) for key, pubkey in keys.items()}


def recorded_accounts(
    pubkeys: Collection[Pubkey], placed: Placed, findings: Findings
) -> tuple[dict[Pubkey, Account | None], frozenset[Pubkey]]:
    """The same of accounts that the engine has itself where the archive has nothing to say: None
    for those. Beside them, which are no longer followed.
    """
    keys = {bytes(pubkey): pubkey for pubkey in pubkeys}
    states, unknown = states_at(list(keys), placed)
    stale = absence.stale_among(keys, states, placed)
    findings.note(keys, states, unknown, placed)
    findings.filtered.update(dict.fromkeys(key for key in keys if key in stale))
    found = {pubkey: account_of(states.get(key)) for key, pubkey in keys.items()}
    return found, frozenset(keys[key] for key in stale)


def states_at(
    keys: Sequence[bytes], placed: Placed, *, empty: Set[bytes] = frozenset()
) -> tuple[dict[bytes, State], list[bytes]]:
    """The accounts' states, and those of the accounts of which nobody can tell whether they were
    there: neither the archive nor the ledger nor the node. Of the `empty` ones nobody is asked.
    """
    states = newest(keys, placed.position, placed.layout, placed.ahead)
    lacking = [key for key in keys if key not in states and key not in empty]
    if not lacking:
        return states, []
    unknown = origins.unknown_among(lacking, placed, states)
    if unknown and seeding.seed(unknown, placed):
        layout = ground(placed.slot).layout  # a row may have come in a partition of its own
        states.update(newest_states(unknown, placed.position, layout))
        unknown = [key for key in unknown if key not in states]
    return states, unknown


def account_of(state: State | None) -> Account | None:
    """The account as the engine takes it; None where there is none."""
    if state is None or state.lamports == 0:
        return None
    kept = state.kept
    if kept is None:
        return shapes.account_of(state)
    if kept.account is None:
        kept.account = shapes.account_of(state)
    return kept.account


def _check_order(placed: Placed, keys: list[bytes]) -> None:
    """Of a coarse slot only an account's last write is known: before it, nothing is."""
    slot, order = placed.position
    if not placed.is_coarse or order >= END_OF_SLOT:
        return
    for key in written_later_in_slot(keys, placed.position, placed.layout):
        raise WritesIncomplete(slot, Pubkey(key))
