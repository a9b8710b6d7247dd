"""An account's state with its completeness: one statement, one round trip.

Each answer shows whether it is complete. What is remembered of accounts and positions only chooses
the query that is likely to find the row.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from psycopg.errors import UndefinedTable

from columns.clusters import is_clustered
from columns.raw_queries import afetch_one, fetch_all, fetch_one, fetch_together
from historical.transactions.store import transactions as ledger_transactions
from rewind.accounts.store import (
    absence,
    look_apart,
    slot_lookup,
    states,
)
from rewind.accounts.store.absence import AbsenceFacts
from rewind.accounts.store.look_apart import TRANSACTION_COUNT
from rewind.accounts.store.newest_rows import TEXTS
from rewind.accounts.store.read_plans import Plan, text
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.accounts.store.states import State, newest_state, newest_states
from rewind.models import AccountChange
from rewind.positions import Position
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Layout, Partition, Segment, partition_of
from rewind.sealed.store import sealed_reads

_WRITE = AccountChange.Kind.WRITE.value
# Where in a row of _text what stands: the count of transactions, then the state without its pubkey,
# which ends with what filters did, then the index and the reasons.
_LOOKUP_COLUMNS = len(SlotLookup._fields)
_STATE = _LOOKUP_COLUMNS + 1
_LAST_SLOT = _STATE + State._fields.index("kept") - 1
_FILTERS = _LAST_SLOT - 3
_SNAPSHOT = _LAST_SLOT + 1
# Accounts whose rows' places a process remembers: some 20 MB.
_MOST_HINTS = 100_000


class Look(NamedTuple):
    """What `look_up_slot` and `states.newest_state` give. `facts` is what there is to know of an
    account without a living state; None where that was not read with it. `transactions` is the
    number of those in the slot's block, if it was asked for and the ledger has the block.
    """

    lookup: SlotLookup
    state: State | None
    facts: AbsenceFacts | None = None
    transactions: int | None = None


class LookAtSeveral(NamedTuple):
    """The same of several accounts. `kept_from` is the archive's first slot after all was read."""

    lookup: SlotLookup
    states: dict[bytes, State]
    facts: AbsenceFacts | None = None
    kept_from: int | None = None


# The partition that an account was found in; None where it was the position's own.
_hints: dict[bytes, Partition | None] = {}
# The partition that the last position was in which was named by a signature, if the one before it
# was too.
_near: Partition | None = None
_last: Partition | None = None


def look(pubkey: bytes, position: Position, *, with_block: bool = False) -> Look:
    """The newest row of the account at or before the position."""
    if is_clustered():
        return _look_apart(pubkey, position, with_block=with_block)
    layout = partitions.known()
    lookup: SlotLookup | None = None
    transactions: int | None = None
    plan = None if layout is None else _first_plan(pubkey, position.slot, layout)
    below = None if plan is None or layout is None else _hint_below(pubkey, plan, layout)
    while plan is not None and layout is not None:
        row, row_below = _rows(plan._replace(with_block=with_block), pubkey, position, below)
        if row is None:
            break
        lookup, transactions = SlotLookup(*row[:_LOOKUP_COLUMNS]), row[_LOOKUP_COLUMNS]
        if lookup.layout != layout.number:
            break  # the partitions are no longer those
        found = _found(row, pubkey, plan, position, below, row_below)
        if found is not None:
            _remember(pubkey, position, found.state)
            return found
        plan, below = _next_plan(row, plan, below, position, layout)
    if layout is not None and (lookup is None or lookup.layout == layout.number):
        found = _look_into_sealed(pubkey, position, layout, with_block=with_block)
        if found is not None:
            _remember(pubkey, position, found.state)
            return found
    if lookup is None:
        lookup = slot_lookup.look_up_slot(position.slot)
        if with_block:
            counted = fetch_one(TRANSACTION_COUNT, position.slot)
            transactions = None if counted is None else counted[0]
    state = newest_state(pubkey, position, lookup.layout)
    _remember(pubkey, position, state)
    return Look(lookup, state, transactions=transactions)


async def alook(pubkey: bytes, position: Position) -> Look | None:
    """The same, awaited, where one statement shows it; None where that takes more."""
    layout = None if is_clustered() else partitions.known()
    plan = None if layout is None else _first_plan(pubkey, position.slot, layout)
    if plan is None or layout is None or _hint_below(pubkey, plan, layout) is not None:
        return None
    try:
        row = await afetch_one(text(plan), pubkey, *position)
    except UndefinedTable:
        return None
    return None if row is None else _found_in(layout, row, pubkey, plan, position)


