"""Queries on the psycopg connection under Django's, for hot paths.

Reads use psycopg's libpq layer with prepared statements: a cursor takes 240 µs of wall time for the
query of getTransaction, this 70 (docs/benchmarks.md). Behind a pooler that does not keep prepared
statements per client, nothing is prepared (docs/decisions/engines.md).

A text takes its lists by `unnest((SELECT $1))`. PostgreSQL knows the length of a bare `$1`, and so
plans the statement again in each call; that costs more than the call (docs/decisions/reads.md).
"""

import itertools
import os
import secrets
import select
import struct
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.utils.asyncio import async_unsafe
from psycopg import errors, pq
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.types.numeric import OidBinaryLoader

from columns import clusters
from columns.poolers import is_pooled, keeps_statements
from eventloop.faces import is_on_loop

# A query's parameter: int is bigint, the lists are bigint[] and bytea[].
Parameter = int | bytes | Sequence[int] | Sequence[bytes]
# A text and its parameters.
Query = tuple[Any, ...]

_INT8, _BYTEA, _INT8_ARRAY, _BYTEA_ARRAY = 20, 17, 1016, 1001
NOT_PREPARED = b"26000"  # invalid_sql_statement_name

# Per connection. The plan of a read of an epoch's partitions takes 200 kB of server memory, and
# there is one such text per epoch.
MOST_PREPARED = 64

# Unique across all processes and machines: a name may outlive our record of it at the server, or
# the reverse, and a pooler may expose it to other clients. Processes fork after this line.
_numbers = itertools.count()
_ours = secrets.token_hex(6).encode()
# Each connection's prepared statements by text; None if nothing can be prepared.
_prepared: WeakKeyDictionary[psycopg.Connection[Any], dict[str, bytes] | None] = WeakKeyDictionary()
_IDLE = pq.TransactionStatus.IDLE
# The parts of a pipeline, and the server's status for each on success.
_PREPARE, _QUERY, _SYNC = range(3)
_SUCCESS = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.PIPELINE_SYNC)

# Runs statements on the web server's loop (columns.loop_queries), while there is one.
on_loop: (
    Callable[[Sequence[tuple[str, Sequence[Parameter]]]], Awaitable[list[pq.abc.PGresult]]] | None
) = None


@async_unsafe
def raw_connection() -> psycopg.Connection[Any]:
    """This thread's connection, inside the transaction that Django has open on it."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    if wrapper.connection is None:
        wrapper.ensure_connection()
    return wrapper.connection  # type: ignore[no-any-return]


def close_lost_connection() -> None:
    """Closes the thread's database connection if the server has closed it, so that the next query
    reconnects.

    An idle connection is readable only if the server ended it: after a restart every thread would
    fail one request. Polling the socket takes a microsecond, a query a hundred.
    """
    raw = connection.connection
    if raw is None or connection.in_atomic_block:
        return
    if not raw.closed and not _is_readable(raw.fileno(), wait=False):
        return
    connection.close()


def _is_readable(descriptor: int, *, wait: bool) -> bool:
    """Whether something came, or the connection ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if wait else 0))


def fetch_one(sql: str, *parameters: Parameter) -> tuple[Any, ...] | None:
    """The first row, or None. Parameters are $1, $2, …; columns bigint, int, smallint, boolean,
    bytea, text, int[] or xid.
    """
    rows = _rows(execute(sql, parameters))
    return rows[0] if rows else None


def fetch_all(sql: str, *parameters: Parameter) -> list[tuple[Any, ...]]:
    """Every row; parameters and columns as in fetch_one."""
    return _rows(execute(sql, parameters))


async def afetch_one(sql: str, *parameters: Parameter) -> tuple[Any, ...] | None:
    """As fetch_one, awaited on the web server's loop. Only for statements that read."""
    rows = await afetch_all(sql, *parameters)
    return rows[0] if rows else None


async def afetch_all(sql: str, *parameters: Parameter) -> list[tuple[Any, ...]]:
    """As fetch_all, the same way."""
    if on_loop is None or not is_on_loop():
        return fetch_all(sql, *parameters)
    statements = [(text, rest) for text, *rest in _fenced([(sql, *parameters)])]
    return _rows((await on_loop(statements))[-1])


