"""Detects a pooler such as PgBouncer between a connection and PostgreSQL.

In transaction mode a pooler gives each transaction any free server session: prepared statements,
SETs, temporary tables and session locks end up with other clients.
"""

import secrets
from typing import Any

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

_SELECT_PID = b"SELECT pg_backend_pid()"


def is_pooled(raw: psycopg.Connection[Any]) -> bool:
    """Whether a pooler answers for the server: poolers report a backend pid of their own, to assign
    cancel requests. One round trip.
    """
    return int(_value(raw, _SELECT_PID)) != raw.pgconn.backend_pid


def keeps_statements(raw: psycopg.Connection[Any]) -> bool:
    """Whether the pooler keeps prepared statements per client: PgBouncer from 1.21 on with
    max_prepared_statements, which renames them at the server. Older ones pass our names on. Probes
    in one transaction, the caller's or a new one, so that one server session runs it.
    """
    pgconn = raw.pgconn
    outer = pgconn.transaction_status != pq.TransactionStatus.IDLE
    if not outer:
        _done(raw, pgconn.exec_(b"BEGIN"))
    name = f"tidemark_probe_{secrets.token_hex(8)}".encode()
    try:
        _done(raw, pgconn.prepare(name, b"SELECT 1"))
        query = b"SELECT count(*) FROM pg_prepared_statements WHERE name = '%s'"
        passed_on = _value(raw, query % name) != b"0"
        pgconn.close_prepared(name)
    finally:
        if not outer:
            pgconn.exec_(b"COMMIT")
    return not passed_on


def _value(raw: psycopg.Connection[Any], query: bytes) -> bytes:
    return _done(raw, raw.pgconn.exec_(query)).get_value(0, 0) or b""


def _done(raw: psycopg.Connection[Any], result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        return result
    if raw.pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(result.get_error_message())
    raise error_from_result(result)