def _look_apart(pubkey: bytes, position: Position, *, with_block: bool) -> Look:
    """The same in a cluster: the partition in which the account was found before, or all that the
    position's segment has, in one round trip.
    """
    layout = partitions.known()
    number, own = partitions.segment_of(position.slot), partition_of(position.slot)
    segment = None if layout is None else layout.by_number.get(number)
    if layout is not None and segment is not None:
        tried = [segment]
        if own in segment.partitions and _hints.get(pubkey, own) in (None, own):
            tried.insert(0, segment._replace(partitions=(own,), sealed=()))
        for each in tried:
            found = look_apart.in_segment(pubkey, position, each, with_block=with_block)
            if found is None or found[0].layout != layout.number:
                break  # the partitions are no longer those
            lookup, state, transactions = found
            if state is not None:
                _remember(pubkey, position, state)
                return Look(lookup, state, transactions=transactions)
    lookup = slot_lookup.look_up_slot(position.slot)
    counted = fetch_one(TRANSACTION_COUNT, position.slot) if with_block else None
    state = newest_state(pubkey, position, lookup.layout)
    _remember(pubkey, position, state)
    return Look(lookup, state, transactions=None if counted is None else counted[0])


def look_around(pubkey: bytes, signature: bytes, *, after: bool) -> tuple[Position, Look] | None:
    """The position right before or after the ledger's transaction of that signature, and what is
    there; None where the ledger does not have it.
    """
    layout, near = partitions.known(), _near
    step = 0 if after else 1
    plan = None
    if layout is not None and near is not None and not is_clustered():
        plan = _first_plan(pubkey, near.first, layout)
    if plan is None or layout is None:
        place = ledger_transactions.place_of(signature)
        if place is None:
            return None
        position = Position(place[0], place[1] - step)
    else:
        row = fetch_one(text(plan._replace(by_signature=True)), pubkey, signature, step)
        if row is None:
            place = ledger_transactions.place_of(signature)  # sealed, if it is there
            if place is None:
                return None
            position = Position(place[0], place[1] - step)
            return position, look(pubkey, position)
        position = Position(*row[-2:])
        if partition_of(position.slot) == near:
            found = _found_in(layout, row, pubkey, plan, position)
            if found is not None:
                return position, found
    _note(partition_of(position.slot))
    return position, look(pubkey, position)


def look_at_several(pubkeys: Sequence[bytes], position: Position) -> LookAtSeveral:
    """The newest row of each of the accounts, as far as they have one; in one round trip where all
    are found in the position's segment, or there is none below.
    """
    keys = list(pubkeys)
    layout = partitions.known()
    segment = None if layout is None else partitions.highest(position.slot, layout)
    if layout is None or segment is None:
        lookup = slot_lookup.look_up_slot(position.slot)
        return LookAtSeveral(lookup, newest_states(keys, position, lookup.layout))
    try:
        lookup, rows, facts = _read_several(keys, position, segment)
    except UndefinedTable:
        partitions.forget()
        if connection.in_atomic_block:  # which is lost with the error
            raise
        return look_at_several(keys, position)
    if lookup.layout != layout.number:
        return LookAtSeveral(lookup, newest_states(keys, position, lookup.layout))
    if len(rows) < len(keys) and segment != layout.segments[-1]:
        rows = newest_states(keys, position, lookup.layout, above=(segment, rows))
        return LookAtSeveral(lookup, rows)
    return LookAtSeveral(lookup, rows, *absence.facts_of_rows(position.slot, facts))


def _read_several(
    keys: list[bytes], position: Position, segment: Segment
) -> tuple[SlotLookup, dict[bytes, State], list[list[tuple[Any, ...]]]]:
    """The slot's lookup, the newest rows in the segment, and the rows of `absence.facts_of_rows`:
    one statement, unless some of the segment is sealed.
    """
    sealed = sealed_reads.up_to(segment.sealed, position.slot)
    if not sealed and not is_clustered():
        found = fetch_all(_several(segment.partitions), keys, *position)
        facts = found[0][: absence.FACTS_COLUMNS]
        rows = [each for row in found if (each := row[absence.FACTS_COLUMNS :])[0] is not None]
        return SlotLookup(*facts[:_LOOKUP_COLUMNS]), states.several_states([rows]), [[facts]]
    wanted = [(pubkey, position) for pubkey in dict.fromkeys(keys)]
    hot = states.several_queries(segment.partitions, keys, position)
    packed = sealed_reads.queries_of_several(wanted, sealed) if sealed else []
    # Before the rows: gaps, since one that closes meanwhile still counts. Behind them: what filters
    # dropped, and what left the window, before they were read.
    before, *several = fetch_together(
        [
            (slot_lookup.SLOT_LOOKUP, position.slot),
            *hot,
            *packed,
            *absence.facts_queries(keys, position),
        ]
    )
    of_rows, rest = several[: len(hot)], several[len(hot) :]
    found_rows = states.several_states(of_rows)
    if sealed:
        of_sealed = sealed_reads.newest_of_several(wanted, rest[: len(packed)])
        found_rows = states.merged(found_rows, of_sealed)
    return SlotLookup(*before[0]), found_rows, rest[len(packed) :]


