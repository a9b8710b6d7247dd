"""Owners' numbers, and what is filtered."""

from collections.abc import Collection

from django.db import connection

# The first half of an advisory lock's name.
_LOCK = 7_304


def ids_of(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    """The number of each owner; new ones get theirs. Asked anew for each batch: an owner that a
    transaction brought in is not there when that is rolled back.
    """
    found = _known(pubkeys)
    new = sorted(set(pubkeys) - found.keys())
    if new:
        with connection.cursor() as cursor:
            # Without the lock, two who bring in the same owners could wait for each other.
            cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [_LOCK])
            cursor.execute(
                "INSERT INTO rewind_owner (pubkey, filtered)"
                " SELECT told.pubkey, false FROM unnest(%s::bytea[]) AS told (pubkey)"
                " WHERE NOT EXISTS (SELECT FROM rewind_owner WHERE pubkey = told.pubkey)"
                " ON CONFLICT DO NOTHING",
                [new],
            )
        found = _known(pubkeys)
    return found


def filtered_owners() -> dict[bytes, int]:
    """With their numbers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pubkey, id FROM rewind_owner WHERE filtered")
        return {bytes(pubkey): number for pubkey, number in cursor.fetchall()}


def filtered_pubkeys() -> set[bytes]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pubkey FROM rewind_filteredpubkey")
        return {bytes(pubkey) for (pubkey,) in cursor.fetchall()}


def _known(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pubkey, id FROM rewind_owner WHERE pubkey = ANY(%s)", [list(pubkeys)]
        )
        return {bytes(pubkey): number for pubkey, number in cursor.fetchall()}
