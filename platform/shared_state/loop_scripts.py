"""Redis scripts on the web server's event loop: commands are pipelined on one connection."""

import asyncio
import logging
import time
from collections import deque
from typing import Any, NamedTuple

import hiredis
import redis

from eventloop.faces import in_thread
from shared_state import script_socket
from shared_state.redis_client import TIMEOUT_SECONDS
from shared_state.redis_connections import drop, open_writer, short_loop_connection
from shared_state.script_socket import RedisAway, ScriptUnknown

log = logging.getLogger(__name__)

# A patient call waits so long for a Redis that says nothing at all.
_PATIENT_SECONDS = 2.0
_PAUSE_SECONDS = 1.0  # after a connection that failed
_WATCH_SECONDS = 0.25
# An overdue reply may have come while this process had no core: it is read first.
_READ_SECONDS = 0.02


class _Waiting(NamedTuple):
    """A command without a reply yet; `reply` is None if none waits for it any more."""

    reply: "asyncio.Future[Any] | None"
    since: float
    is_patient: bool


class LoopScripts(asyncio.Protocol):
    """The client of one event loop. Without a connection, threads run the commands."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._writer: asyncio.StreamWriter | None = None
        self._reader = hiredis.Reader()
        # In the order of their commands.
        self._waiting: deque[_Waiting] = deque()
        self._heard_at = 0.0
        self._unsent = bytearray()
        self._is_watched = False
        self._opening: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._is_closed = False

    async def ask(self, message: bytes, patient: bool = False) -> list[int]:
        """The integers that the command returns; waits for longer if it is `patient`. Raises
        RedisAway or ScriptUnknown.
        """
        if self._writer is None:
            self._connect()
            return await in_thread(script_socket.ask, message)
        now = time.monotonic()
        future = self._loop.create_future()
        self._waiting.append(_Waiting(future, now, patient))
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent += message
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(_WATCH_SECONDS, self._watch)
        reply = await future
        if isinstance(reply, list):
            return reply
        if isinstance(reply, hiredis.ReplyError):
            text = str(reply)
            if text.startswith("NOSCRIPT"):
                raise ScriptUnknown
            script_socket.is_away(text)
            raise RedisAway(text)
        return []

    def close(self) -> None:
        self._is_closed = True
        self._lose("the process stops")

    def _send(self) -> None:
        """Sends the commands of one turn of the loop: a write for each would cost twice as much."""
        if self._writer is not None and self._unsent:
            self._writer.transport.write(bytes(self._unsent))
            self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        self._heard_at = time.monotonic()
        script_socket.replied()
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not False:
                future = self._waiting.popleft().reply
                if future is not None and not future.done():
                    future.set_result(reply)
        except (IndexError, hiredis.ProtocolError) as error:
            self._lose(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(str(error or "Redis closed the connection"))

    def _lose(self, why: str) -> None:
        """Closes the connection and fails the waiting calls: their commands may have run."""
        writer, self._writer = self._writer, None
        waiting, self._waiting = self._waiting, deque()
        self._unsent.clear()
        self._reader = hiredis.Reader()
        if writer is not None:
            drop(writer)
        for each in waiting:
            if each.reply is not None:
                script_socket.is_away()
                _fail(each.reply, why)

    def _watch(self, overdue: _Waiting | None = None) -> None:
        """Ends the waits where nothing comes for too long, and that was `overdue` before what had
        come was read.
        """
        self._is_watched = False
        if not self._waiting:
            return
        oldest, now = self._waiting[0], time.monotonic()
        # While it replies to earlier calls Redis is slow, and does not hang.
        silent_since = max(oldest.since, self._heard_at)
        is_overdue = now - silent_since > TIMEOUT_SECONDS
        if is_overdue and oldest is overdue:
            self._end_waits(silent_since, now)
            if not self._waiting:
                return
            oldest = self._waiting[0]
        self._is_watched = True
        seconds = _READ_SECONDS if is_overdue else _WATCH_SECONDS
        self._loop.call_later(seconds, self._watch, oldest if is_overdue else None)

    def _end_waits(self, silent_since: float, now: float) -> None:
        """Ends the connection; or, for a time, only the calls that are not patient. New calls
        fail at once meanwhile: a slow Redis is not given more.
        """
        why = "Redis did not answer in time"
        patient = sum(each.is_patient for each in self._waiting)
        if not patient or now - silent_since > _PATIENT_SECONDS:
            self._lose(why)
            return
        for place, each in enumerate(self._waiting):
            if each.reply is not None and not each.is_patient:
                _fail(each.reply, why)
                self._waiting[place] = each._replace(reply=None)
        script_socket.is_slow(silent_since, patient)

    def _connect(self) -> None:
        if self._opening is None and not self._is_closed and time.monotonic() >= self._not_before:
            self._opening = self._loop.create_task(self._open())

    async def _open(self) -> None:
        try:
            writer = await open_writer(short_loop_connection(), self)
            if self._is_closed:
                drop(writer)
            else:
                self._writer = writer
        except redis.RedisError as error:
            # The threads' own commands report the failure.
            log.debug("no connection for the event loop: %s", error)
            self._not_before = time.monotonic() + _PAUSE_SECONDS
        finally:
            self._opening = None


def _fail(reply: "asyncio.Future[Any]", why: str) -> None:
    if not reply.done():
        reply.set_exception(RedisAway(why, sent=True))
