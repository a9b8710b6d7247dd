"""The statement of a read of one account: where it looks, and what comes with the row."""

from functools import lru_cache
from typing import NamedTuple

from historical.blocks.store import query_parts
from rewind.accounts.store import absence, newest_rows, slot_lookup
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Partition
from rewind.sealed.store import sealed_reads


class Plan(NamedTuple):
    """Where to look: into the partitions down to the slot `down_to`, newest first. Segments below
    `bound` are in the index, or some between are not and it is None. A short plan leaves out the
    index and the reasons for a null. A sealed plan reads a block of the segment $4 too.
    """

    partitions: tuple[Partition, ...]
    down_to: int
    bound: int | None = None
    is_short: bool = False
    by_signature: bool = False
    with_block: bool = False
    is_sealed: bool = False


def text(plan: Plan) -> str:
    """Of the account $1 at the position ($2, $3), or $3 places before the transaction of the
    signature $2. Its columns stand in the order that the numbers above name.
    """
    return _text(plan, partitions.SEGMENT_SLOTS)


@lru_cache(maxsize=2 * newest_rows.TEXTS)
def _text(plan: Plan, segment_slots: int) -> str:
    slot, order, at, place = "$2", "$3", "", ""
    if plan.by_signature:
        slot, order, place = "at.slot", "at.position", ", at.slot, at.position"
        found = query_parts.place("$2")
        at = f"(SELECT slot, position - $3 AS position FROM ({found}) AS t) AS at, "
    lookup = slot_lookup.query_at(slot)
    count = query_parts.transaction_count(slot) if plan.with_block else "NULL::integer"
    newest = newest_rows.newest_of(plan.partitions, "$1", slot, order)
    index = facts = ""
    if not plan.is_short:
        index = (
            f" LEFT JOIN LATERAL (SELECT last.slot AS last_slot FROM rewind_accountsegments AS s,"
            " unnest(s.last_slots) AS last (slot) WHERE s.pubkey = $1 AND newest.slot IS NULL"
            f" AND last.slot < {(plan.bound or 0) * segment_slots}"
            f" AND last.slot / {segment_slots} <= {slot} / {segment_slots}"
            f" AND s.first_slot <= {slot}"
            " ORDER BY last.slot DESC LIMIT 1) AS found ON true"
        )
        when = "(newest.slot IS NULL OR newest.lamports = 0)"
        facts = f", found.last_slot, {absence.facts_at(slot, order, when=when)}"
    block = ""
    if plan.is_sealed:
        facts += f", {sealed_reads.BLOCK_COLUMNS}"
        block = f" LEFT JOIN LATERAL ({sealed_reads.BLOCK}) AS block ON true"
    return (
        f"SELECT lookup.*, {count} AS transactions,"
        " newest.slot, newest.position, newest.kind, newest.lamports, newest.rent_epoch,"
        " newest.executable, o.pubkey AS owner, o.filtered, newest.data,"
        " EXISTS (SELECT FROM rewind_filteredpubkey WHERE pubkey = $1) AS pubkey_filtered,"
        f" d.first_slot AS first_dropped, d.last_slot AS last_dropped{facts}{place}"
        f" FROM {at}LATERAL ({lookup}) AS lookup LEFT JOIN LATERAL ({newest}) AS newest ON true"
        # LIMIT keeps the planner from hashing a small table.
        " LEFT JOIN LATERAL (SELECT pubkey, filtered FROM rewind_owner"
        " WHERE id = newest.owner_id LIMIT 1) AS o ON true"
        f" LEFT JOIN rewind_droppedaccount d ON d.pubkey = $1{index}{block}"
    )
