"""Why an account has no state, and which of the stored states may be outdated."""

import enum
from collections.abc import Collection, Mapping

from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import absence as store
from rewind.accounts.store.states import State
from rewind.accounts.store.walking import newest_row
from rewind.models import AccountChange
from rewind.positions import CARRIED, Position


class Absence(enum.StrEnum):
    """Why there is no account. `before_first_record` means that no archived write names it; whether
    it may have existed all the same is returned separately.
    """

    CLOSED = "closed"
    NEVER_EXISTED = "never_existed"
    BEFORE_FIRST_RECORD = "before_first_record"
    FILTERED = "filtered"


def absences(
    pubkeys: Collection[bytes],
    states: Mapping[bytes, State],
    resolved: ResolvedPosition,
    facts: store.AbsenceFacts | None = None,
) -> tuple[dict[bytes, Absence], list[bytes]]:
    """The reason for each of the pubkeys that has no living state among those that
    store.states found at the position; the others are left out. Beside it, those that may
    have been there all the same. `facts` are from who read it with the states.
    """
    absent = _without_account(pubkeys, states)
    if not absent:
        return {}, []
    stale = stale_among(absent, states, resolved, facts)
    found = dict.fromkeys(stale, Absence.FILTERED)
    rest = [pubkey for pubkey in absent if pubkey not in stale]
    found.update((pubkey, Absence.CLOSED) for pubkey in rest if _was_closed(states.get(pubkey)))
    unread = [pubkey for pubkey in rest if pubkey not in found]
    if not unread:
        return found, []
    whole = _wholeness(resolved, facts)
    reason = Absence.NEVER_EXISTED if whole.from_genesis else Absence.BEFORE_FIRST_RECORD
    # Where a base says that the account was gone, it may have lived before.
    found.update(
        (pubkey, Absence.BEFORE_FIRST_RECORD if pubkey in states else reason) for pubkey in unread
    )
    if whole.of_the_living:
        return found, []
    return found, [pubkey for pubkey in unread if pubkey not in states]


def known_absent(
    pubkeys: Collection[bytes], states: Mapping[bytes, State], resolved: ResolvedPosition
) -> set[bytes]:
    """Those of the pubkeys that surely were no accounts at the position: closed, or without a row
    where every living account has one. Of others that have no living state nothing is known.
    """
    absent = _without_account(pubkeys, states)
    stale = stale_among(absent, states, resolved)
    found = {pubkey for pubkey in absent if pubkey in states and pubkey not in stale}
    rest = [pubkey for pubkey in absent if pubkey not in states and pubkey not in stale]
    if rest and _wholeness(resolved).of_the_living:
        found.update(rest)
    return found


def _wholeness(
    resolved: ResolvedPosition, facts: store.AbsenceFacts | None = None
) -> store.Wholeness:
    """As of the position's lookup: rows that filled a gap after it were perhaps not read."""
    whole = store.wholeness(resolved.position) if facts is None else facts.whole
    gap = resolved.gap
    if gap is None or (whole.known_at is not None and whole.known_at >= gap.to_slot):
        return whole
    return whole._replace(from_genesis=False, of_the_living=False)


def stale_among(
    pubkeys: Collection[bytes],
    states: Mapping[bytes, State],
    resolved: ResolvedPosition,
    facts: store.AbsenceFacts | None = None,
) -> set[bytes]:
    """Those of the pubkeys that may have been written after the state that is known, because a
    filter drops or dropped their writes.
    """
    slot = resolved.position.slot
    found = {pubkey for pubkey in pubkeys if pubkey in states and states[pubkey].is_stale_at(slot)}
    without_a_row = [pubkey for pubkey in pubkeys if pubkey not in states]
    if without_a_row and facts is not None:
        found |= facts.filtered.intersection(without_a_row)
    elif without_a_row:
        found |= store.filtered_among(without_a_row, slot)
    return found


def misses_writes(pubkey: bytes, from_slot: int, to_slot: int, *, layout: int) -> bool:
    """Whether a filter drops the account's writes, or dropped one in these slots, or one below them
    so late that the state which the first of these slots' writes changed is not known.
    """
    filters = store.filters_of(pubkey)
    if filters.is_filtered:
        return True
    if filters.filtered_owners:
        newest = newest_row(pubkey, Position(to_slot + 1, CARRIED), layout)
        if newest is not None and newest.lamports and newest.owner in filters.filtered_owners:
            return True
    if filters.first_dropped is None or filters.first_dropped > to_slot:
        return False
    found = newest_row(pubkey, Position.start_of(from_slot), layout)
    return found is None or filters.last_dropped > found.known_to


def _without_account(pubkeys: Collection[bytes], states: Mapping[bytes, State]) -> list[bytes]:
    return [
        pubkey
        for pubkey in dict.fromkeys(pubkeys)
        if pubkey not in states or states[pubkey].lamports == 0
    ]


def _was_closed(state: State | None) -> bool:
    return state is not None and state.kind == AccountChange.Kind.WRITE
