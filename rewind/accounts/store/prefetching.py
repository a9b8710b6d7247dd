"""Prefetches what runs of transactions read of one slot, in one round trip."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from django.db import connection
from psycopg.errors import UndefinedTable

from columns.clusters import is_clustered
from columns.raw_queries import Query, fetch_together
from rewind.accounts.store import newest_rows, row_cache, slot_lookup
from rewind.accounts.store.newest_rows import TEXTS, XID, newest_of
from rewind.accounts.store.row_cache import NO_VERSION, Kept, Version
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.accounts.store.states import (
    OF_ROW,
    STATE_OF_UNKNOWN,
    State,
    newest_states,
    state_of,
)
from rewind.positions import Position
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Partition
from rewind.replay.store import builds
from rewind.replay.store.builds import Build
from rewind.sealed.store import sealed_reads

_SEALED = 0
# The lookup of the slot $2, in a row for each build that concerns the accounts $1 then, or in one.
_LOOKUP_AND_BUILDS = (
    f"SELECT lookup.*, b.* FROM ({slot_lookup.query_at('$2')}) AS lookup"
    f" LEFT JOIN ({builds.BUILDS}) AS b ON true"
)
_LOOKUP_COLUMNS = len(SlotLookup._fields)


@dataclass(frozen=True, slots=True)
class Ahead:
    """States by account and position, of those that were found; and the builds of the slot on the
    shelf that concern the accounts it was `asked` for.
    """

    slot: int
    states: Mapping[tuple[bytes, Position], State]
    asked: frozenset[bytes]
    builds: Sequence[Build] = field(repr=False)


def read(
    wanted: Mapping[Position, Collection[bytes]], slot: int
) -> tuple[SlotLookup, Ahead | None]:
    """The lookup of the slot, and the accounts at these positions in it, as far as they are found
    in the slot's segment; nothing of them while the partitions are not known.
    """
    layout = partitions.known()
    segment = None if layout is None else partitions.highest(slot, layout)
    places = [(key, position) for position, keys in wanted.items() for key in keys]
    if layout is None or segment is None or not places:
        return slot_lookup.look_up_slot(slot), None
    asked = list(dict.fromkeys(key for key, _ in places))
    kept = {key: row_cache.known(key) for key in asked}
    known = [NO_VERSION if (row := kept[key]) is None else row.version for key, _ in places]
    sealed = sealed_reads.up_to(segment.sealed, slot)
    hot = _queries(segment.partitions, places, known)
    try:
        looked_up, *several = fetch_together(
            [
                (_LOOKUP_AND_BUILDS, asked, slot),
                *hot,
                *(sealed_reads.queries_of_several(places, sealed) if sealed else ()),
            ]
        )
    except UndefinedTable:
        partitions.forget()
        if connection.in_atomic_block:  # which is lost with the error
            raise
        return slot_lookup.look_up_slot(slot), None
    lookup = SlotLookup(*looked_up[0][:_LOOKUP_COLUMNS])
    shelf = [Build(*row[_LOOKUP_COLUMNS:]) for row in looked_up if row[-1] is not None]
    if lookup.layout != layout.number:
        return lookup, None
    newest = several[: len(hot)]
    rows = newest_rows.unknown_rows(places, newest) if is_clustered() else newest[0]
    states = {
        (row[3], Position(*row[:2])): _remembered(state_of(row[3:]), row[2], kept[row[3]])
        for row in rows
    }
    if sealed:
        states |= _of_sealed(states, sealed_reads.newest_of_several(places, several[len(hot) :]))
    return lookup, Ahead(slot, states, frozenset(asked), shelf)


def newest(
    pubkeys: Collection[bytes], position: Position, layout: int, ahead: Ahead | None
) -> dict[bytes, State]:
    """What newest_states gives; only accounts that were not read ahead are read."""
    if ahead is None:
        return newest_states(list(pubkeys), position, layout)
    known = ahead.states
    found = {key: known[key, position] for key in pubkeys if (key, position) in known}
    missing = [key for key in pubkeys if key not in found]
    return {**found, **newest_states(missing, position, layout)} if missing else found


def builds_at(keys: Collection[bytes], slot: int, ahead: Ahead | None) -> list[Build]:
    """What builds.builds_at gives."""
    if ahead is None or slot != ahead.slot or not ahead.asked.issuperset(keys):
        return builds.builds_at(list(keys), slot)
    return [each for each in ahead.builds if each.program in keys or each.code_key in keys]


def _of_sealed(
    states: Mapping[tuple[bytes, Position], State],
    sealed: Mapping[tuple[bytes, Position], sealed_reads.Found],
) -> dict[tuple[bytes, Position], State]:
    """Those that are newer than the rows that were found."""
    found = {}
    for each, packed in sealed.items():
        row = states.get(each)
        if row is None or (row.slot, row.position) < packed.place:
            state = State(*packed.row())
            # Its change never becomes another; PostgreSQL gives no transaction this number.
            found[each] = _remembered(state, _SEALED, row_cache.known(state.pubkey))
    return found


def _remembered(state: State, xid: int, kept: Kept | None) -> State:
    """With the data that it came without, for they are known; or they are known from now on."""
    version = Version(state.slot, state.position, xid)
    if kept is not None and kept.version == version:
        return state._replace(packed=kept.packed, kept=kept)
    if state.packed is None:
        return state
    kept = row_cache.keep(state.pubkey, version, state.packed)
    return state if kept is None else state._replace(kept=kept)


def _queries(
    partitions: tuple[Partition, ...],
    places: Sequence[tuple[bytes, Position]],
    known: Sequence[Version],
) -> list[Query]:
    """The newest row of each; data that are known or large are left out."""
    if is_clustered():
        return newest_rows.queries_of_unknown(partitions, places, known)
    return [
        (
            _text(partitions),
            [key for key, _ in places],
            [position.slot for _, position in places],
            [position.order for _, position in places],
            [version.slot for version in known],
            [version.position for version in known],
            [version.xid for version in known],
        )
    ]


@lru_cache(maxsize=TEXTS)
def _text(partitions: tuple[Partition, ...]) -> str:
    """The position of each, and its newest row there; large data are left out."""
    newest = newest_of(partitions, "k.pubkey", "k.slot", "k.position", also=XID)
    known = "known_slot, known_position, known_xid"
    lists = ", ".join(f"(SELECT ${number})" for number in range(1, 7))
    return (
        f"SELECT k.slot, k.position, c.xid, {STATE_OF_UNKNOWN}"
        f" FROM unnest({lists}) AS k (pubkey, slot, position, {known}),"
        f" LATERAL ({newest}) AS c {OF_ROW}"
    )