@lru_cache(maxsize=TEXTS)
def _several(partitions: tuple[Partition, ...]) -> str:
    """The facts of the accounts $1 at the position ($2, $3), and their newest rows: a line for each
    row, or one without.
    """
    return (
        # OFFSET keeps the planner from reading the facts again for each row.
        f"SELECT facts.*, rows.* FROM ({absence.FACTS} OFFSET 0) AS facts"
        f" LEFT JOIN ({states.several(partitions)}) AS rows ON true"
    )


def forget() -> None:
    """Every read starts without a hint."""
    global _near, _last
    _near = _last = None
    _hints.clear()


def _first_plan(pubkey: bytes, slot: int, layout: Layout) -> Plan | None:
    """How the account is likely to be found; None where the segment or the partition is missing."""
    own, number = partition_of(slot), partitions.segment_of(slot)
    segment = layout.by_number.get(number)
    if segment is None or own not in segment.partitions:
        return None
    hint = _hints.get(pubkey, own)
    if hint is None:
        return Plan((own,), own.first, is_short=True)
    if segment.sealed:
        # Its partitions are not all that it has.
        return None if pubkey in _hints else Plan((own,), own.first, is_short=True)
    if number < layout.indexed and hint.first < own.first and hint in segment.partitions:
        # The index has the segment's highest slot, which may lie above the position.
        return Plan(segment.partitions, number * partitions.SEGMENT_SLOTS, bound=number)
    return _whole_plan(own, segment, layout)


def _hint_below(pubkey: bytes, plan: Plan, layout: Layout) -> Partition | None:
    """A partition below those of the plan, in which the account was found before."""
    hint = _hints.get(pubkey)
    is_below = hint is not None and hint.first < plan.down_to and partitions.has(layout, hint)
    return hint if is_below and plan.bound is not None else None


def _next_plan(
    row: tuple[Any, ...], plan: Plan, below: Partition | None, position: Position, layout: Layout
) -> tuple[Plan | None, Partition | None]:
    """After a row that does not answer."""
    if plan.is_short:
        own = plan.partitions[0]
        segment = layout.by_number[partitions.segment_of(own.first)]
        return None if segment.sealed else _whole_plan(own, segment, layout), None
    last_slot = row[_LAST_SLOT]
    if plan.bound is None or last_slot is None or last_slot > position.slot:
        return None, None
    named = partition_of(last_slot)
    is_new = named != below and partitions.has(layout, named)
    return (plan, named) if is_new else (None, None)


def _whole_plan(own: Partition, segment: Segment, layout: Layout) -> Plan:
    number = segment.number
    if number < layout.indexed:
        # Whatever the segment has is in the index.
        return Plan((own,), own.first, bound=number + 1)
    down_to = number * partitions.SEGMENT_SLOTS
    between = range(layout.indexed, number)
    if any(each in layout.by_number for each in between):
        return Plan(segment.partitions, down_to, bound=None)
    return Plan(segment.partitions, down_to, bound=min(number, layout.indexed))


