"""Loading accounts at a position, to run transactions on them."""

from collections.abc import Collection, Sequence, Set

from solders.account import Account
from solders.pubkey import Pubkey

from rewind.accounts.services import (
    absence,
    account_formatting,
    origins,
    seeding,
)
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store.prefetching import newest
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import State, newest_states
from rewind.accounts.store.walking import written_later_in_slot
from rewind.errors import FilteredAccountStale, StateNotRecorded, WritesIncomplete
from rewind.positions import END_OF_SLOT


def accounts_at(
    pubkeys: Collection[Pubkey],
    resolved: ResolvedPosition,
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
    states, unknown = states_at(list(keys), resolved, empty={bytes(each) for each in empty})
    checked = [
        key
        for key, pubkey in keys.items()
        if pubkey not in empty or (key in states and states[key].lamports)
    ]
    stale = absence.stale_among(checked, states, resolved)
    if not tolerate_gaps:
        _check_order(resolved, [key for key in checked if key not in stale])
        missing = [key for key in unknown if key not in stale]
        if missing:
            pubkeys = [keys[key] for key in missing]
            raise StateNotRecorded(resolved.position.slot, resolved.earliest, pubkeys)
    if stale:
        raise FilteredAccountStale([keys[key] for key in checked if key in stale])
    findings.note(checked, states, unknown, resolved)
    slot, order = resolved.position
    if tolerate_gaps and resolved.is_coarse and order < END_OF_SLOT:
        for key in written_later_in_slot(checked, resolved.position, resolved.layout):
            findings.coarse[key] = slot, slot
    return {pubkey: account_of(states.get(key)) for key, pubkey in keys.items()}


def recorded_accounts(
    pubkeys: Collection[Pubkey], resolved: ResolvedPosition, findings: Findings
) -> tuple[dict[Pubkey, Account | None], frozenset[Pubkey]]:
    """The same of accounts that the engine has itself where the archive has nothing to say: None
    for those. Beside them, which are no longer followed.
    """
    keys = {bytes(pubkey): pubkey for pubkey in pubkeys}
    states, unknown = states_at(list(keys), resolved)
    stale = absence.stale_among(keys, states, resolved)
    findings.note(keys, states, unknown, resolved)
    findings.filtered.update(dict.fromkeys(key for key in keys if key in stale))
    found = {pubkey: account_of(states.get(key)) for key, pubkey in keys.items()}
    return found, frozenset(keys[key] for key in stale)


def states_at(
    keys: Sequence[bytes], resolved: ResolvedPosition, *, empty: Set[bytes] = frozenset()
) -> tuple[dict[bytes, State], list[bytes]]:
    """The accounts' states, and the accounts for which neither the archive nor the ledger nor the
    node shows whether they existed. The `empty` ones are not looked up there.
    """
    states = newest(keys, resolved.position, resolved.layout, resolved.ahead)
    missing = [key for key in keys if key not in states and key not in empty]
    if not missing:
        return states, []
    unknown = origins.unknown_among(missing, resolved, states)
    if unknown and seeding.seed(unknown, resolved):
        layout = look_up_slot(resolved.slot).layout  # a row may have come in a partition of its own
        states.update(newest_states(unknown, resolved.position, layout))
        unknown = [key for key in unknown if key not in states]
    return states, unknown


def account_of(state: State | None) -> Account | None:
    """The account as the engine takes it; None where there is none."""
    if state is None or state.lamports == 0:
        return None
    kept = state.kept
    if kept is None:
        return account_formatting.account_of(state)
    if kept.account is None:
        kept.account = account_formatting.account_of(state)
    return kept.account


def _check_order(resolved: ResolvedPosition, keys: list[bytes]) -> None:
    """Of a coarse slot only an account's last write is known: before it, nothing is."""
    slot, order = resolved.position
    if not resolved.is_coarse or order >= END_OF_SLOT:
        return
    for key in written_later_in_slot(keys, resolved.position, resolved.layout):
        raise WritesIncomplete(slot, Pubkey(key))
