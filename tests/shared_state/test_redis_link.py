"""Ready-made commands on one connection: replies, scripts, and what happens when Redis is away."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis
from django.conf import settings
from redis.asyncio import Redis

from shared_state.redis_client import client
from shared_state.redis_link import RedisLink

KEY = "tidemark:test:link"
ECHO = f"return {{KEYS[1] or 'no key', ARGV[1], redis.call('INCRBY', '{KEY}', 1)}}"


@pytest.fixture(autouse=True)
def no_key() -> Iterator[None]:
    client().delete(KEY)
    yield
    client().delete(KEY)


def run(test: Callable[[RedisLink], Awaitable[None]], seconds: float = 30.0) -> None:
    async def main() -> None:
        made: Redis = Redis.from_url(settings.REDIS_URL)
        link = RedisLink(made, seconds=seconds)
        try:
            await test(link)
        finally:
            link.close()
            await made.aclose()

    asyncio.run(main())


def test_a_reply_comes_as_redis_gives_it() -> None:
    async def test(link: RedisLink) -> None:
        assert await link.ask("SET", KEY, b"\r\n\0") == b"OK"
        assert await link.ask("GET", KEY) == b"\r\n\0"
        assert await link.ask("SET", KEY, "x" * 300_000) == b"OK"
        assert await link.ask("GET", KEY) == b"x" * 300_000

    run(test)


def test_a_script_is_sent_whole_where_redis_does_not_have_it() -> None:
    async def test(link: RedisLink) -> None:
        client().script_flush()
        assert await link.run(ECHO, ["a"]) == [b"no key", b"a", 1]
        assert await link.run(ECHO, [7]) == [b"no key", b"7", 2]

    run(test)


def test_an_error_of_redis_is_raised_and_the_connection_stays() -> None:
    async def test(link: RedisLink) -> None:
        number = await link.ask("CLIENT", "ID")
        with pytest.raises(redis.ResponseError, match="unknown command"):
            await link.ask("NO-SUCH-COMMAND")
        assert await link.ask("CLIENT", "ID") == number

    run(test)


def test_a_connection_that_was_cut_is_told_once_and_then_replaced() -> None:
    async def test(link: RedisLink) -> None:
        number = await link.ask("CLIENT", "ID")
        waiting = asyncio.create_task(link.ask("BLPOP", KEY, 0))
        while b"cmd=blpop" not in bytes(client().execute_command("CLIENT", "LIST", "ID", number)):
            await asyncio.sleep(0.01)
        client().client_kill_filter(_id=str(number))
        with pytest.raises(redis.ConnectionError):
            await waiting
        assert await link.ask("CLIENT", "ID") > number

    run(test)


def test_a_late_reply_is_not_the_next_commands() -> None:
    async def test(link: RedisLink) -> None:
        with pytest.raises(redis.ConnectionError):
            await link.ask("BLPOP", KEY, 0)
        client().rpush(KEY, "late")
        assert await link.ask("ECHO", "mine", seconds=30.0) == b"mine"

    run(test, seconds=0.2)
