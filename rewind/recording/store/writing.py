"""Writes account changes: COPY into a temporary table, then inserts the new rows."""

import struct
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from django.db import connection

from chain.accounts import AccountWrite
from columns.packed_data import pack as packed
from columns.queries import all_rows, execute
from rewind.positions import END_OF_SLOT
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import late_rows


class NewChange(NamedTuple):
    """A row of rewind_accountchange, or what it is made of."""

    slot: int
    position: int
    owner_id: int
    kind: int
    write: AccountWrite


class NotAU64(ValueError):
    """A number of an account that no u64 holds."""

    def __init__(self, slot: int) -> None:
        super().__init__(f"slot {slot}: a number of an account is no u64")
        self.slot = slot


_STATE = ("write_version", "lamports", "rent_epoch", "owner_id", "kind", "executable", "data")
COLUMNS = (
    "slot, write_version, lamports, rent_epoch, position, owner_id, kind, executable, pubkey, data"
)
# PostgreSQL's binary COPY form: each field behind its length. Made by hand, for it costs a tenth of
# what a general writer does, and a u64 in it is the two's complement that U64Column reads.
_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_ROW = struct.Struct(">h iq iQ iQ iQ ii ii ih i? i32s i".replace(" ", ""))
# Of rewind_sealedblock, without its number and with its block's length last.
BLOCK_ROW = struct.Struct(">h iq ii iq ii ih i32s i".replace(" ", ""))
_CHUNK = 1 << 17


def copy_new(rows: Iterable[NewChange]) -> None:
    """Rows whose keys are not there: a slot's that this transaction alone may write."""
    span = late_rows.being_sealed()
    if span is None:
        copy_rows("rewind_accountchange", COLUMNS, _packed(rows))
        return
    late: list[late_rows.Place] = []
    copy_rows("rewind_accountchange", COLUMNS, _packed(_watched(rows, span, late)))
    late_rows.note(late)


def _watched(
    rows: Iterable[NewChange], span: tuple[int, int], late: list[late_rows.Place]
) -> Iterator[NewChange]:
    """The rows as they are; places of those in the slots are added to `late`."""
    for row in rows:
        if span[0] <= row.slot <= span[1]:
            late.append((row.write.pubkey, row.slot, row.position))
        yield row


def stage() -> None:
    """An empty table for `copy_staged`."""
    empty("rewind_staged")


def empty(table: str) -> None:
    """The temporary table of this session, of changes, is there and empty."""
    execute(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {table}"
        " (LIKE rewind_accountchange INCLUDING STORAGE) ON COMMIT DELETE ROWS"
    )
    # Rows of this transaction only: TRUNCATE makes three new files each time, also for none.
    execute(f"DELETE FROM {table}")


def copy_staged(rows: Iterable[NewChange]) -> None:
    copy_rows("rewind_staged", COLUMNS, _packed(rows))
    late_rows.note_staged()


def correct_staged() -> int:
    """Rows that say otherwise than the staged one of their key say what that one says; how many."""
    compared = ("lamports", "rent_epoch", "owner_id", "executable", "data")
    mine, theirs = (", ".join(f"{of}.{name}" for name in compared) for of in ("stored", "staged"))
    return execute(
        f"UPDATE rewind_accountchange AS stored SET"
        f" {', '.join(f'{name} = staged.{name}' for name in _STATE)}"
        " FROM rewind_staged AS staged WHERE staged.pubkey = stored.pubkey"
        " AND staged.slot = stored.slot AND staged.position = stored.position"
        f" AND stored.kind = 0 AND staged.kind = 0 AND ({mine}) IS DISTINCT FROM ({theirs})"
    )


def insert_staged() -> dict[int, int]:
    """The staged rows are in the archive; per slot, how many were not there before."""
    # In the order of the index: neighbours in it are then written together.
    return dict(
        all_rows(
            f"WITH new AS (INSERT INTO rewind_accountchange ({COLUMNS})"
            f" SELECT {COLUMNS} FROM rewind_staged ORDER BY pubkey, slot, position"
            " ON CONFLICT DO NOTHING RETURNING slot)"
            " SELECT slot, count(*) FROM new GROUP BY slot"
        )
    )


def turn_bases_into_writes() -> dict[int, int]:
    """A snapshot's row stands where the slot's last write stands: per slot, how many of the staged
    writes took the place of one.
    """
    replaced = ", ".join(f"{name} = staged.{name}" for name in _STATE)
    return dict(
        all_rows(
            f"WITH changed AS (UPDATE rewind_accountchange AS stored SET {replaced}"
            " FROM rewind_staged AS staged"
            " WHERE staged.position = %s AND staged.pubkey = stored.pubkey"
            " AND staged.slot = stored.slot AND staged.position = stored.position"
            " AND stored.kind = 1 AND staged.kind = 0 RETURNING stored.slot)"
            " SELECT slot, count(*) FROM changed GROUP BY slot",
            [END_OF_SLOT],
        )
    )


def places_in(slots: Collection[int]) -> list[tuple[bytes, int, int]]:
    """(pubkey, slot, position) of the writes of these slots that are not sealed."""
    rows = all_rows(
        "SELECT pubkey, slot, position FROM rewind_accountchange WHERE slot = ANY(%s) AND kind = 0",
        [list(slots)],
    )
    return [(bytes(pubkey), slot, position) for pubkey, slot, position in rows]


def drop(places: Iterable[tuple[bytes, int, int]]) -> None:
    """The writes there, which are few, leave."""
    for place in places:
        execute(
            "DELETE FROM rewind_accountchange"
            " WHERE pubkey = %s AND slot = %s AND position = %s AND kind = 0",
            place,
        )


def copy_rows(table: str, columns: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Rows in PostgreSQL's binary form, each as its head and its last field's bytes."""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(_HEADER)
        for chunk in _chunks(rows):
            copy.write(chunk)
        copy.write(_TRAILER)


def _chunks(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for head, last in rows:
        parts += (head, last)
        size += len(head) + len(last)
        if size >= _CHUNK:
            yield b"".join(parts)
            parts.clear()
            size = 0
    yield b"".join(parts)


def packed_change(change: Change) -> tuple[bytes, bytes]:
    """A sealed change as a row, without its `write_version`, which no read uses."""
    stored = packed(change.data)
    head = _ROW.pack(
        10, 8, change.slot, 8, 0, 8, change.lamports, 8, change.rent_epoch,
        4, change.position, 4, change.owner_id, 2, change.kind, 1, change.executable,
        32, change.pubkey, len(stored),
    )  # fmt: skip
    return head, stored


def _packed(rows: Iterable[NewChange]) -> Iterator[tuple[bytes, bytes]]:
    pack = _ROW.pack
    for slot, position, owner, kind, write in rows:
        pubkey, lamports, _, data, executable, rent_epoch, version, _ = write
        stored = packed(data)
        try:
            head = pack(
                10, 8, slot, 8, version, 8, lamports, 8, rent_epoch, 4, position, 4, owner,
                2, kind, 1, executable, 32, pubkey, len(stored),
            )  # fmt: skip
        except struct.error:
            raise NotAU64(slot) from None
        yield head, stored