def fetch_together(queries: Sequence[Query]) -> list[list[tuple[Any, ...]]]:
    """The rows of each query, as from fetch_all, in one round trip. The queries run in order; each
    may see what was committed after the previous one began.
    """
    if len(queries) < 2:
        return [fetch_all(*query) for query in queries]
    if connection.in_atomic_block:
        return [_rows(result) for result in _together(queries)]
    return [_rows(result) for result in _together(_fenced(queries))[-len(queries) :]]


def _fenced(queries: Sequence[Query]) -> Sequence[Query]:
    """With what waits, in a cluster, until no transaction is between the commits of its nodes."""
    return [(clusters.READ_FENCE,), *queries] if clusters.is_clustered() else queries


def _together(queries: Sequence[Query]) -> list[pq.abc.PGresult]:
    """The undecoded rows of each query."""
    raw, names = _ready()
    try:
        sent = _send(raw, names, queries)
        results = _received(raw, sent)
    except BaseException:
        # Unread results would be taken for those of the next queries.
        connection.errors_occurred = True
        raw.close()
        raise
    failed: pq.abc.PGresult | None = None
    found: list[pq.abc.PGresult] = []
    for (kind, sql), result in zip(sent, results, strict=True):
        if result.status == _SUCCESS[kind]:
            if kind is _QUERY:
                found.append(result)
            continue
        if names is not None:
            names.pop(sql, None)
        if result.status != pq.ExecStatus.PIPELINE_ABORTED:
            failed = failed or result
    if failed is None:
        return found
    if failed.error_field(pq.DiagnosticField.SQLSTATE) != NOT_PREPARED:
        raise _failure(raw, failed)
    # The pooler switched to another server process.
    return [_execute(sql, parameters) for sql, *parameters in queries]


def _received(
    raw: psycopg.Connection[Any], sent: Sequence[tuple[int, str]]
) -> list[pq.abc.PGresult]:
    """The result of each part of the pipeline. Leaves pipeline mode."""
    pgconn = raw.pgconn
    results: list[pq.abc.PGresult] = []
    for kind, _ in sent:
        result = _next_result(pgconn)
        if result is None or pgconn.status == pq.ConnStatus.BAD:
            raise psycopg.OperationalError(pgconn.get_error_message())
        # Each result is followed by a None, except that of the synchronization point, the last.
        if kind is not _SYNC:
            _next_result(pgconn)
        results.append(result)
    pgconn.exit_pipeline_mode()
    return results


