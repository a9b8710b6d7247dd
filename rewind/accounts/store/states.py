"""Past states: each account's newest row at or before a position."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from django.db import connection
from psycopg.errors import UndefinedTable

from chain.units import Slot
from columns.clusters import is_clustered
from columns.packed_data import unpack
from columns.raw_queries import Query, fetch_together
from rewind.accounts.store import newest_rows
from rewind.accounts.store.large_data import packed_data
from rewind.accounts.store.newest_rows import LARGE, TEXTS, newest_of
from rewind.accounts.store.row_cache import Kept
from rewind.errors import SlotTooOld
from rewind.positions import CARRIED, Position
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Layout, Partition, Segment, partition_of
from rewind.sealed.store import sealed_reads, segments

T = TypeVar("T")

_U64 = 2**64
# Retention drops one partition after the other.
_MOST_TRIES = 5


class State(NamedTuple):
    """An account as a write left it, where that stands, and what filters did to it: whether its
    owner's accounts are filtered, or it itself, and between which slots its writes were dropped.
    A closed account has 0 lamports. `packed` is None where it is large and came among others;
    `kept` is the row in this process's memory, if it is there.
    """

    pubkey: bytes
    slot: int
    position: int
    kind: int
    lamports: int
    rent_epoch: int
    executable: bool
    owner: bytes
    owner_filtered: bool
    packed: bytes | None
    pubkey_filtered: bool
    first_dropped: int | None
    last_dropped: int | None
    kept: Kept | None = None

    @property
    def data(self) -> bytes:
        if self.packed is None:
            return unpack(packed_data(self.pubkey, self.slot, self.position))
        return unpack(self.packed)

    def is_stale_at(self, slot: int) -> bool:
        """Whether a write that the archive does not have may lie between this one and the slot's
        end. A closed account's owner says nothing of what came after it.
        """
        if self.pubkey_filtered or (self.owner_filtered and self.lamports):
            return True
        if self.first_dropped is None or self.last_dropped is None:
            return False
        # What was carried over is of any slot below the one that it stands in.
        known_to = self.slot - 1 if self.position == CARRIED else self.slot
        return self.first_dropped <= slot and self.last_dropped > known_to


_STATE = (
    "c.pubkey, c.slot, c.position, c.kind, c.lamports, c.rent_epoch, c.executable,"
    " o.pubkey AS owner, o.filtered, c.data,"
    " EXISTS (SELECT FROM rewind_filteredpubkey WHERE pubkey = c.pubkey) AS pubkey_filtered,"
    " d.first_slot AS first_dropped, d.last_slot AS last_dropped"
)

STATE_OF_SEVERAL = _STATE.replace(
    "c.data", f"CASE WHEN octet_length(c.data) <= {LARGE} THEN c.data END"
)
# Of the rows that are known by k.known_slot, k.known_position and k.known_xid no data come.
STATE_OF_UNKNOWN = _STATE.replace(
    "c.data",
    "CASE WHEN (c.slot, c.position, c.xid) IS DISTINCT FROM"
    " (k.known_slot, k.known_position, k.known_xid)"
    f" AND octet_length(c.data) <= {LARGE} THEN c.data END",
)


def newest_state(pubkey: bytes, position: Position, layout: int) -> State | None:
    """The account's newest row at or before the position; None where it has none. `layout` is the
    archive's (SlotLookup). Raises SlotTooOld when the position just left the window.
    """
    return _lasting(lambda: _newest(pubkey, position, partitions.layout(layout)))


def newest_states(
    pubkeys: Sequence[bytes],
    position: Position,
    layout: int,
    *,
    above: tuple[Segment, dict[bytes, State]] | None = None,
) -> dict[bytes, State]:
    """The newest row of each account at or before the position; those that have none are left
    out. Raises SlotTooOld when the position just left the window. `above` is the highest segment
    with what was found there.
    """
    return _lasting(lambda: _newest_of_each(pubkeys, position, partitions.layout(layout), above))


def _lasting(read: Callable[[], T]) -> T:
    """What is read, though a partition that was known may leave the window meanwhile."""
    for _ in range(_MOST_TRIES):
        try:
            return read()
        except UndefinedTable:
            partitions.forget()
            if connection.in_atomic_block:  # which is lost with the error
                raise
    return read()


def _newest(pubkey: bytes, position: Position, layout: Layout) -> State | None:
    bound = _indexed_below(position, layout)
    for segment in _down_to(bound, position, layout):
        state = _newest_in(segment, pubkey, position)
        if state is not None:
            return state
    while bound > _lowest(layout):
        found = segments.newest_below(pubkey, bound)
        if found is None:
            break
        for segment in _parts_of(found, layout):
            state = _newest_in(segment, pubkey, position)
            if state is not None:
                return state
        bound = found.segment
    _check_window(position, layout)
    return None


def _newest_in(segment: Segment, pubkey: bytes, position: Position) -> State | None:
    """The account's newest row in the segment, sealed or not; one round trip."""
    sealed = sealed_reads.up_to(segment.sealed, position.slot)
    hot = single_queries(segment.partitions, pubkey, position)
    found = fetch_together(
        [*hot, *(sealed_reads.queries_of_one(pubkey, position, sealed) if sealed else ())]
    )
    packed = None
    if sealed:
        packed = sealed_reads.newest_of_one(pubkey, position, found[len(hot) :])
    return newer(single_state(found[: len(hot)]), packed)


