"""Statements on psycopg's libpq layer: preparation, parameters, rows and errors, for the connection
of a thread (columns.raw_queries) and those of an event loop (columns.loop_queries).

Behind a pooler that does not keep prepared statements per client, nothing is prepared
(docs/decisions/engines.md).
"""

import itertools
import os
import secrets
import struct
import threading
from collections.abc import Collection, Sequence
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.types.numeric import OidBinaryLoader

from columns.poolers import is_pooled, keeps_statements

# A query's parameter: int is bigint, the lists are bigint[] and bytea[].
Parameter = int | bytes | Sequence[int] | Sequence[bytes]

# Per connection. The plan of a read of an epoch's partitions takes 200 kB of server memory, and
# there is one such text per epoch.
MOST_PREPARED = 64

_INT8, _BYTEA, _INT8_ARRAY, _BYTEA_ARRAY = 20, 17, 1016, 1001
_UNKNOWN = b"26000"  # invalid_sql_statement_name

# Unique across all processes and machines: a name may outlive our record of it at the server, or
# the reverse, and a pooler may expose it to other clients. Processes fork after this line.
_numbers = itertools.count()
_ours = secrets.token_hex(6).encode()


class Statements:
    """The prepared statements of one connection, by text, the least recently used first."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self._are_kept = not is_pooled(raw) or keeps_statements(raw)
        self._names: dict[str, bytes] = {}

    def use(self, sql: str) -> tuple[bytes | None, bool]:
        """The statement's name, and whether it is new and has to be prepared by it; None if nothing
        can be prepared.
        """
        if not self._are_kept:
            return None, False
        name = self._names.pop(sql, None)
        is_new = name is None
        if name is None:
            name = b"tidemark_%b_%d_%d" % (_ours, os.getpid(), next(_numbers))
        self._names[sql] = name
        return name, is_new

    def forget(self, sql: str) -> None:
        """The server does not have it, or could not prepare it."""
        self._names.pop(sql, None)

    def spare(self, keeping: Collection[str] = ()) -> list[bytes]:
        """The names beyond MOST_PREPARED, which the caller closes."""
        count = len(self._names) - MOST_PREPARED
        if count <= 0:
            return []
        oldest = [sql for sql in self._names if sql not in keeping][:count]
        return [self._names.pop(sql) for sql in oldest]


def is_unknown(result: pq.abc.PGresult) -> bool:
    """Whether the server does not have the prepared statement, as behind a pooler."""
    if result.status != pq.ExecStatus.FATAL_ERROR:
        return False
    return result.error_field(pq.DiagnosticField.SQLSTATE) == _UNKNOWN


def failure_of(pgconn: pq.abc.PGconn, result: pq.abc.PGresult) -> psycopg.Error:
    """The error of a failed result."""
    if pgconn.status == pq.ConnStatus.BAD:
        # Without a SQLSTATE it would be a plain DatabaseError, which callers do not treat as an
        # outage.
        return psycopg.OperationalError(result.get_error_message())
    return errors.error_from_result(result)


def encoded(parameters: Sequence[Parameter]) -> tuple[list[int], list[bytes]]:
    """The parameters' types and their binary form."""
    return [_oid(each) for each in parameters], [_binary(each) for each in parameters]


def rows_of(result: pq.abc.PGresult) -> list[tuple[Any, ...]]:
    """Its decoded rows."""
    # In C: a dozenth of the time that a call for each value takes.
    transformer = _reading.transformer
    transformer.set_pgresult(result)
    rows: list[tuple[Any, ...]] = transformer.load_rows(0, result.ntuples, tuple)
    transformer.set_pgresult(None)  # its memory is that of the largest answer
    return rows


def _oid(parameter: Parameter) -> int:
    if isinstance(parameter, int):
        return _INT8
    if isinstance(parameter, bytes):
        return _BYTEA
    return _BYTEA_ARRAY if parameter and isinstance(parameter[0], bytes) else _INT8_ARRAY


def _binary(parameter: Parameter) -> bytes:
    if isinstance(parameter, bytes):
        return parameter
    if isinstance(parameter, int):
        return parameter.to_bytes(8, signed=True)
    if parameter and isinstance(parameter[0], int):
        sized = [8] * (2 * len(parameter))
        sized[1::2] = parameter  # type: ignore[assignment]
        layout = ">5i" + "iq" * len(parameter)
        return struct.pack(layout, 1, 0, _INT8, len(parameter), 1, *sized)
    is_bytes = bool(parameter) and isinstance(parameter[0], bytes)
    head = struct.pack(">iiiii", 1, 0, _BYTEA if is_bytes else _INT8, len(parameter), 1)
    return head + b"".join([len(item).to_bytes(4) + item for item in parameter])  # type: ignore[arg-type, operator]


class _Reading(threading.local):
    """A thread's reader of binary rows; libpq's results are not for two threads."""

    def __init__(self) -> None:
        self.transformer = Transformer(_Adapters())


class _Adapters:
    """psycopg's own, without a connection, and xid as a number."""

    connection = None

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)
        self.adapters.register_loader("xid", OidBinaryLoader)


_reading = _Reading()
