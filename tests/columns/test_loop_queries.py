"""Statements of calls on an event loop, with a real server that fails, restarts and hangs."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from columns import raw_queries
from columns.loop_queries import LoopQueries
from columns.raw_queries import fetch_all, fetch_one
from eventloop.calls import WouldWait, current_call, require_thread
from tests.loop_calls import Loop
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


class Queries(Loop):
    """With connections to the database."""

    queries: LoopQueries

    def __init__(self) -> None:
        super().__init__(self._begin)

    def _begin(self, running: asyncio.AbstractEventLoop) -> Callable[[], None]:
        self.queries = LoopQueries(running)
        raw_queries.on_loop = self.queries.execute
        return self._finish

    def _finish(self) -> None:
        raw_queries.on_loop = None
        self.queries.close()

    def connected(self) -> None:
        """Until statements go by the loop's own connections."""
        for _ in range(600):
            self.run(lambda: fetch_one("SELECT 1"))
            if any(each.is_open for each in self.queries._pipelines):
                return
            threading.Event().wait(0.02)
        raise AssertionError("no connection of the loop's own")


@pytest.fixture
def loop() -> Iterator[Queries]:
    loop = Queries()
    loop.connected()
    try:
        yield loop
    finally:
        loop.stop()


def test_calls_are_answered_each_with_its_own(loop):
    def doubled(number: int) -> Callable[[], Any]:
        return lambda: [fetch_one("SELECT $1 * 2", number), fetch_one("SELECT $1 + 1", number)]

    found = loop.run(*(doubled(number) for number in range(500)))
    assert found == [[(2 * number,), (number + 1,)] for number in range(500)]


def test_all_kinds_of_parameters_and_columns(loop):
    sql = "SELECT $1, $2, $3 = ARRAY['\\x01'::bytea], $4, NULL::bigint, 'ß'::text, ARRAY[1, 2]"
    values = (7, b"\0\xff", [b"\x01"], True)

    def read() -> Any:
        return fetch_one(sql.replace("$4", "true"), *values[:3])

    assert loop.run(read) == [read()] == [(7, b"\0\xff", True, True, None, "ß", [1, 2])]


def test_a_failing_statement_does_not_affect_others(loop):
    def fails() -> Any:
        return fetch_one("SELECT 1 / $1", 0)

    def unknown() -> Any:
        return fetch_one("SELECT * FROM no_such_table")

    def right() -> Any:
        return fetch_one("SELECT 10 / $1", 5)

    for _ in range(3):
        found = loop.run(right, fails, right, unknown, fails, right)
        assert [found[0], found[2], found[5]] == [(2,)] * 3
        assert isinstance(found[1], psycopg.errors.DivisionByZero)
        assert isinstance(found[3], psycopg.errors.UndefinedTable)
        assert isinstance(found[4], psycopg.errors.DivisionByZero)


def test_a_call_goes_on_behind_its_error(loop):
    def call() -> Any:
        with contextlib.suppress(psycopg.errors.DivisionByZero):
            fetch_one("SELECT 1 / $1", 0)
        return fetch_one("SELECT 1 / $1", 1)

    assert loop.run(call, call) == [(1,), (1,)]


def test_statements_that_the_server_forgot_are_prepared_again(loop):
    def read() -> Any:
        return fetch_all("SELECT n FROM generate_series(1, $1) AS n", 3)

    assert loop.run(read) == [[(1,), (2,), (3,)]]
    for _ in range(2):
        loop.run(*[_forgets] * 2)  # two, so that both connections forget
        assert loop.run(read, read, read) == [[(1,), (2,), (3,)]] * 3


def _forgets() -> Any:
    # DEALLOCATE gives no rows, which is no answer to a query, and is done all the same.
    with contextlib.suppress(psycopg.Error):
        fetch_all("DEALLOCATE ALL")


def test_more_texts_than_are_kept_prepared(loop):
    found = loop.run(
        *((lambda n=n: fetch_one(f"SELECT $1 + {n}", 1)) for n in range(200)),
    )
    assert found == [(n + 1,) for n in range(200)]
    names = loop.queries._pipelines[0]._names
    assert names is not None
    assert len(names) <= raw_queries.MOST_PREPARED


def test_a_lost_connection_fails_waiting_statements_and_is_replaced(loop):
    def pid() -> Any:
        return fetch_one("SELECT pg_backend_pid()::bigint")

    def sleeps() -> Any:
        return fetch_one("SELECT pg_sleep(60)::text, $1", 1)

    before = {row[0] for row in loop.run(*[pid] * 4)}
    waiting = threading.Thread(target=lambda: results.extend(loop.run(sleeps)))
    results: list[Any] = []
    waiting.start()
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        for _ in range(600):
            active = other.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%'"
                " AND state = 'active' AND pid <> pg_backend_pid()"
            ).fetchone()
            if active is not None and active[0]:
                break
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM unnest(%s::int[]) AS pid", [list(before)]
        )
    waiting.join(PATIENCE_SECONDS)
    assert isinstance(results[0], psycopg.OperationalError)
    loop.connected()
    after = {row[0] for row in loop.run(*[pid] * 4)}
    assert after.isdisjoint(before)


def test_a_statement_that_takes_too_long_ends_by_the_servers_own_limit(loop):
    def limited() -> Any:
        return fetch_one("SELECT set_config('statement_timeout', '50', false)")

    def sleeps() -> Any:
        return fetch_one("SELECT pg_sleep(30)::text")

    loop.run(*[limited] * 2)
    (found,) = loop.run(sleeps)
    assert isinstance(found, psycopg.errors.QueryCanceled)


def test_what_would_block_is_begun_again_elsewhere(loop):
    found = loop.run(require_thread, lambda: raw_queries.raw_connection())
    assert [type(each) for each in found] == [WouldWait, WouldWait]
    require_thread()
    assert current_call() is None


def test_a_thread_answers_a_call_that_waits(loop):
    def fails() -> None:
        raise KeyError("in the thread")

    def call() -> Any:
        found = current_call()
        assert found is not None
        return found.in_thread(lambda: (threading.current_thread().name, current_call()))

    def failing_call() -> Any:
        found = current_call()
        assert found is not None
        return found.in_thread(fails)

    (name, inner), error = loop.run(call, failing_call)
    assert name.startswith("web-")
    assert inner is None
    assert isinstance(error, KeyError)
