"""Statements on an event loop, with a real server that fails, restarts and hangs."""

import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import psycopg
import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection

from columns.raw_queries import afetch_all, afetch_one, fetch_one
from columns.statements import MOST_PREPARED
from eventloop.faces import complete, in_thread, is_on_loop, started, to_loop
from tests.loop_calls import Queries
from tests.patience import PATIENCE_SECONDS, wait

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def loop() -> Iterator[Queries]:
    loop = Queries()
    loop.connected()
    try:
        yield loop
    finally:
        loop.stop()


def test_calls_are_answered_each_with_its_own(loop):
    def doubled(number: int) -> Callable[[], Coroutine[Any, Any, Any]]:
        async def read() -> Any:
            return [
                await afetch_one("SELECT $1 * 2", number),
                await afetch_one("SELECT $1 + 1", number),
            ]

        return read

    found = loop.run(*(doubled(number) for number in range(500)))
    assert found == [[(2 * number,), (number + 1,)] for number in range(500)]


def test_all_kinds_of_parameters_and_columns(loop):
    sql = "SELECT $1, $2, $3 = ARRAY['\\x01'::bytea], $4, NULL::bigint, 'ß'::text, ARRAY[1, 2]"
    values = (7, b"\0\xff", [b"\x01"], True)

    async def read() -> Any:
        return await afetch_one(sql.replace("$4", "true"), *values[:3])

    assert loop.run(read) == [complete(read())] == [(7, b"\0\xff", True, True, None, "ß", [1, 2])]


def test_a_failing_statement_does_not_affect_others(loop):
    async def fails() -> Any:
        return await afetch_one("SELECT 1 / $1", 0)

    async def unknown() -> Any:
        return await afetch_one("SELECT * FROM no_such_table")

    async def right() -> Any:
        return await afetch_one("SELECT 10 / $1", 5)

    for _ in range(3):
        found = loop.run(right, fails, right, unknown, fails, right)
        assert [found[0], found[2], found[5]] == [(2,)] * 3
        assert isinstance(found[1], psycopg.errors.DivisionByZero)
        assert isinstance(found[3], psycopg.errors.UndefinedTable)
        assert isinstance(found[4], psycopg.errors.DivisionByZero)


def test_a_call_goes_on_behind_its_error(loop):
    async def call() -> Any:
        with contextlib.suppress(psycopg.errors.DivisionByZero):
            await afetch_one("SELECT 1 / $1", 0)
        return await afetch_one("SELECT 1 / $1", 1)

    assert loop.run(call, call) == [(1,), (1,)]


def test_statements_that_the_server_forgot_are_prepared_again(loop):
    async def read() -> Any:
        return await afetch_all("SELECT n FROM generate_series(1, $1) AS n", 3)

    assert loop.run(read) == [[(1,), (2,), (3,)]]
    for _ in range(2):
        loop.run(*[_forgets] * 2)  # two, so that both connections forget
        assert loop.run(read, read, read) == [[(1,), (2,), (3,)]] * 3


async def _forgets() -> Any:
    # DEALLOCATE gives no rows, which is no answer to a query, and is done all the same.
    with contextlib.suppress(psycopg.Error):
        await afetch_all("DEALLOCATE ALL")


def test_more_texts_than_are_kept_prepared(loop):
    found = loop.run(
        *((lambda n=n: afetch_one(f"SELECT $1 + {n}", 1)) for n in range(200)),
    )
    assert found == [(n + 1,) for n in range(200)]
    names = loop.queries._pipelines[0]._prepared._names
    assert 0 < len(names) <= MOST_PREPARED


def test_a_lost_connection_fails_waiting_statements_and_is_replaced(loop):
    async def pid() -> Any:
        return await afetch_one("SELECT pg_backend_pid()::bigint")

    async def sleeps() -> Any:
        return await afetch_one("SELECT pg_sleep(60)::text, $1", 1)

    before = {row[0] for row in loop.run(*[pid] * 4)}
    waiting = threading.Thread(target=lambda: results.extend(loop.run(sleeps)))
    results: list[Any] = []
    waiting.start()
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        active = (
            "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%'"
            " AND state = 'active' AND pid <> pg_backend_pid()"
        )
        wait(lambda: other.execute(active).fetchone() is not None, "it sleeps")
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM unnest(%s::int[]) AS pid", [list(before)]
        )
    waiting.join(PATIENCE_SECONDS)
    assert isinstance(results[0], psycopg.OperationalError)
    loop.connected()
    after = {row[0] for row in loop.run(*[pid] * 4)}
    assert after.isdisjoint(before)


def test_a_statement_that_takes_too_long_ends_by_the_servers_own_limit(loop):
    async def limited() -> Any:
        return await afetch_one("SELECT set_config('statement_timeout', '50', false)")

    async def sleeps() -> Any:
        return await afetch_one("SELECT pg_sleep(30)::text")

    loop.run(*[limited] * 2)
    (found,) = loop.run(sleeps)
    assert isinstance(found, psycopg.errors.QueryCanceled)


def test_what_would_block_the_loop_is_refused_there(loop):
    async def blocks() -> Any:
        return fetch_one("SELECT 1")

    (found,) = loop.run(blocks)
    assert isinstance(found, SynchronousOnlyOperation)
    assert complete(blocks()) == (1,)


def test_a_thread_runs_what_would_block(loop):
    def fails() -> None:
        raise KeyError("in the thread")

    async def call() -> Any:
        assert is_on_loop()
        return await in_thread(lambda: (threading.current_thread().name, is_on_loop()))

    async def failing_call() -> Any:
        return await in_thread(fails)

    (name, inner), error = loop.run(call, failing_call)
    assert name.startswith("web-")
    assert inner is False
    assert isinstance(error, KeyError)


def test_a_coroutine_that_began_in_a_thread_goes_on_on_the_loop(loop):
    where: list[bool] = []

    async def call() -> Any:
        where.append(is_on_loop())
        await to_loop()
        where.append(is_on_loop())
        return await afetch_one("SELECT $1", 7)

    begun = call()
    assert started(begun) is None
    assert loop.run(lambda: begun) == [(7,)]
    assert where == [False, True]
    assert started(in_thread(lambda: 5)) == (5,)
    assert complete(call()) == (7,)
