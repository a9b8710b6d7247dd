"""Statements on the web server's event loop: few connections, statements are pipelined without
waiting (libpq's pipeline mode), and results go to those who await them as they arrive.

Statements of one turn of the loop are sent together as one implicit transaction: if one fails,
those after it fail as aborted and are sent again. Only statements that read may be sent this way.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq

from columns import raw_queries
from columns.statements import Parameter, Statements, encoded, failure_of, is_unknown
from eventloop.faces import in_thread

# A text and its parameters.
Query = tuple[str, Sequence[Parameter]]

log = logging.getLogger(__name__)

CONNECTIONS = 2  # of a loop
_PAUSE_SECONDS = 1.0  # after a connection that failed
_WATCH_SECONDS = 1.0
_MARGIN_SECONDS = 2.0
_LONGEST_SECONDS = 60.0  # if the server has no statement timeout
_SENT_AGAIN = 3
_FLUSHED = 0

_OK = pq.ExecStatus.TUPLES_OK
_ABORTED = pq.ExecStatus.PIPELINE_ABORTED
_SYNCED = pq.ExecStatus.PIPELINE_SYNC


@dataclass(slots=True)
class _Asked:
    """What is awaited: the results of statements, in order, or the first error."""

    future: "asyncio.Future[list[Any]]"
    results: list[Any]
    left: int
    error: psycopg.Error | None = None


@dataclass(slots=True)
class _Statement:
    asked: _Asked
    number: int
    sql: str
    types: list[int]
    values: list[bytes]
    times: int = 0
    sent_at: float = 0.0


@dataclass(slots=True)
class _Preparation:
    """The preparation of the statement that follows it."""

    sql: str
    failed: pq.abc.PGresult | None = None


# Other items with a result: the end of a turn, and the closing of a prepared statement.
_TURN, _CLOSING = object(), object()


class Pipeline:
    """One connection, in autocommit mode. Used on the loop only; it owns `raw`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, raw: psycopg.Connection[Any]) -> None:
        self.is_open = False
        self.pending: deque[object] = deque()
        self._loop = loop
        self._raw = raw
        self._pgconn = raw.pgconn
        self._socket = raw.pgconn.socket
        self._prepared = Statements(raw)
        self._result: pq.abc.PGresult | None = None
        self._turn_ends = False
        self._is_writing = False
        self._is_watched = False
        self._before: _Preparation | None = None

    def begin(self) -> None:
        """Starts reading. Call it on the loop."""
        self._pgconn.nonblocking = 1
        self._pgconn.enter_pipeline_mode()
        self.is_open = True
        self._loop.add_reader(self._socket, self._on_readable)

    def execute(self, queries: Sequence[Query]) -> "asyncio.Future[list[Any]]":
        """The statements' results, or psycopg's errors."""
        asked = _Asked(self._loop.create_future(), [None] * len(queries), len(queries))
        for number, (sql, parameters) in enumerate(queries):
            self._send(_Statement(asked, number, sql, *encoded(parameters)))
        return asked.future

    def close(self, error: psycopg.Error | None = None) -> None:
        """Closes the connection; waiting statements fail with the error."""
        if self.is_open:
            self._loop.remove_reader(self._socket)
            if self._is_writing:
                self._loop.remove_writer(self._socket)
        self.is_open = False
        self._raw.close()
        waiting = [each for each in self.pending if isinstance(each, _Statement)]
        self.pending.clear()
        for each in waiting:
            why = error or psycopg.OperationalError("the connection was closed")
            self._loop.call_soon(self._done, each, None, why)

    def _send(self, statement: _Statement) -> None:
        statement.times += 1
        statement.sent_at = time.monotonic()
        pgconn, pending = self._pgconn, self.pending
        formats = [1] * len(statement.values)
        try:
            name = self._prepared_name(statement)
            if name is None:
                pgconn.send_query_params(
                    statement.sql.encode(), statement.values, statement.types, formats, 1
                )
            else:
                pgconn.send_query_prepared(name, statement.values, formats, 1)
            pending.append(statement)
        except psycopg.Error as error:
            self._loop.call_soon(self._done, statement, None, error)
            self._loop.call_soon(self.close)
            return
        if not self._turn_ends:
            self._turn_ends = True
            self._loop.call_soon(self._end_turn)
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(_WATCH_SECONDS, self._watch)

    def _prepared_name(self, statement: _Statement) -> bytes | None:
        name, is_new = self._prepared.use(statement.sql)
        if name is not None and is_new:
            for spare in self._prepared.spare():
                self._pgconn.send_close_prepared(spare)
                self.pending.append(_CLOSING)
            self._pgconn.send_prepare(name, statement.sql.encode(), statement.types)
            self.pending.append(_Preparation(statement.sql))
        return name

    def _end_turn(self) -> None:
        self._turn_ends = False
        if not self.is_open:
            return
        try:
            self._pgconn.pipeline_sync()
            self.pending.append(_TURN)
        except psycopg.Error as error:
            self.close(psycopg.OperationalError(str(error)))
            return
        self._flush()

    def _flush(self) -> None:
        try:
            is_sent = self._pgconn.flush() == _FLUSHED
        except psycopg.Error as error:
            self.close(psycopg.OperationalError(str(error)))
            return
        if not is_sent and not self._is_writing:
            self._is_writing = True
            self._loop.add_writer(self._socket, self._flush)
        elif is_sent and self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._socket)

    def _on_readable(self) -> None:
        pgconn = self._pgconn
        try:
            pgconn.consume_input()
            while self.is_open and not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    if self._result is None:
                        break
                    found, self._result = self._result, None
                    self._take(self.pending.popleft(), found)
                elif result.status == _SYNCED:
                    self.pending.popleft()
                elif self._result is None:
                    self._result = result
        except (psycopg.Error, IndexError) as error:
            self.close(psycopg.OperationalError(str(error)))
            return
        if pgconn.status == pq.ConnStatus.BAD:
            self.close(psycopg.OperationalError("the server closed the connection"))

    def _take(self, item: object, result: pq.abc.PGresult) -> None:
        before, self._before = self._before, None
        if isinstance(item, _Preparation):
            self._before = item
            if result.status != pq.ExecStatus.COMMAND_OK:
                item.failed = result
                self._prepared.forget(item.sql)
        elif isinstance(item, _Statement):
            self._answer(item, result, None if before is None else before.failed)

    def _answer(
        self, statement: _Statement, result: pq.abc.PGresult, unprepared: pq.abc.PGresult | None
    ) -> None:
        if result.status == _OK:
            self._done(statement, result, None)
            return
        if unprepared is not None and unprepared.status != _ABORTED:
            result = unprepared
        is_forgotten = is_unknown(result)
        if is_forgotten:
            self._prepared.forget(statement.sql)
        # The first failure of a turn is not sent again, so that every turn makes progress.
        if result.status == _ABORTED or (is_forgotten and statement.times < _SENT_AGAIN):
            self._send(statement)
        else:
            self._done(statement, None, failure_of(self._pgconn, result))

    def _done(self, statement: _Statement, result: Any, error: psycopg.Error | None) -> None:
        asked = statement.asked
        asked.results[statement.number] = result
        asked.error = asked.error or error
        asked.left -= 1
        if asked.left or asked.future.done():
            return
        if asked.error is None:
            asked.future.set_result(asked.results)
        else:
            asked.future.set_exception(asked.error)

    def _watch(self) -> None:
        """Closes the connection if the server does not respond within its own time limit."""
        self._is_watched = False
        oldest = next((each for each in self.pending if isinstance(each, _Statement)), None)
        if oldest is None or not self.is_open:
            return
        limit = settings.STATEMENT_TIMEOUT_MS / 1_000 or _LONGEST_SECONDS
        if time.monotonic() - oldest.sent_at > limit + _MARGIN_SECONDS:
            self.close(psycopg.OperationalError("the server does not respond"))
            return
        self._is_watched = True
        self._loop.call_later(_WATCH_SECONDS, self._watch)


