"""A snapshot's accounts on their way in: all of them in a temporary table, of which PostgreSQL
picks each account's newest state.

Staged rows keep the owner's pubkey, for to number it here would keep every other writer of a new
owner waiting until the whole snapshot is in.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db import connection

from chain.accounts import AccountWrite
from columns.packed_data import pack as packed
from rewind.positions import END_OF_SLOT
from rewind.store.segments import KEEP_NEW, kept_terms
from rewind.store.writing import NotAU64, copy_rows

_COLUMNS = (
    "stored_slot, write_version, lamports, rent_epoch, wanted, executable, pubkey, owner, data"
)
_ROW = struct.Struct(">h iq iQ iQ iQ i? i? i32s i32s i".replace(" ", ""))


class Staged(NamedTuple):
    """An account of a snapshot; one that is not wanted only hides its older states."""

    stored_slot: int
    wanted: bool
    account: AccountWrite


def stage(rows: Iterable[Staged]) -> None:
    """The rows are in this session's temporary table, alone."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS rewind_snapshot")
        cursor.execute(
            "CREATE TEMPORARY TABLE rewind_snapshot (number bigserial, stored_slot bigint NOT NULL,"
            " write_version bigint NOT NULL, lamports bigint NOT NULL, rent_epoch bigint NOT NULL,"
            " wanted boolean NOT NULL, executable boolean NOT NULL, pubkey bytea NOT NULL,"
            " owner bytea NOT NULL, data bytea STORAGE EXTERNAL NOT NULL)"
        )
    copy_rows("rewind_snapshot", _COLUMNS, _packed(rows))


def owners() -> list[bytes]:
    """The owners of staged accounts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT owner FROM rewind_snapshot WHERE wanted")
        return [bytes(owner) for (owner,) in cursor.fetchall()]


def insert_bases(slot: int, *, gone_too: bool) -> int:
    """Each wanted account's newest state is a row of kind base at the end of the slot, unless it is
    there already; that of an account that is gone only with `gone_too`. How many living ones are
    new.
    """
    living = _insert(slot, "lamports <> 0")
    if gone_too:
        _insert(slot, "lamports = 0")
    return living


def _insert(slot: int, which: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH new AS (INSERT INTO rewind_accountchange (slot, write_version, lamports,"
            " rent_epoch, position, owner_id, kind, executable, pubkey, data)"
            " SELECT %(slot)s, write_version, lamports, rent_epoch, %(position)s, rewind_owner.id,"
            " 1, executable, newest.pubkey, data"
            " FROM (SELECT DISTINCT ON (pubkey) * FROM rewind_snapshot"
            " ORDER BY pubkey, stored_slot DESC, number DESC) AS newest"
            " JOIN rewind_owner ON rewind_owner.pubkey = newest.owner"
            f" WHERE wanted AND {which} ON CONFLICT DO NOTHING RETURNING pubkey)" + KEEP_NEW,
            {"position": END_OF_SLOT, **kept_terms(slot)},
        )
        (new,) = cursor.fetchone()
        return int(new)


def counts() -> tuple[int, int]:
    """Wanted accounts that are staged, and those of them that are gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE wanted), count(*) FILTER (WHERE wanted AND lamports = 0)"
            " FROM (SELECT DISTINCT ON (pubkey) wanted, lamports FROM rewind_snapshot"
            " ORDER BY pubkey, stored_slot DESC, number DESC) AS newest"
        )
        accounts, gone = cursor.fetchone()
        return accounts, gone


def lamports(base_slot: int | None) -> int:
    """What the staged accounts hold, and those of the base of that slot that are not among them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT coalesce(sum(lamports), 0) FROM (SELECT DISTINCT ON (pubkey) lamports"
            " FROM rewind_snapshot ORDER BY pubkey, stored_slot DESC, number DESC) AS newest)"
            " + (SELECT coalesce(sum(lamports), 0) FROM rewind_accountchange AS base"
            " WHERE slot = %(base)s AND position = %(position)s AND kind = 1"
            " AND NOT EXISTS (SELECT FROM rewind_snapshot WHERE pubkey = base.pubkey))",
            {"base": -1 if base_slot is None else base_slot, "position": END_OF_SLOT},
        )
        (held,) = cursor.fetchone()
        return int(held)


def forget() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS rewind_snapshot")


def _packed(rows: Iterable[Staged]) -> Iterator[tuple[bytes, bytes]]:
    pack = _ROW.pack
    for stored_slot, wanted, account in rows:
        pubkey, lamports, owner, data, executable, rent_epoch, version, _ = account
        stored = packed(data) if wanted else b""
        try:
            head = pack(
                9, 8, stored_slot, 8, version, 8, lamports, 8, rent_epoch, 1, wanted,
                1, executable, 32, pubkey, 32, owner, len(stored),
            )  # fmt: skip
        except struct.error:
            raise NotAU64(stored_slot) from None
        yield head, stored