def _look_into_sealed(
    pubkey: bytes, position: Position, layout: Layout, *, with_block: bool
) -> Look | None:
    """The newest row in the position's segment, sealed or not; None where nothing of it is sealed,
    or there is none, or the layout is another by now.
    """
    number = partitions.segment_of(position.slot)
    segment = layout.by_number.get(number)
    if segment is None:
        return None
    sealed = sealed_reads.up_to(segment.sealed, position.slot)
    if not sealed:
        return None
    hot = tuple(each for each in segment.partitions if each.first <= position.slot)
    plan = Plan(hot, number * partitions.SEGMENT_SLOTS, is_short=True, with_block=with_block)
    try:
        row, packed = _rows_and_blocks(plan, pubkey, position, sealed)
    except UndefinedTable:
        partitions.forget()
        if connection.in_atomic_block:  # which is lost with the error
            raise
        return None
    lookup = SlotLookup(*row[:_LOOKUP_COLUMNS])
    if lookup.layout != layout.number:
        return None
    state = None
    if row[_STATE] is not None:
        state = states.state_of((pubkey, *row[_STATE:_LAST_SLOT]))
    state = states.newer(state, sealed_reads.newest_of_one(pubkey, position, packed))
    if state is None:
        return None
    return Look(lookup, state, transactions=row[_LOOKUP_COLUMNS])


def _rows_and_blocks(
    plan: Plan, pubkey: bytes, position: Position, sealed: list[int]
) -> tuple[tuple[Any, ...], list[list[tuple[Any, ...]]]]:
    """The plan's row, and those that sealed_reads.newest_of_one reads: one statement for a lone
    segment, which costs less than two.
    """
    if len(sealed) > 1:
        queries = sealed_reads.queries_of_one(pubkey, position, sealed)
        (row,), *several = fetch_together([(text(plan), pubkey, *position), *queries])
        return row, several
    found = fetch_one(text(plan._replace(is_sealed=True)), pubkey, *position, sealed[0])
    assert found is not None
    *of_plan, block, body, filtered = found
    marks = of_plan[_FILTERS:_LAST_SLOT]
    return tuple(of_plan), [[] if block is None else [(sealed[0], block, body, filtered, *marks)]]


def _rows(
    plan: Plan, pubkey: bytes, position: Position, below: Partition | None
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """The plan's row, None when a partition is gone; and the newest of the partition below."""
    query = (text(plan), pubkey, *position)
    try:
        if below is None:
            return fetch_one(*query), None
        rows, found = fetch_together([query, (states.single((below,)), pubkey, *position)])
    except UndefinedTable:
        partitions.forget()
        if connection.in_atomic_block:  # which is lost with the error
            raise
        return None, None
    return rows[0], found[0] if found else None


def _found_in(
    layout: Layout, row: tuple[Any, ...], pubkey: bytes, plan: Plan, position: Position
) -> Look | None:
    """What the row alone says, if the partitions are still those of the layout. Remembers it."""
    if SlotLookup(*row[:_LOOKUP_COLUMNS]).layout != layout.number:
        return None
    found = _found(row, pubkey, plan, position)
    if found is not None:
        _remember(pubkey, position, found.state)
    return found


def _found(
    row: tuple[Any, ...],
    pubkey: bytes,
    plan: Plan,
    position: Position,
    below: Partition | None = None,
    row_below: tuple[Any, ...] | None = None,
) -> Look | None:
    """What the rows say; None where they do not show which state is the newest."""
    state = None
    if row[_STATE] is not None:
        state = states.state_of((pubkey, *row[_STATE:_LAST_SLOT]))
    lookup, transactions = SlotLookup(*row[:_LOOKUP_COLUMNS]), row[_LOOKUP_COLUMNS]
    if plan.is_short:
        is_answer = state is not None and (state.lamports or state.kind == _WRITE)
        return Look(lookup, state, transactions=transactions) if is_answer else None
    if state is None:
        last_slot = row[_LAST_SLOT]
        if plan.bound is None:
            return None
        if last_slot is not None:
            # Of all rows up to the position none is above it.
            is_named = last_slot <= position.slot and partition_of(last_slot) == below
            if not is_named or row_below is None:
                return None
            state = states.state_of(row_below)
    facts = None
    if row[_STATE] is None or state is None or state.lamports == 0:
        is_filtered, first_dropped = row[_FILTERS], row[_FILTERS + 1]
        stale = is_filtered or (first_dropped is not None and first_dropped <= position.slot)
        whole = absence.wholeness_of(position.slot, lookup, row[_SNAPSHOT], row[_SNAPSHOT + 1])
        facts = AbsenceFacts(frozenset([pubkey]) if stale else frozenset(), whole)
    return Look(lookup, state, facts, transactions)


def _remember(pubkey: bytes, position: Position, state: State | None) -> None:
    if state is None:
        return
    if len(_hints) >= _MOST_HINTS:
        _hints.clear()
    partition = partition_of(state.slot)
    _hints[pubkey] = None if partition == partition_of(position.slot) else partition


def _note(partition: Partition) -> None:
    global _near, _last
    _near, _last = partition if partition == _last else None, partition
