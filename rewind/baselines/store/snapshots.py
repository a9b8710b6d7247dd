"""Staging of a snapshot's accounts: all of them in a table of their own, from which
PostgreSQL picks each account's newest state.

Staged rows keep the owner's pubkey, for to number it here would keep every other writer of a new
owner waiting until the whole snapshot is in.
"""

import secrets
import struct
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import NamedTuple, Self

from django.db import DatabaseError, connection

from chain.accounts import AccountWrite
from columns.advisory_locks import AdvisoryLock, HeldLock
from columns.clusters import is_clustered
from columns.packed_data import pack as packed
from columns.packed_data import unpack
from columns.queries import all_rows, execute, first_row
from columns.row_cursors import rows_of
from rewind.positions import END_OF_SLOT
from rewind.recording.store.writing import NotAU64, copy_rows
from rewind.sealed.store import late_rows, unsealing
from rewind.sealed.store.segments import keep_new, kept_terms

_PREFIX = "rewind_snapshot_"
_COLUMNS = (
    "stored_slot, write_version, lamports, rent_epoch, wanted, executable, pubkey, owner, data"
)
_ROW = struct.Struct(">h iq iQ iQ iQ i? i? i32s i32s i".replace(" ", ""))
_U64 = 2**64
# Of rows without and with an account's data, which is up to 10 MiB.
_MANY, _FEW = 5_000, 32


class Staged(NamedTuple):
    """An account of a snapshot; one that is not wanted only hides its older states."""

    stored_slot: int
    wanted: bool
    account: AccountWrite


class StagedState(NamedTuple):
    """What of a staged account counts in the sum of all accounts."""

    pubkey: bytes
    lamports: int
    owner: bytes
    executable: bool
    data: bytes


