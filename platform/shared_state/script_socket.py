"""Prepared commands to Redis that return integers, on one connection of redis-py for each thread.

redis-py's pools and command objects cost four times as much as its connections. Every request runs
such a script, so prepared bytes go straight to a connection.
"""

import hashlib
import os
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import redis
from hiredis import pack_command
from redis.exceptions import NoScriptError

from eventloop.faces import complete, is_on_loop
from shared_state.redis_client import client, connection_of

Word = str | bytes | int | float
# Sends a command and returns its reply.
Send = Callable[[bytes], Awaitable[Any]]

# For this long after a failure, calls fail at once instead of waiting for Redis.
AWAY_SECONDS = 1.0
# Replies of a server that did not run the command.
REFUSALS = (redis.ResponseError, redis.BusyLoadingError)


class RedisAway(Exception):
    """Redis did not reply, or replied with an error. A command that was `sent` without a reply may
    have run.
    """

    def __init__(self, text: str, *, sent: bool = False) -> None:
        super().__init__(text)
        self.sent = sent


class RedisSlow(RedisAway):
    """Redis may yet reply to `waiting` commands; it was sent the oldest `waited_ms` ago.
    This one was not sent.
    """

    def __init__(self, waited_ms: int, waiting: int) -> None:
        super().__init__(f"Redis has not answered for {waited_ms} ms")
        self.waited_ms = waited_ms
        self.waiting = waiting


class _Threads(threading.local):
    connection: Any = None  # a redis.connection.Connection


_threads = _Threads()
_away_until = 0.0
# What Redis replied then; empty where nothing came.
_away_reply = ""
# Since when it has been slow, and to how many commands it may yet reply; None: it is away.
_slow: tuple[float, int] | None = None

# Runs a command on the web server's loop (shared_state.loop_scripts), patiently or not, while there
# is one.
on_loop: Callable[[bytes, bool], Awaitable[list[int]]] | None = None


def command(*words: Word) -> bytes:
    """The words as one command on the wire."""
    packed: bytes = pack_command(words)  # type: ignore[arg-type]  # its stubs name one word
    return packed


class Script:
    """A Lua script, called by its digest."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    def run(self, *words: Word) -> list[int]:
        """The script's integers. `words` are the number of keys, the keys and the arguments. Raises
        RedisAway.
        """
        return complete(self.arun(*words))

    async def arun(self, *words: Word, patient: bool = False) -> list[int]:
        """The same, awaited; `patient` as of `aask`."""
        try:
            return await aask(command("EVALSHA", self._digest, *words), patient=patient)
        except NoScriptError:
            return await aask(command("EVAL", self._text, *words), patient=patient)

    async def run_by(self, send: Send, *words: Word) -> Any:
        """What the script returns, by a connection of the caller's. Raises as `send` does."""
        try:
            return await send(command("EVALSHA", self._digest, *words))
        except NoScriptError:
            return await send(command("EVAL", self._text, *words))


async def aask(message: bytes, *, patient: bool = False) -> list[int]:
    """As `ask`. Where it is awaited on the web server's loop and `patient`, a slow Redis is waited
    for, since only its reply says what the command did.
    """
    if on_loop is None or not is_on_loop():
        return ask(message)
    _require_hope()
    return await on_loop(message, patient)


def ask(message: bytes) -> list[int]:
    """The integers that the command answers. Raises RedisAway (at once while Redis is known to be
    away or slow), or NoScriptError where Redis does not know the digest.
    """
    _require_hope()
    sent = False
    try:
        connection = _threads.connection
        if connection is not None:
            sent = True
            try:
                return _exchange(connection, message)
            except redis.ConnectionError:  # perhaps the server closed it while it was idle
                _threads.connection = None
        connection = connection_of(client())
        connection.connect()
        _threads.connection = connection
        sent = True
        return _exchange(connection, message)
    except NoScriptError:
        raise
    except redis.RedisError as error:
        if not isinstance(error, REFUSALS):
            _threads.connection = None
        raise failure(error, sent=sent) from None


def failure(error: redis.RedisError, *, sent: bool) -> RedisAway:
    """Records that Redis failed; returns what to raise."""
    if not isinstance(error, REFUSALS):
        is_away()
        return RedisAway(str(error) or type(error).__name__, sent=sent)
    # As it was on the wire: redis-py cuts off the first word.
    reply = f"OOM {error}" if isinstance(error, redis.OutOfMemoryError) else str(error)
    is_away(reply)
    return RedisAway(reply)


def _require_hope() -> None:
    """Raises RedisAway where Redis did not answer a moment ago."""
    if _away_until and (now := time.monotonic()) < _away_until:
        if _slow is not None:
            raise RedisSlow(int((now - _slow[0]) * 1_000), _slow[1])
        raise RedisAway(_away_reply or "Redis did not answer a moment ago")


def is_away(reply: str = "") -> None:
    """Records a failure of Redis, and what it replied: calls fail at once for AWAY_SECONDS."""
    global _away_until, _away_reply, _slow
    _away_until, _away_reply, _slow = time.monotonic() + AWAY_SECONDS, reply, None


def is_slow(since: float, waiting: int) -> None:
    """Records that Redis has not replied since then to so many commands, for which is still
    waited: meanwhile, and for AWAY_SECONDS at most, no others are sent.
    """
    global _away_until, _slow
    _away_until, _slow = time.monotonic() + AWAY_SECONDS, (since, waiting)


def replied() -> None:
    """Records that a Redis that was slow replied."""
    global _away_until, _slow
    if _slow is not None:
        _away_until, _slow = 0.0, None


def forget() -> None:
    """Closes the thread's connection and forgets the last failure."""
    global _away_until, _slow
    _away_until, _slow = 0.0, None
    if _threads.connection is not None:
        _threads.connection.disconnect()
        _threads.connection = None


def _after_fork() -> None:
    # A child that used its parent's socket would mix up the replies of both.
    global _threads
    _threads = _Threads()


os.register_at_fork(after_in_child=_after_fork)


def _exchange(connection: Any, message: bytes) -> list[int]:
    connection.send_packed_command((message,), check_health=False)
    return integers(connection.read_response())


def integers(reply: Any) -> list[int]:
    """Those of a reply; a reply of another form has none."""
    return reply if isinstance(reply, list) else []
