"""Queries to repair refuted slots."""

from collections.abc import Collection, Sequence

from columns.queries import all_rows, execute
from rewind.coverage.store import checking
from rewind.recording.store import owners


def filtered_among(pubkeys: Collection[bytes]) -> set[bytes]:
    """Those of the accounts that a filter keeps writes of out of the archive, or did."""
    return owners.filtered_pubkeys() | checking.dropped_among(pubkeys)


def written_in_slot(slot: int) -> set[bytes]:
    """The accounts with a write of the slot that is not sealed."""
    rows = all_rows(
        "SELECT DISTINCT pubkey FROM rewind_accountchange WHERE slot = %s AND kind = 0", [slot]
    )
    return {bytes(pubkey) for (pubkey,) in rows}


def drop_writes(slot: int, pubkeys: Sequence[bytes]) -> None:
    """The slot's writes of these accounts leave, of all where none is named; those that are sealed
    stay, and are corrected by the slot's next record.
    """
    dropped = "DELETE FROM rewind_accountchange WHERE slot = %s AND kind = 0"
    if pubkeys:
        execute(f"{dropped} AND pubkey = ANY(%s)", [slot, list(pubkeys)])
    else:
        execute(dropped, [slot])