def _next_result(pgconn: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """The connection's next result. libpq would wait for it with the interpreter's lock held, and
    the thread that the server waits for could not run.
    """
    while pgconn.is_busy():
        _is_readable(pgconn.socket, wait=True)
        pgconn.consume_input()
    return pgconn.get_result()


def _send(
    raw: psycopg.Connection[Any], names: dict[str, bytes] | None, queries: Sequence[Query]
) -> list[tuple[int, str]]:
    """Sends all queries. Returns the expected results, in order."""
    pgconn = raw.pgconn
    new = {sql for sql, *_ in queries if names is not None and sql not in names}
    if names is not None:
        _make_room(raw, names, len(new), keeping={sql for sql, *_ in queries})
    sent: list[tuple[int, str]] = []
    pgconn.enter_pipeline_mode()
    for sql, *parameters in queries:
        types, values = encoded(parameters)
        formats = [1] * len(values)
        if names is None:
            pgconn.send_query_params(sql.encode(), values, types, formats, 1)
        else:
            name = names.pop(sql, None)
            if name is None:
                name = new_name()
                pgconn.send_prepare(name, sql.encode(), types)
                sent.append((_PREPARE, sql))
            names[sql] = name
            pgconn.send_query_prepared(name, values, formats, 1)
        sent.append((_QUERY, sql))
    pgconn.pipeline_sync()
    sent.append((_SYNC, ""))
    return sent


def _ready() -> tuple[psycopg.Connection[Any], dict[str, bytes] | None]:
    """The connection, inside its transaction, and its prepared statements."""
    raw = raw_connection()
    if not raw.autocommit and raw.pgconn.transaction_status == _IDLE:
        _begin(raw)
    try:
        names = _prepared[raw]
    except KeyError:
        names = _prepared[raw] = _noted_statements(raw)
    return raw, names


def execute(sql: str, parameters: Sequence[Parameter]) -> pq.abc.PGresult:
    """The undecoded rows."""
    if clusters.is_clustered() and not connection.in_atomic_block:
        return _together(_fenced([(sql, *parameters)]))[-1]
    return _execute(sql, parameters)


def _execute(sql: str, parameters: Sequence[Parameter]) -> pq.abc.PGresult:
    raw, names = _ready()
    types, values = encoded(parameters)
    formats = [1] * len(values)
    if names is None:
        result = raw.pgconn.exec_params(sql.encode(), values, types, formats, 1)
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise _failure(raw, result)
        return result
    name = names.pop(sql, None)
    if name is not None:
        names[sql] = name  # moved to the end: the first one is evicted
        result = raw.pgconn.exec_prepared(name, values, formats, 1)
        if result.status == pq.ExecStatus.TUPLES_OK:
            return result
        if result.error_field(pq.DiagnosticField.SQLSTATE) != NOT_PREPARED:
            raise _failure(raw, result)
        del names[sql]
    # New on this connection, or the pooler switched to another server process.
    _make_room(raw, names, 1)
    name = names[sql] = new_name()
    prepared = raw.pgconn.prepare(name, sql.encode(), types)
    if prepared.status != pq.ExecStatus.COMMAND_OK:
        del names[sql]
        raise _failure(raw, prepared)
    result = raw.pgconn.exec_prepared(name, values, formats, 1)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise _failure(raw, result)
    return result


def new_name() -> bytes:
    """A unique name for a prepared statement."""
    return b"tidemark_%b_%d_%d" % (_ours, os.getpid(), next(_numbers))


def encoded(parameters: Sequence[Parameter]) -> tuple[list[int], list[bytes]]:
    """The parameters' types and their binary form."""
    return [_oid(each) for each in parameters], [_binary(each) for each in parameters]


def statements_of(raw: psycopg.Connection[Any]) -> dict[str, bytes] | None:
    """An empty record of a new connection's prepared statements by text; None if there cannot be
    any.
    """
    return None if is_pooled(raw) and not keeps_statements(raw) else {}


def _make_room(
    raw: psycopg.Connection[Any],
    names: dict[str, bytes],
    count: int,
    keeping: Collection[str] = (),
) -> None:
    """Closes the least recently used statements so that `count` more can be prepared."""
    if count:
        spare = len(names) + count - MOST_PREPARED
        oldest = [sql for sql in names if sql not in keeping][: max(spare, 0)]
        for sql in oldest:
            # No error where the server does not know the name, unlike DEALLOCATE.
            raw.pgconn.close_prepared(names.pop(sql))


def _begin(raw: psycopg.Connection[Any]) -> None:
    """Sends BEGIN: Django opened an atomic block, and psycopg would send it only with its own first
    statement.
    """
    result = raw.pgconn.exec_(b"BEGIN")
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise _failure(raw, result)


def _noted_statements(raw: psycopg.Connection[Any]) -> dict[str, bytes] | None:
    try:
        return statements_of(raw)
    except psycopg.Error:
        connection.errors_occurred = True
        raise


def _failure(raw: psycopg.Connection[Any], result: pq.abc.PGresult) -> psycopg.Error:
    connection.errors_occurred = True  # Django then checks whether the connection still works
    if raw.pgconn.status == pq.ConnStatus.BAD:
        # Without a SQLSTATE it would be a plain DatabaseError, which callers do not treat as an
        # outage.
        return psycopg.OperationalError(result.get_error_message())
    return errors.error_from_result(result)


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


def _rows(result: pq.abc.PGresult) -> list[tuple[Any, ...]]:
    # In C: a dozenth of the time that a call for each value takes.
    transformer = _reading.transformer
    transformer.set_pgresult(result)
    rows: list[tuple[Any, ...]] = transformer.load_rows(0, result.ntuples, tuple)
    transformer.set_pgresult(None)  # its memory is that of the largest answer
    return rows
