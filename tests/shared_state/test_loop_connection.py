"""One connection on an event loop: replies, scripts, and what happens when Redis is away."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis
from django.conf import settings

from shared_state.loop_connection import LoopConnection
from shared_state.redis_client import async_client_of, client
from shared_state.script_socket import Script, command

KEY = "tidemark:test:connection"
ECHO = Script(f"return {{KEYS[1] or 'no key', ARGV[1], redis.call('INCRBY', '{KEY}', 1)}}")
SECONDS = 30.0


@pytest.fixture(autouse=True)
def no_key() -> Iterator[None]:
    client().delete(KEY)
    yield
    client().delete(KEY)


def run(test: Callable[[LoopConnection], Awaitable[None]]) -> None:
    async def main() -> None:
        made = async_client_of(settings.REDIS_URL)
        connection = LoopConnection(made)
        await connection.open()
        try:
            await test(connection)
        finally:
            connection.close()
            await made.aclose()

    asyncio.run(main())


def test_a_reply_comes_as_redis_gives_it() -> None:
    async def test(connection: LoopConnection) -> None:
        assert await connection.send(command("SET", KEY, b"\r\n\0")) == b"OK"
        assert await connection.send(command("GET", KEY)) == b"\r\n\0"
        assert await connection.send(command("SET", KEY, "x" * 300_000)) == b"OK"
        assert await connection.send(command("GET", KEY)) == b"x" * 300_000

    run(test)


def test_each_gets_its_own_reply_and_a_wait_that_ended_none() -> None:
    async def test(connection: LoopConnection) -> None:
        waits = [asyncio.ensure_future(connection.send(command("ECHO", n))) for n in range(500)]
        await asyncio.sleep(0)
        waits[7].cancel()
        found = await asyncio.gather(*waits, return_exceptions=True)
        assert isinstance(found.pop(7), asyncio.CancelledError)
        assert found == [str(n).encode() for n in range(500) if n != 7]

    run(test)


def test_commands_that_redis_reads_late_are_all_sent() -> None:
    async def test(connection: LoopConnection) -> None:
        big = "x" * 100_000
        # More than the sockets' buffers hold, while Redis replies to nothing.
        waiting = [connection.send(command("BLPOP", KEY, 0.3))]
        waiting += [connection.send(command("ECHO", big)) for _ in range(100)]
        assert await asyncio.gather(*waiting) == [None, *[big.encode()] * 100]

    run(test)


@pytest.mark.usefixtures("own_redis")
def test_a_script_is_sent_whole_where_redis_does_not_have_it() -> None:
    async def test(connection: LoopConnection) -> None:
        client().script_flush()
        assert await ECHO.run_by(connection.send, 0, "a") == [b"no key", b"a", 1]
        assert await ECHO.run_by(connection.send, 1, KEY, 7) == [KEY.encode(), b"7", 2]

    run(test)


def test_an_error_of_redis_is_raised_and_the_connection_stays() -> None:
    async def test(connection: LoopConnection) -> None:
        number = await connection.send(command("CLIENT", "ID"))
        with pytest.raises(redis.ResponseError, match="unknown command"):
            await connection.send(command("NO-SUCH-COMMAND"))
        assert await connection.send(command("CLIENT", "ID")) == number

    run(test)


def test_a_connection_that_was_cut_is_told_once_and_then_replaced() -> None:
    async def test(connection: LoopConnection) -> None:
        number = await connection.send(command("CLIENT", "ID"))
        waiting = asyncio.create_task(connection.send(command("BLPOP", KEY, 0)))
        while b"cmd=blpop" not in bytes(client().execute_command("CLIENT", "LIST", "ID", number)):
            await asyncio.sleep(0.01)
        client().client_kill_filter(_id=str(number))
        with pytest.raises(redis.ConnectionError):
            await waiting
        assert not connection.is_open
        with pytest.raises(redis.ConnectionError):
            await connection.send(command("CLIENT", "ID"))
        assert await connection.send_within(SECONDS, command("CLIENT", "ID")) > number

    run(test)


def test_a_late_reply_is_not_the_next_commands() -> None:
    async def test(connection: LoopConnection) -> None:
        with pytest.raises(redis.TimeoutError):
            await connection.send_within(0.2, command("BLPOP", KEY, 0))
        client().rpush(KEY, "late")
        assert await connection.send_within(SECONDS, command("ECHO", "mine")) == b"mine"

    run(test)
