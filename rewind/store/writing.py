"""Writing account changes: COPY into a temporary table, and from there what is not there yet."""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db import connection

from rewind.positions import END_OF_SLOT


class NewChange(NamedTuple):
    """A row of rewind_accountchange; the u64s as they are."""

    slot: int
    write_version: int
    lamports: int
    rent_epoch: int
    position: int
    owner_id: int
    kind: int
    executable: bool
    pubkey: bytes
    data: bytes


_COLUMNS = ", ".join(NewChange._fields)
# PostgreSQL's binary COPY form: each field behind its length. Made by hand, for it costs a tenth of
# what a general writer does, and a u64 in it is the two's complement that U64Column reads.
_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_ROW = struct.Struct(">h iq iQ iQ iQ ii ii ih i? i32s i".replace(" ", ""))
_CHUNK = 1 << 18


def stage() -> None:
    """An empty temporary table of this session, for `copy_staged`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE IF NOT EXISTS rewind_staged"
            " (LIKE rewind_accountchange INCLUDING COMPRESSION) ON COMMIT DELETE ROWS"
        )
        cursor.execute("TRUNCATE rewind_staged")


def copy_staged(rows: Iterable[NewChange]) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY rewind_staged ({_COLUMNS}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(_HEADER)
        for chunk in _chunks(rows):
            copy.write(chunk)
        copy.write(_TRAILER)


def insert_staged() -> dict[int, int]:
    """The staged rows are in the archive; per slot, how many were not there before."""
    with connection.cursor() as cursor:
        # In the order of the index: neighbours in it are then written together.
        cursor.execute(
            f"WITH new AS (INSERT INTO rewind_accountchange ({_COLUMNS})"
            f" SELECT {_COLUMNS} FROM rewind_staged ORDER BY pubkey, slot, position"
            " ON CONFLICT DO NOTHING RETURNING slot)"
            " SELECT slot, count(*) FROM new GROUP BY slot"
        )
        return dict(cursor.fetchall())


def turn_bases_into_writes() -> dict[int, int]:
    """A snapshot's row stands where the slot's last write stands: per slot, how many of the staged
    writes took the place of one.
    """
    replaced = ", ".join(
        f"{name} = staged.{name}"
        for name in NewChange._fields
        if name not in ("pubkey", "slot", "position")
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH changed AS (UPDATE rewind_accountchange AS stored SET {replaced}"
            " FROM rewind_staged AS staged"
            " WHERE staged.position = %s AND staged.pubkey = stored.pubkey"
            " AND staged.slot = stored.slot AND staged.position = stored.position"
            " AND stored.kind = 1 AND staged.kind = 0 RETURNING stored.slot)"
            " SELECT slot, count(*) FROM changed GROUP BY slot",
            [END_OF_SLOT],
        )
        return dict(cursor.fetchall())


def lift_timeouts() -> None:
    """For this transaction: a write takes as long as it takes."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SET LOCAL lock_timeout = 0")


def _chunks(rows: Iterable[NewChange]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    pack = _ROW.pack
    for slot, version, lamports, rent, position, owner, kind, executable, pubkey, data in rows:
        parts.append(
            pack(
                10, 8, slot, 8, version, 8, lamports, 8, rent, 4, position, 4, owner, 2, kind,
                1, executable, 32, pubkey, len(data),
            )
        )  # fmt: skip
        parts.append(data)
        size += len(data) + 128
        if size >= _CHUNK:
            yield b"".join(parts)
            parts.clear()
            size = 0
    yield b"".join(parts)