def single_queries(
    partitions: tuple[Partition, ...], pubkey: bytes, position: Position
) -> list[Query]:
    """What `single_state` needs the rows of."""
    if not partitions:
        return []
    if is_clustered():
        return newest_rows.queries_apart(partitions, [(pubkey, position)], is_whole=True)
    return [(single(partitions), pubkey, *position)]


def single_state(found: Sequence[Sequence[tuple[Any, ...]]]) -> State | None:
    """The account's newest row in the partitions, with its data."""
    rows = _rows(found)
    return state_of(rows[0]) if rows else None


def _rows(found: Sequence[Sequence[tuple[Any, ...]]]) -> Sequence[tuple[Any, ...]]:
    if not found:
        return []
    return newest_rows.rows_apart(found) if is_clustered() else found[0]


def several_queries(
    partitions: tuple[Partition, ...], pubkeys: Sequence[bytes], position: Position
) -> list[Query]:
    """What `several_states` needs the rows of."""
    if not partitions:
        return []
    if is_clustered():
        places = [(pubkey, position) for pubkey in dict.fromkeys(pubkeys)]
        return newest_rows.queries_apart(partitions, places)
    return [(several(partitions), list(pubkeys), *position)]


def several_states(found: Sequence[Sequence[tuple[Any, ...]]]) -> dict[bytes, State]:
    """The newest row of each account that has one; large data are left out."""
    rows = _rows(found)
    return {row[0]: state_of(row) for row in rows}


def newer(state: State | None, sealed: sealed_reads.Found | None) -> State | None:
    """Of a row and a sealed change the one that counts: of the same place, the row."""
    if sealed is None or (state is not None and (state.slot, state.position) >= sealed.place):
        return state
    return State(*sealed.row())


def _newest_of_each(
    pubkeys: Sequence[bytes],
    position: Position,
    layout: Layout,
    above: tuple[Segment, dict[bytes, State]] | None = None,
) -> dict[bytes, State]:
    read_already, known = above or (None, {})
    states = dict(known)
    missing = [pubkey for pubkey in dict.fromkeys(pubkeys) if pubkey not in states]

    def read(segment: Segment, among: list[bytes]) -> None:
        states.update(_newest_of_each_in(segment, among, position))

    bound = _indexed_below(position, layout)
    for segment in _down_to(bound, position, layout):
        if missing and segment != read_already:
            read(segment, missing)
            missing = [pubkey for pubkey in missing if pubkey not in states]
    bounds = dict.fromkeys(missing, bound) if bound > _lowest(layout) else {}
    while bounds:
        occurrences = segments.newest_of_each(bounds)
        looking: dict[Segment, list[bytes]] = {}
        for turn in range(2):
            looking.clear()
            for pubkey, found in occurrences.items():
                parts = _parts_of(found, layout)
                if pubkey not in states and turn < len(parts):
                    looking.setdefault(parts[turn], []).append(pubkey)
            for segment, among in looking.items():
                read(segment, among)
        bounds = {
            pubkey: found.segment
            for pubkey, found in occurrences.items()
            if pubkey not in states and found.segment > _lowest(layout)
        }
    if len(states) < len(set(pubkeys)):
        _check_window(position, layout)
    return states


