"""Scripts on an event loop, against a real Redis that forgets, hangs and goes away."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis

from shared_state import loop_scripts, script_socket
from shared_state.loop_scripts import LoopScripts
from shared_state.redis_client import TIMEOUT_SECONDS
from shared_state.script_socket import RedisAway, Script, command
from tests.loop_calls import Loop
from tests.patience import PATIENCE_SECONDS, wait

_ECHO = Script("return {tonumber(ARGV[1]), tonumber(ARGV[2])}")


@pytest.fixture
def loop(nothing_remembered: None) -> Iterator[Loop]:
    with opened() as loop:
        yield loop


@contextlib.contextmanager
def opened() -> Iterator[Loop]:
    scripts: list[LoopScripts] = []

    def begin(running: Any) -> Any:
        scripts.append(LoopScripts(running))
        script_socket.on_loop = scripts[0].ask
        return scripts[0].close

    loop = Loop(begin)
    try:

        def is_connected() -> bool:
            loop.run(lambda: _ECHO.arun(0, 1, 2))
            return scripts[0].is_connected

        wait(is_connected, "a connection of the loop's own")
        loop.scripts = scripts[0]  # type: ignore[attr-defined]
        yield loop
    finally:
        script_socket.on_loop = None
        loop.stop()
        script_socket.forget()


def test_calls_are_answered_each_with_its_own(loop):
    async def twice(n: int) -> Any:
        return [await _ECHO.arun(0, n, 1), await _ECHO.arun(0, n, 2)]

    found = loop.run(*((lambda n=n: twice(n)) for n in range(500)))
    assert found == [[[n, 1], [n, 2]] for n in range(500)]


def test_a_script_that_redis_does_not_have_is_sent_whole(loop):
    new = Script(f"return {{3, 4}} -- {uuid4()}")
    assert loop.run(*[lambda: new.arun(0)] * 5) == [[3, 4]] * 5


def test_an_error_of_redis_says_that_it_cannot(loop):
    (found,) = loop.run(lambda: script_socket.aask(command("NOSUCHCOMMAND")))
    assert isinstance(found, RedisAway)
    assert not found.sent


def test_a_connection_that_ends_fails_what_was_sent_and_comes_back(loop, settings, monkeypatch):
    monkeypatch.setattr(loop_scripts, "TIMEOUT_SECONDS", PATIENCE_SECONDS)
    name = f"loop-{uuid4()}"
    loop.run(lambda: script_socket.aask(command("CLIENT", "SETNAME", name)))
    results: list[Any] = []
    waits = command("BLPOP", f"{name}:nothing", 0)
    asking = threading.Thread(
        target=lambda: results.extend(loop.run(lambda: script_socket.aask(waits)))
    )
    asking.start()
    with redis.Redis.from_url(settings.REDIS_URL) as other:

        def own() -> dict[str, str]:
            """The other workers of the tests have connections to this Redis, too."""
            (found,) = [each for each in other.client_list() if each["name"] == name]
            return found

        while own()["cmd"] != "blpop":
            time.sleep(0.001)
        other.client_kill_filter(_id=own()["id"])
    asking.join()
    assert isinstance(results[0], RedisAway)
    assert results[0].sent

    def is_back() -> bool:
        script_socket._away_until = 0.0
        (found,) = loop.run(lambda: _ECHO.arun(0, 5, 6))
        return found == [5, 6] and loop.scripts.is_connected

    wait(is_back, "another connection")
    assert loop.run(*[lambda: _ECHO.arun(0, 7, 8)] * 3) == [[7, 8]] * 3


def test_a_reply_that_came_while_the_loop_had_no_core_is_read(loop):
    results: list[Any] = []
    # Redis replies after 0.2 s, while the loop does something else for longer than it waits.
    waits = command("BLPOP", f"{uuid4()}:nothing", 0.2)
    asking = threading.Thread(
        target=lambda: results.extend(loop.run(lambda: script_socket.aask(waits)))
    )
    asking.start()
    while not loop.scripts._connection.waiting:
        time.sleep(0.001)
    loop.scripts._loop.call_soon_threadsafe(time.sleep, 1.5 * TIMEOUT_SECONDS)
    asking.join()
    assert results == [[]]


def test_a_redis_that_is_slow_and_replies_is_waited_for(loop):
    waits = command("BLPOP", f"{uuid4()}:nothing", 0.2 * TIMEOUT_SECONDS)
    assert loop.run(*[lambda: script_socket.aask(waits)] * 8) == [[]] * 8


def test_a_redis_that_hangs_is_not_waited_for(settings, nothing_remembered):
    """One that takes the greeting of a connection and says nothing more."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        taken: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    taken.append(connection)

        threading.Thread(target=serve, daemon=True).start()
        settings.REDIS_URL = f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        scripts: list[LoopScripts] = []

        def begin(running: Any) -> Any:
            scripts.append(LoopScripts(running))
            script_socket.on_loop = scripts[0].ask
            return scripts[0].close

        loop = Loop(begin)
        try:
            for _ in range(3):
                script_socket._away_until = 0.0
                found = loop.run(*[lambda: _ECHO.arun(0, 1, 2)] * 3)
                assert all(isinstance(each, RedisAway) for each in found)
        finally:
            script_socket.on_loop = None
            loop.stop()
            script_socket.forget()
            for each in taken:
                each.close()