class Staging:
    """A table of one import's accounts, from `with` to its end. It is an ordinary one, for several
    transactions read it, and behind a pooler each may meet another session, which has none of our
    temporary tables. What a killed import left is dropped by the next.
    """

    def __init__(self) -> None:
        number = secrets.randbits(31)
        self._table = f"{_PREFIX}{number}"
        self._lock = HeldLock(AdvisoryLock.SNAPSHOT_IMPORT, number)

    def __enter__(self) -> Self:
        _drop_left_behind()
        self._lock.take()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # A failed transaction took the table with it; else the next import drops what stays.
        with suppress(DatabaseError) if kind else nullcontext():
            if not connection.needs_rollback:
                execute(f"DROP TABLE IF EXISTS {self._table}")
        self._lock.release()

    def fill(self, rows: Iterable[Staged]) -> None:
        """The rows are in the table. Once."""
        execute(
            f"CREATE UNLOGGED TABLE {self._table} (number bigserial,"
            " stored_slot bigint NOT NULL, write_version bigint NOT NULL,"
            " lamports bigint NOT NULL, rent_epoch bigint NOT NULL, wanted boolean NOT NULL,"
            " executable boolean NOT NULL, pubkey bytea NOT NULL, owner bytea NOT NULL,"
            " data bytea NOT NULL)"
        )
        # Not in CREATE TABLE, which takes it from PostgreSQL 16 on.
        execute(f"ALTER TABLE {self._table} ALTER COLUMN data SET STORAGE EXTERNAL")
        copy_rows(self._table, _COLUMNS, _packed(rows))

    def owners(self) -> list[bytes]:
        """The owners of staged accounts."""
        return [
            bytes(owner)
            for (owner,) in all_rows(f"SELECT DISTINCT owner FROM {self._table} WHERE wanted")
        ]

    def keep_stake_accounts(self, owner: bytes) -> None:
        """Wanted accounts of the stake program are known as such from now on."""
        execute(
            "INSERT INTO rewind_stakeaccount (pubkey) SELECT DISTINCT pubkey"
            f" FROM {self._table} WHERE wanted AND owner = %s ON CONFLICT DO NOTHING",
            [owner],
        )

    def insert_bases(self, slot: int, *, gone_too: bool) -> int:
        """Each wanted account's newest state is a row of kind base at the end of the slot, unless
        it is there already; that of an account that is gone only with `gone_too`. How many living
        ones are new.
        """
        unsealing.copy_at_end_of(slot)
        living = self._insert(slot, "lamports <> 0")
        if gone_too:
            self._insert(slot, "lamports = 0")
        return living

    def counts(self) -> tuple[int, int]:
        """Wanted accounts that are staged, and those of them that are gone."""
        accounts, gone = first_row(
            "SELECT count(*) FILTER (WHERE wanted),"
            " count(*) FILTER (WHERE wanted AND lamports = 0)"
            f" FROM (SELECT DISTINCT ON (pubkey) wanted, lamports FROM {self._table}"
            " ORDER BY pubkey, stored_slot DESC, number DESC) AS newest"
        )
        return accounts, gone

    def pubkeys(self) -> Iterator[bytes]:
        """Of all staged accounts, each once. Inside a transaction."""
        sql = f"SELECT DISTINCT pubkey FROM {self._table}"
        return (bytes(pubkey) for (pubkey,) in rows_of(sql, at_once=_MANY))

    def states(self) -> Iterator[StagedState]:
        """The newest states of wanted accounts that are not gone. Inside a transaction."""
        newest = (
            f"SELECT DISTINCT ON (pubkey) * FROM {self._table}"
            " ORDER BY pubkey, stored_slot DESC, number DESC"
        )
        return self._states(f"({newest}) AS staged WHERE wanted AND lamports <> 0")

    def superseded(self) -> Iterator[StagedState]:
        """Wanted states above which the account has a newer one. Inside a transaction."""
        return self._states(f"{self._table} AS staged JOIN {self._old()} WHERE wanted")

    def superseded_unwanted(self) -> Iterator[tuple[int, bytes]]:
        """Of such states that are not wanted, whose data are not here: the number in the order of
        filling, the first is 1, and the pubkey; ascending. Inside a transaction.
        """
        sql = (
            f"SELECT number, pubkey FROM {self._table} AS staged JOIN {self._old()}"
            " WHERE NOT wanted AND lamports <> 0 ORDER BY number"
        )
        return ((number, bytes(pubkey)) for number, pubkey in rows_of(sql, at_once=_MANY))

    def _old(self) -> str:
        # Narrow rows are sorted: those of the table have the data in them.
        return (
            "(SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY pubkey"
            f" ORDER BY stored_slot DESC, number DESC) AS place FROM {self._table}) AS placed"
            " WHERE place > 1) AS old USING (number)"
        )

    def _states(self, source: str) -> Iterator[StagedState]:
        sql = f"SELECT pubkey, lamports, owner, executable, data FROM {source}"
        for pubkey, lamports, owner, executable, data in rows_of(sql, at_once=_FEW):
            yield StagedState(
                bytes(pubkey),
                lamports % _U64,
                bytes(owner),
                executable,
                unpack(bytes(data)),
            )

    def lamports(self, base_slot: int | None) -> int:
        """What the staged accounts hold, and those of the base of that slot that are not among
        them. A write at the end of that slot took the place of its account's base.
        """
        slot = -1 if base_slot is None else base_slot
        unsealing.copy_at_end_of(slot)
        hot = "rewind_accountchange"
        if is_clustered():
            # What lies on other nodes is not joined with what lies here.
            hot = "rewind_staged_bases"
            execute(f"DROP TABLE IF EXISTS {hot}")
            execute(
                f"CREATE TEMPORARY TABLE {hot} ON COMMIT DROP AS"
                " SELECT pubkey, slot, position, lamports FROM rewind_accountchange"
                " WHERE slot = %s AND position = %s",
                [slot, END_OF_SLOT],
            )
        (held,) = first_row(
            "SELECT (SELECT coalesce(sum(lamports), 0) FROM (SELECT DISTINCT ON (pubkey)"
            f" lamports FROM {self._table}"
            " ORDER BY pubkey, stored_slot DESC, number DESC) AS newest)"
            " + (SELECT coalesce(sum(lamports), 0) FROM (SELECT pubkey, lamports"
            f" FROM {hot} WHERE slot = %(base)s AND position = %(position)s"
            " UNION ALL SELECT pubkey, lamports FROM rewind_unsealed AS sealed"
            f" WHERE NOT EXISTS (SELECT 1 FROM {hot} AS late"
            " WHERE late.pubkey = sealed.pubkey AND late.slot = sealed.slot"
            " AND late.position = sealed.position)) AS base"
            f" WHERE NOT EXISTS (SELECT 1 FROM {self._table} WHERE pubkey = base.pubkey))",
            {"base": slot, "position": END_OF_SLOT},
        )
        return int(held)

    def _insert(self, slot: int, which: str) -> int:
        (new,) = first_row(
            "WITH new AS (INSERT INTO rewind_accountchange (slot, write_version, lamports,"
            " rent_epoch, position, owner_id, kind, executable, pubkey, data)"
            " SELECT %(slot)s, write_version, lamports, rent_epoch, %(position)s,"
            " rewind_owner.id, 1, executable, newest.pubkey, data"
            f" FROM (SELECT DISTINCT ON (pubkey) * FROM {self._table}"
            " ORDER BY pubkey, stored_slot DESC, number DESC) AS newest"
            " JOIN rewind_owner ON rewind_owner.pubkey = newest.owner"
            f" WHERE wanted AND {which} AND NOT EXISTS"
            " (SELECT 1 FROM rewind_unsealed WHERE pubkey = newest.pubkey)"
            " ON CONFLICT DO NOTHING RETURNING pubkey)" + keep_new(),
            {"position": END_OF_SLOT, **kept_terms(slot)},
        )
        late_rows.note_place(slot, END_OF_SLOT)
        return int(new)


def _drop_left_behind() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ %s"
            " AND pg_table_is_visible(oid)",
            [f"^{_PREFIX}[0-9]+$"],
        )
        for (table,) in cursor.fetchall():
            lock = HeldLock(AdvisoryLock.SNAPSHOT_IMPORT, int(table.removeprefix(_PREFIX)))
            if lock.take():
                cursor.execute(f"DROP TABLE IF EXISTS {table}")
                lock.release()


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
