"""Another database that has the same sealed segments: a replica, or a restored backup."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from rewind.store.change_source import Key

_SEGMENTS = (
    "SELECT id FROM rewind_sealedsegment WHERE state = 1 AND first_slot = %s AND last_slot = %s"
)


class CopyUnavailable(Exception):
    """The other database cannot be read, or has no archive."""


class CopiedBlock(NamedTuple):
    """A block of the other database; not checked."""

    key: Key
    changes: int
    packed: bytes


class DatabaseCopy:
    """Reads of the other database. Each raises CopyUnavailable."""

    def __init__(self, connection: psycopg.Connection[Any], name: str) -> None:
        self._connection = connection
        self.name = name

    def blocks(self, first_slot: int, last_slot: int, key: Key) -> list[bytes]:
        """Blocks of the segment of these slots that begin with the change."""
        rows = self._rows(
            f"SELECT block FROM rewind_sealedblock WHERE segment_id IN ({_SEGMENTS})"
            " AND pubkey = %s AND slot = %s AND position = %s AND block IS NOT NULL",
            (first_slot, last_slot, *key),
        )
        return [bytes(packed) for (packed,) in rows]

    def dictionaries(self, first_slot: int, last_slot: int) -> list[bytes | None]:
        """Of the segment of these slots."""
        sql = _SEGMENTS.replace("SELECT id", "SELECT dictionary")
        rows = self._rows(sql, (first_slot, last_slot))
        return [None if found is None else bytes(found) for (found,) in rows]

    def segment_blocks(self, first_slot: int, last_slot: int) -> Iterator[CopiedBlock]:
        """All blocks of the segment of these slots."""
        try:
            with (
                self._connection.transaction(),
                self._connection.cursor("tidemark_copy") as cursor,
            ):
                cursor.execute(
                    "SELECT pubkey, slot, position, changes, block FROM rewind_sealedblock"
                    f" WHERE segment_id IN ({_SEGMENTS}) AND block IS NOT NULL",
                    (first_slot, last_slot),
                )
                for pubkey, slot, position, changes, packed in cursor:
                    yield CopiedBlock(Key(bytes(pubkey), slot, position), changes, bytes(packed))
        except psycopg.Error as error:
            raise CopyUnavailable(str(error).strip()) from None

    def _rows(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except psycopg.Error as error:
            raise CopyUnavailable(str(error).strip()) from None


@contextmanager
def opened(url: str) -> Iterator[DatabaseCopy]:
    """The database at the URL, which is only read. Raises CopyUnavailable."""
    try:
        parts = conninfo_to_dict(url)
        connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
        connection.read_only = True
    except psycopg.Error as error:
        raise CopyUnavailable(str(error).strip()) from None
    name = f"database {parts.get('dbname') or ''} at {parts.get('host') or 'this machine'}"
    try:
        yield DatabaseCopy(connection, name)
    finally:
        connection.close()