class LoopQueries:
    """The pipelines of one loop. While none is connected, statements run in threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pipelines: list[Pipeline] = []
        self._is_connecting = False
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._is_closed = False

    async def execute(self, queries: Sequence[Query]) -> list[Any]:
        """The statements' results. Raises psycopg's errors."""
        open_ones = [each for each in self._pipelines if each.is_open]
        if len(open_ones) < CONNECTIONS:
            self._connect()
        if not open_ones:
            return await in_thread(_in_thread, queries)
        return await min(open_ones, key=lambda each: len(each.pending)).execute(queries)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        for each in self._pipelines:
            each.close()

    def _connect(self) -> None:
        if self._is_connecting or self._is_closed or time.monotonic() < self._not_before:
            return
        self._is_connecting = True
        made = self._loop.run_in_executor(None, self._connected)
        made.add_done_callback(self._take)

    def _connected(self) -> Pipeline:
        """A new pipeline, connected by Django with its settings. Runs in a thread."""
        wrapper = connections.create_connection(DEFAULT_DB_ALIAS)
        wrapper.connect()
        pipeline = Pipeline(self._loop, wrapper.connection)
        with self._lock:
            if self._is_closed:
                wrapper.connection.close()
            else:
                self._pipelines.append(pipeline)
        return pipeline

    def _take(self, made: "asyncio.Future[Pipeline]") -> None:
        self._is_connecting = False
        try:
            pipeline = made.result()
        except Exception as error:
            # The statements that run in threads meanwhile report the problem.
            log.debug("no connection for the event loop: %s", error)
            self._not_before = time.monotonic() + _PAUSE_SECONDS
            return
        with self._lock:
            self._pipelines = [p for p in self._pipelines if p.is_open or p is pipeline]
            if not self._is_closed:
                pipeline.begin()


def _in_thread(queries: Sequence[Query]) -> list[Any]:
    return [raw_queries.execute(*each) for each in queries]