def _newest_of_each_in(
    segment: Segment, pubkeys: list[bytes], position: Position
) -> dict[bytes, State]:
    """The newest row of each in the segment, sealed or not; one round trip and what it takes to
    read blocks that are not known.
    """
    if not pubkeys:
        return {}
    sealed = sealed_reads.up_to(segment.sealed, position.slot)
    wanted = [(pubkey, position) for pubkey in pubkeys]
    hot = several_queries(segment.partitions, pubkeys, position)
    packed = sealed_reads.queries_of_several(wanted, sealed) if sealed else []
    found = fetch_together([*hot, *packed])
    states = several_states(found[: len(hot)])
    if not sealed:
        return states
    return merged(states, sealed_reads.newest_of_several(wanted, found[len(hot) :]))


def merged(
    states: dict[bytes, State], sealed: Mapping[tuple[bytes, Position], sealed_reads.Found]
) -> dict[bytes, State]:
    """Of each account the row or the sealed change, whichever counts."""
    both = dict(states)
    for (pubkey, _), found in sealed.items():
        state = newer(states.get(pubkey), found)
        if state is not None:
            both[pubkey] = state
    return both


def _indexed_below(position: Position, layout: Layout) -> int:
    """Segments below it are asked for in the index; the position's own is read in any case."""
    return min(partitions.segment_of(position.slot), layout.indexed)


def _down_to(bound: int, position: Position, layout: Layout) -> Iterator[Segment]:
    """Segments from the position's own down to the bound, newest first."""
    highest = partitions.segment_of(position.slot)
    above = (segment for segment in layout.segments if segment.number <= highest)
    return takewhile(lambda segment: segment.number >= bound, above)


def _lowest(layout: Layout) -> int:
    return layout.segments[-1].number if layout.segments else 0


def _parts_of(found: segments.Occurrence, layout: Layout) -> tuple[Segment, ...]:
    """Where the account is, and where else in the segment it may be: of a row that claims too much
    only the segment is sure.
    """
    segment = layout.by_number.get(found.segment)
    if segment is None:
        return ()
    newest = partition_of(found.last_slot)
    if segment.sealed or newest not in segment.partitions:
        return (segment,)
    return Segment(found.segment, (newest,)), segment


def _check_window(position: Position, layout: Layout) -> None:
    """What has no row may have had one, which fell out of the window after `place` had looked."""
    if position.slot < layout.first_kept:
        raise SlotTooOld(position.slot, Slot(layout.first_kept))


def state_of(row: tuple[Any, ...]) -> State:
    """What a row of `single` says."""
    return State(*row[:4], row[4] % _U64, row[5] % _U64, *row[6:])  # type: ignore[call-arg]


@lru_cache(maxsize=TEXTS)
def single(partitions: tuple[Partition, ...]) -> str:
    """The newest row of the account $1 in these partitions at or before the position ($2, $3)."""
    return f"SELECT {_STATE} FROM ({newest_of(partitions, '$1')}) AS c {OF_ROW}"


@lru_cache(maxsize=TEXTS)
def several(partitions: tuple[Partition, ...]) -> str:
    """The same of the accounts $1; large data are left out."""
    return (
        f"SELECT {STATE_OF_SEVERAL} FROM unnest((SELECT $1)) AS k (pubkey),"
        f" LATERAL ({newest_of(partitions, 'k.pubkey')}) AS c {OF_ROW}"
    )


# LIMIT keeps the planner from hashing small tables.
OF_ROW = (
    "JOIN LATERAL (SELECT pubkey, filtered FROM rewind_owner WHERE id = c.owner_id LIMIT 1) AS o"
    " ON true LEFT JOIN LATERAL (SELECT first_slot, last_slot FROM rewind_droppedaccount"
    " WHERE pubkey = c.pubkey LIMIT 1) AS d ON true"
)
