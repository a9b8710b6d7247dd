"""Carrying accounts' states over from partitions that are about to fall."""

from django.db import connection

from rewind.positions import CARRIED


def carry(first_byte: int, first_kept_slot: int) -> int:
    """The newest state below the slot, of each account whose pubkey begins with the byte, is a row
    of kind base at the slot's very beginning; how many rows are new. Closed accounts are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO rewind_accountchange (slot, write_version, lamports, rent_epoch, position,"
            " owner_id, kind, executable, pubkey, data)"
            " SELECT %(slot)s, write_version, lamports, rent_epoch, %(position)s, owner_id, 1,"
            " executable, pubkey, data FROM (SELECT DISTINCT ON (pubkey) *"
            " FROM rewind_accountchange WHERE slot < %(slot)s AND pubkey >= %(from)s"
            " AND (%(to)s::bytea IS NULL OR pubkey < %(to)s)"
            " ORDER BY pubkey, slot DESC, position DESC) AS newest"
            " WHERE lamports <> 0 ON CONFLICT DO NOTHING",
            {
                "slot": first_kept_slot,
                "position": CARRIED,
                "from": bytes([first_byte]),
                "to": None if first_byte == 255 else bytes([first_byte + 1]),
            },
        )
        return int(cursor.rowcount)
