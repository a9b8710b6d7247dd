"""Deletes blocks and their index entries."""

from collections.abc import Sequence

from columns.raw_queries import raw_connection


def delete_blocks(first: int, last: int) -> list[tuple[int, int]]:
    """Deletes the slots' blocks and transactions; (slot, parent slot) of those that there were."""
    bounds = (first, last)
    with raw_connection().cursor() as cursor:
        cursor.execute("DELETE FROM historical_transaction WHERE slot BETWEEN %s AND %s", bounds)
        cursor.execute(
            "DELETE FROM historical_block WHERE slot BETWEEN %s AND %s RETURNING slot, parent_slot",
            bounds,
        )
        return [(slot, parent) for slot, parent in cursor.fetchall()]


def take_entries(first: int, end: int) -> list[tuple[int, bytes, bytes]]:
    """Deletes the address entries that begin in the slots: (first_slot, address, packed)."""
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "DELETE FROM historical_addressentries WHERE first_slot >= %s AND first_slot < %s"
            " RETURNING first_slot, address, entries",
            (first, end),
        )
        return [(slot, bytes(address), bytes(packed)) for slot, address, packed in cursor]


def delete_sealed(first: int, last: int) -> set[int]:
    """Deletes what is sealed of the slots' blocks, and frames that no other block's texts are in;
    the numbers of the ranges that they were of.
    """
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "DELETE FROM historical_sealedblock WHERE slot BETWEEN %s AND %s"
            " RETURNING sealed_range, frames",
            (first, last),
        )
        found = cursor.fetchall()
        frames = sorted({number for _, numbers in found for number in numbers})
        _delete_unused(frames)
        cursor.execute(
            "UPDATE historical_sealedrange SET unsealable = ARRAY("
            " SELECT slot FROM unnest(unsealable) AS slot WHERE slot NOT BETWEEN %s AND %s)"
            " WHERE cardinality(unsealable) > 0",
            (first, last),
        )
        return {sealed_range for sealed_range, _ in found}


def _delete_unused(frames: Sequence[int]) -> None:
    """Those of the frames that no block's texts are in."""
    if not frames:
        return
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "SELECT min(first_slot), max(last_slot) FROM historical_packedtexts WHERE id = ANY(%s)",
            (list(frames),),
        )
        cursor.execute(
            "SELECT frames FROM historical_sealedblock WHERE slot BETWEEN %s AND %s"
            " AND frames && %s::bigint[]",
            (*cursor.fetchall()[0], list(frames)),
        )
        used = {number for (numbers,) in cursor.fetchall() for number in numbers}
        cursor.execute(
            "DELETE FROM historical_packedtexts WHERE id = ANY(%s)",
            ([number for number in frames if number not in used],),
        )


def drop_empty_ranges(ranges: Sequence[int]) -> None:
    """Drops those ranges that have no sealed blocks any more; their index is deleted later."""
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "SELECT id, first_slot, last_slot FROM historical_sealedrange WHERE id = ANY(%s)",
            (list(ranges),),
        )
        empty = []
        for number, first, last in cursor.fetchall():
            cursor.execute(
                "SELECT 1 FROM historical_sealedblock WHERE slot BETWEEN %s AND %s"
                " AND sealed_range = %s LIMIT 1",
                (first, last, number),
            )
            if not cursor.fetchall():
                empty.append(number)
        cursor.execute("DELETE FROM historical_sealedrange WHERE id = ANY(%s)", (empty,))
        cursor.execute(
            "UPDATE historical_indexrun SET state = 2 WHERE sealed_range = ANY(%s)", (empty,)
        )
