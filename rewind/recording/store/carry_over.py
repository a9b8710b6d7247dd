"""Carries accounts' states over from partitions that are about to be dropped."""

from columns.queries import first_row
from rewind.positions import CARRIED
from rewind.recording.store.writing import COLUMNS
from rewind.sealed.store import late_rows
from rewind.sealed.store.segments import keep_new, kept_terms, slice_bounds


def carry(number: int, first_kept_slot: int) -> int:
    """The newest state below the slot, of each account of the slice (sealed/store/segments.py), is
    a row of kind base at the slot's very beginning; how many rows are new. Closed accounts are left
    out. The slice's newest sealed states were copied (rewind/sealed/store/unsealing.py).
    """
    low, high = slice_bounds(number)
    (carried,) = first_row(
        "WITH new AS (INSERT INTO rewind_accountchange (slot, write_version, lamports,"
        " rent_epoch, position, owner_id, kind, executable, pubkey, data)"
        " SELECT %(slot)s, write_version, lamports, rent_epoch, %(position)s, owner_id, 1,"
        " executable, pubkey, data FROM (SELECT DISTINCT ON (pubkey) * FROM ("
        f"SELECT {COLUMNS}, 0 AS source FROM rewind_accountchange WHERE slot < %(slot)s"
        " AND pubkey >= %(from)s AND (%(to)s::bytea IS NULL OR pubkey < %(to)s)"
        f" UNION ALL SELECT {COLUMNS}, 1 AS source FROM rewind_unsealed) AS change"
        # Of the same place a row counts, not what is sealed.
        " ORDER BY pubkey, slot DESC, position DESC, source) AS newest"
        " WHERE lamports <> 0 ON CONFLICT DO NOTHING RETURNING pubkey)" + keep_new(),
        {"position": CARRIED, "from": low, "to": high, **kept_terms(first_kept_slot)},
    )
    late_rows.note_place(first_kept_slot, CARRIED)
    return int(carried)
