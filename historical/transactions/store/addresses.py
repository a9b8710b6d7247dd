"""Queries on the address index of slots that are not sealed. Each returns the version of what is
sealed (historical/sealed/store/sealed_state.py) with its rows: both are of one moment. Those of a
cluster are read in threads only.
"""

from columns.clusters import is_clustered
from columns.raw_queries import afetch_all, fetch_together
from columns.statements import Parameter
from historical.sealed.store.sealed_state import VERSION, VERSION_QUERY
from historical.transactions.segments import SEGMENT_SLOTS

# The version; (first_slot, packed entries).
Entries = tuple[int, list[tuple[int, bytes]]]


async def entries_below(digest: bytes, slot: int, rows: int) -> Entries:
    """The newest rows that begin below the slot, descending."""
    return await _entries(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot < $2 ORDER BY first_slot DESC LIMIT $3",
        "DESC",
        digest,
        slot,
        rows,
    )


async def newest_entries(digest: bytes, slot: int, rows: int, *, enough: int) -> Entries:
    """The same, up to the segment in which so many entries are reached: an address may have them in
    many rows or in one.
    """
    return await _entries(
        "SELECT first_slot, entries FROM (SELECT first_slot, entries, sum(octet_length(entries))"
        f" OVER (ORDER BY first_slot / {SEGMENT_SLOTS} DESC"
        " GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newer FROM ("
        " SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot < $2 ORDER BY first_slot DESC LIMIT $3) AS listed"
        ") AS counted WHERE newer IS NULL OR newer < $4 ORDER BY first_slot DESC",
        "DESC",
        digest,
        slot,
        rows,
        4 * enough,
    )


async def entries_from(digest: bytes, slot: int, rows: int) -> Entries:
    """The oldest rows that begin at a slot or above, ascending."""
    return await _entries(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot >= $2 ORDER BY first_slot LIMIT $3",
        "",
        digest,
        slot,
        rows,
    )


async def _entries(sql: str, order: str, *parameters: Parameter) -> Entries:
    if is_clustered():
        # What is sealed between the two has another version than this one.
        ((version,),), rows = fetch_together([(VERSION_QUERY,), (sql, *parameters)])
        return version, rows
    found = await afetch_all(
        f"SELECT v.number, e.first_slot, e.entries FROM {VERSION} AS v"
        f" LEFT JOIN LATERAL ({sql}) AS e ON true ORDER BY e.first_slot {order}",
        *parameters,
    )
    return found[0][0], [(slot, packed) for _, slot, packed in found if slot is not None]
