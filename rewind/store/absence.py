"""What the archive knows of accounts that have no row."""

from typing import NamedTuple

from solders.sysvar import RENT

from columns.raw_queries import fetch_all, fetch_one
from rewind.positions import END_OF_SLOT, Position


class Wholeness(NamedTuple):
    """Whether each write to the chain up to a position is here, from slot 0 on; and whether each
    account that lives at the position has a row. `known_at` is the slot at whose end each account
    had one, None where that is not known of any: later slots count from there.
    """

    from_genesis: bool
    of_the_living: bool
    known_at: int | None = None


# A slot 0 that came without the accounts of genesis is told by the rent sysvar, which is one of
# them and which nothing writes later in the slot. What else may be whole is the state at the end of
# a slot: of a snapshot with all accounts, or of the last slot below the window. From there up to
# the position nothing may lack: neither in a gap, nor below the lowest archived slot, where no gaps
# are kept. Where no slot is archived a snapshot is whole at its own slot.
_WHOLENESS = f"""
SELECT genesis, genesis OR coalesce(CASE WHEN lowest.slot IS NULL THEN snapshot = $1
    ELSE greatest(edge, snapshot) >= greatest(gap_end, lowest.parent_slot) END, false),
    greatest(edge, snapshot)
FROM (
    SELECT coalesce(max(first_kept_slot), 0) AS first_kept,
        max(first_kept_slot) FILTER (WHERE edge_is_whole) - 1 AS edge
    FROM rewind_archivestate
) AS state
LEFT JOIN LATERAL (
    SELECT slot, parent_slot FROM rewind_archivedslot
    WHERE slot >= first_kept ORDER BY slot LIMIT 1
) AS lowest ON true,
LATERAL (
    SELECT (
        SELECT to_slot FROM rewind_gap
        WHERE closed_at IS NULL AND from_slot <= $1 ORDER BY from_slot DESC LIMIT 1
    ) AS gap_end, (
        SELECT max(slot) FROM rewind_baseline
        WHERE whole AND slot >= first_kept - 1
        AND (slot < $1 OR slot = $1 AND $2 = {END_OF_SLOT})
    ) AS snapshot
) AS told,
LATERAL (
    SELECT first_kept = 0 AND coalesce(lowest.slot, -1) = 0 AND gap_end IS NULL AND EXISTS (
        SELECT FROM rewind_accountchange WHERE slot = 0 AND pubkey = $3
    ) AS genesis
) AS beginning
"""


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

_FILTERED = """
SELECT pubkey FROM rewind_filteredpubkey WHERE pubkey = ANY($1)
UNION ALL SELECT pubkey FROM rewind_droppedaccount WHERE pubkey = ANY($1) AND first_slot <= $2
"""


def wholeness(position: Position) -> Wholeness:
    row = fetch_one(_WHOLENESS, *position, bytes(RENT))
    return Wholeness(False, False) if row is None else Wholeness(*row)


def filtered_among(pubkeys: list[bytes], slot: int) -> set[bytes]:
    """Those that have a filter of their own, or of which a write was dropped up to the slot."""
    return {pubkey for (pubkey,) in fetch_all(_FILTERED, pubkeys, slot)}


def filters_of(pubkey: bytes) -> Filters:
    row = fetch_one(_FILTERS, pubkey)
    assert row is not None
    is_filtered, first, last, owners = row
    each_owner = frozenset(owners[at : at + 32] for at in range(0, len(owners), 32))
    return Filters(is_filtered, first, last, each_owner)
