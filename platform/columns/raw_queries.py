"""Queries on the psycopg connection under Django's, for hot paths.

Reads use psycopg's libpq layer with prepared statements (columns.statements): a cursor takes 240 µs
of wall time for the query of getTransaction, this 70 (docs/benchmarks.md).

A text takes its lists by `unnest((SELECT $1))`. PostgreSQL knows the length of a bare `$1`, and so
plans the statement again in each call; that costs more than the call (docs/decisions/reads.md).
"""

import select
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.utils.asyncio import async_unsafe
from psycopg import pq

from columns import clusters
from columns.statements import Parameter, Statements, encoded, failure_of, is_unknown, rows_of
from eventloop.faces import is_on_loop

# A text and its parameters.
Query = tuple[Any, ...]

# A parameter of `microseconds` as PostgreSQL's time.
MOMENT = "to_timestamp({} / 1000000.0)"

# Each connection's prepared statements.
_prepared: WeakKeyDictionary[psycopg.Connection[Any], Statements] = WeakKeyDictionary()
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


def copy_rows(
    table: str, columns: tuple[str, ...], types: list[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Writes the rows by COPY. `types` are those of the columns."""
    if not rows:
        return
    command = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with raw_connection().cursor() as cursor, cursor.copy(command) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


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
    rows = rows_of(execute(sql, parameters))
    return rows[0] if rows else None


def fetch_all(sql: str, *parameters: Parameter) -> list[tuple[Any, ...]]:
    """Every row; parameters and columns as in fetch_one."""
    return rows_of(execute(sql, parameters))


def microseconds(moment: datetime) -> int:
    """As a parameter: since 1970."""
    return int(moment.timestamp() * 1_000_000)


def exists(*queries: str, parameters: tuple[Parameter, ...] = ()) -> bool:
    """Whether any of the queries, which share the parameters $1, $2, …, finds a row. For checks
    that run every second: the ORM takes a millisecond to build each.
    """
    found = fetch_one(
        f"SELECT {' OR '.join(f'EXISTS ({query})' for query in queries)}", *parameters
    )
    assert found is not None
    return bool(found[0])


async def afetch_one(sql: str, *parameters: Parameter) -> tuple[Any, ...] | None:
    """As fetch_one, awaited on the web server's loop. Only for statements that read."""
    rows = await afetch_all(sql, *parameters)
    return rows[0] if rows else None


async def afetch_all(sql: str, *parameters: Parameter) -> list[tuple[Any, ...]]:
    """As fetch_all, the same way."""
    if on_loop is None or not is_on_loop():
        return fetch_all(sql, *parameters)
    statements = [(text, rest) for text, *rest in _fenced([(sql, *parameters)])]
    return rows_of((await on_loop(statements))[-1])


def fetch_together(queries: Sequence[Query]) -> list[list[tuple[Any, ...]]]:
    """The rows of each query, as from fetch_all, in one round trip. The queries run in order; each
    may see what was committed after the previous one began.
    """
    if len(queries) < 2:
        return [fetch_all(*query) for query in queries]
    if connection.in_atomic_block:
        return [rows_of(result) for result in _together(queries)]
    return [rows_of(result) for result in _together(_fenced(queries))[-len(queries) :]]


def _fenced(queries: Sequence[Query]) -> Sequence[Query]:
    """With what waits, in a cluster, until no transaction is between the commits of its nodes."""
    return [(clusters.READ_FENCE,), *queries] if clusters.is_clustered() else queries


def _together(queries: Sequence[Query]) -> list[pq.abc.PGresult]:
    """The undecoded rows of each query."""
    raw, prepared = _ready()
    try:
        sent = _send(raw, prepared, queries)
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
        prepared.forget(sql)
        if result.status != pq.ExecStatus.PIPELINE_ABORTED:
            failed = failed or result
    if failed is None:
        return found
    if not is_unknown(failed):
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
    raw: psycopg.Connection[Any], prepared: Statements, queries: Sequence[Query]
) -> list[tuple[int, str]]:
    """Sends all queries. Returns the expected results, in order."""
    pgconn = raw.pgconn
    uses = [prepared.use(sql) for sql, *_ in queries]
    _close_spare(raw, prepared, {sql for sql, *_ in queries})
    sent: list[tuple[int, str]] = []
    pgconn.enter_pipeline_mode()
    for (sql, *parameters), (name, is_new) in zip(queries, uses, strict=True):
        types, values = encoded(parameters)
        formats = [1] * len(values)
        if name is None:
            pgconn.send_query_params(sql.encode(), values, types, formats, 1)
        else:
            if is_new:
                pgconn.send_prepare(name, sql.encode(), types)
                sent.append((_PREPARE, sql))
            pgconn.send_query_prepared(name, values, formats, 1)
        sent.append((_QUERY, sql))
    pgconn.pipeline_sync()
    sent.append((_SYNC, ""))
    return sent


def _close_spare(
    raw: psycopg.Connection[Any], prepared: Statements, keeping: Collection[str]
) -> None:
    for name in prepared.spare(keeping):
        # No error where the server does not know the name, unlike DEALLOCATE.
        raw.pgconn.close_prepared(name)


def _ready() -> tuple[psycopg.Connection[Any], Statements]:
    """The connection, inside its transaction, and its prepared statements."""
    raw = raw_connection()
    if not raw.autocommit and raw.pgconn.transaction_status == _IDLE:
        _begin(raw)
    try:
        return raw, _prepared[raw]
    except KeyError:
        pass
    try:
        prepared = _prepared[raw] = Statements(raw)
    except psycopg.Error:
        connection.errors_occurred = True
        raise
    return raw, prepared


def execute(sql: str, parameters: Sequence[Parameter]) -> pq.abc.PGresult:
    """The undecoded rows."""
    if clusters.is_clustered() and not connection.in_atomic_block:
        return _together(_fenced([(sql, *parameters)]))[-1]
    return _execute(sql, parameters)


def _execute(sql: str, parameters: Sequence[Parameter]) -> pq.abc.PGresult:
    raw, prepared = _ready()
    types, values = encoded(parameters)
    formats = [1] * len(values)
    name, is_new = prepared.use(sql)
    if name is None:
        result = raw.pgconn.exec_params(sql.encode(), values, types, formats, 1)
    elif not is_new:
        result = raw.pgconn.exec_prepared(name, values, formats, 1)
        if is_unknown(result):  # the pooler switched to another server process
            prepared.forget(sql)
            return _execute(sql, parameters)
    else:
        _close_spare(raw, prepared, (sql,))
        result = raw.pgconn.prepare(name, sql.encode(), types)
        if result.status == pq.ExecStatus.COMMAND_OK:
            result = raw.pgconn.exec_prepared(name, values, formats, 1)
        else:
            prepared.forget(sql)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise _failure(raw, result)
    return result


def _begin(raw: psycopg.Connection[Any]) -> None:
    """Sends BEGIN: Django opened an atomic block, and psycopg would send it only with its own first
    statement.
    """
    result = raw.pgconn.exec_(b"BEGIN")
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise _failure(raw, result)


def _failure(raw: psycopg.Connection[Any], result: pq.abc.PGresult) -> psycopg.Error:
    connection.errors_occurred = True  # Django then checks whether the connection still works
    return failure_of(raw.pgconn, result)
