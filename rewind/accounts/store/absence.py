"""Queries on accounts that have no row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from solders.sysvar import RENT

from columns.clusters import is_clustered
from columns.raw_queries import Query, fetch_all, fetch_one, fetch_together
from rewind.accounts.store import slot_lookup
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.baselines.models import Baseline
from rewind.models import ArchiveState
from rewind.positions import END_OF_SLOT, Position
from rewind.sealed.models import SealedSegment


class Wholeness(NamedTuple):
    """Whether each write to the chain up to a position is here, from slot 0 on; and whether each
    account that lives at the position has a row. `known_at` is the slot at whose end each account
    had one, None where that is not known of any: later slots count from there.
    """

    from_genesis: bool
    of_the_living: bool
    known_at: int | None = None


class AbsenceFacts(NamedTuple):
    """What there is to know of accounts at a position that have no living state there: those that
    have a filter of their own, or lost a write to one up to the slot.
    """

    filtered: frozenset[bytes]
    whole: Wholeness


# What makes a snapshot whole before a position, in a query that has `first_kept`.
_SNAPSHOT = (
    "SELECT max(slot) FROM rewind_baseline WHERE whole AND slot >= first_kept - 1"
    f" AND (slot < {{slot}} OR slot = {{slot}} AND {{order}} = {END_OF_SLOT})"
)
# A slot 0 that came without the accounts of genesis is recognized by the rent sysvar, one of
# them and which nothing writes later in the slot.
_GENESIS_ROW = (
    f"FROM rewind_accountchange WHERE slot = 0 AND pubkey = '\\x{bytes(RENT).hex()}'::bytea"
)
_GENESIS_SEALED = "SELECT FROM rewind_sealedsegment WHERE state = 1 AND has_genesis"
_GENESIS = f"SELECT {_GENESIS_ROW} UNION ALL {_GENESIS_SEALED}"


def facts_at(slot: str, order: str, *, when: str, genesis: str = _GENESIS) -> str:
    """Columns beside those of SlotLookup: the newest whole snapshot before the position that two
    expressions name, and whether genesis is there; read where the condition `when` holds.
    """
    snapshot = _SNAPSHOT.format(slot=slot, order=order)
    since_genesis = "first_kept = 0 AND earliest = 0 AND gap_first IS NULL"
    return (
        f"CASE WHEN {when} THEN ({snapshot}) END AS snapshot,"
        f" CASE WHEN {when} AND {since_genesis} THEN EXISTS ({genesis}) ELSE false END AS genesis"
    )


# Of the accounts $1 up to the slot $2: those that have a filter of their own, or lost a
# write to one. The SELECTs hide how many accounts there are, as in other lists; the casts
# keep `ANY` from taking them for tables.
_FILTERED = """
SELECT pubkey FROM rewind_filteredpubkey WHERE pubkey = ANY((SELECT $1)::bytea[])
UNION ALL SELECT pubkey FROM rewind_droppedaccount
WHERE pubkey = ANY((SELECT $1)::bytea[]) AND first_slot <= $2
"""

# Of the accounts $1 at the position ($2, $3): a SlotLookup, and what makes the facts of it.
FACTS, _FACTS_APART = (
    f"SELECT *, {facts_at('$2', '$3', when='true', genesis=each)},"
    f" (SELECT coalesce(string_agg(pubkey, ''), '') FROM ({_FILTERED}) AS f) AS filtered"
    f" FROM ({slot_lookup.query_at('$2')}) AS lookup"
    for each in (_GENESIS, _GENESIS_SEALED)
)
FACTS_COLUMNS = len(SlotLookup._fields) + 3
_HAS_GENESIS = f"SELECT 1 {_GENESIS_ROW} LIMIT 1"


def facts_queries(pubkeys: Sequence[bytes], position: Position) -> list[Query]:
    """What `facts_of_rows` needs the rows of."""
    if is_clustered():
        return [(_HAS_GENESIS,), (_FACTS_APART, pubkeys, *position)]
    return [(FACTS, pubkeys, *position)]


def facts_of_rows(
    slot: int, found: Sequence[Sequence[tuple[Any, ...]]]
) -> tuple[AbsenceFacts, int | None]:
    """Of accounts at a position in the slot; and the archive's first slot."""
    *rows, (row,) = found
    lookup, (snapshot, genesis, filtered) = SlotLookup(*row[:-3]), row[-3:]
    if rows and rows[0] and lookup.first_kept == 0 and lookup.earliest == 0:
        genesis = lookup.gap_first is None
    whole = wholeness_of(slot, lookup, snapshot, genesis)
    return AbsenceFacts(_keys_in(filtered), whole), lookup.earliest


def wholeness_of(slot: int, lookup: SlotLookup, snapshot: int | None, genesis: bool) -> Wholeness:
    """What the columns say of a position in the slot.

    Beside genesis the state at the end of a slot may be whole: of a snapshot with all accounts, or
    of the last slot below the window. From there up to the position nothing may lack: neither in a
    gap, nor below the lowest archived slot, where no gaps are kept. Where no slot is archived a
    snapshot is whole at its own slot.
    """
    known = [] if snapshot is None else [snapshot]
    if lookup.edge_is_whole:
        known.append(lookup.first_kept - 1)
    known_at = max(known, default=None)
    if lookup.earliest is None or lookup.parent is None:
        living = snapshot == slot
    else:
        gap_end = -1 if lookup.gap_last is None else lookup.gap_last
        living = known_at is not None and known_at >= max(gap_end, lookup.parent)
    return Wholeness(genesis, genesis or living, known_at)


class Filters(NamedTuple):
    """What filters say of an account: one of its own, between which slots they dropped its writes,
    and the owners whose accounts are not followed.
    """

    is_filtered: bool
    first_dropped: int | None
    last_dropped: int
    filtered_owners: frozenset[bytes]


_FILTERS = """
SELECT EXISTS (SELECT FROM rewind_filteredpubkey WHERE pubkey = $1), first_slot,
    coalesce(last_slot, -1),
    (SELECT coalesce(string_agg(pubkey, ''), '') FROM rewind_owner WHERE filtered)
FROM (SELECT) AS one LEFT JOIN rewind_droppedaccount ON pubkey = $1
"""


def wholeness(position: Position) -> Wholeness:
    of_none = facts_queries([b""], position)
    return facts_of_rows(position.slot, fetch_together(of_none))[0].whole


def disprove(first: int, last: int) -> None:
    """Snapshots of these slots, genesis and the window's edge, if they lie there, prove of no
    account any more that it did not exist: rows of theirs may be gone.
    """
    Baseline.objects.filter(slot__range=(first, last)).update(whole=False)
    ArchiveState.objects.filter(first_kept_slot__range=(first, last + 1)).update(
        edge_is_whole=False
    )
    SealedSegment.objects.filter(first_slot__lte=last, last_slot__gte=first).update(
        has_genesis=False
    )


def filtered_among(pubkeys: list[bytes], slot: int) -> set[bytes]:
    """Those that have a filter of their own, or lost a write to one up to the slot."""
    return {pubkey for (pubkey,) in fetch_all(_FILTERED, pubkeys, slot)}


def filters_of(pubkey: bytes) -> Filters:
    row = fetch_one(_FILTERS, pubkey)
    assert row is not None
    is_filtered, first, last, owners = row
    return Filters(is_filtered, first, last, _keys_in(owners))


def _keys_in(joined: bytes) -> frozenset[bytes]:
    return frozenset(joined[at : at + 32] for at in range(0, len(joined), 32))
