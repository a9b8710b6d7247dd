"""Redis scripts for calls that run on an event loop: commands are pipelined on one connection, and
each reply resumes its call.
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections import deque
from typing import Any

import hiredis

from eventloop.calls import LoopCall
from shared_state import script_socket
from shared_state.redis_client import TIMEOUT_SECONDS
from shared_state.script_socket import RedisAway, ScriptUnknown

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0  # after a connection that failed
_WATCH_SECONDS = 0.25
_READ = 65_536


class LoopScripts:
    """The client of one event loop. Without a connection, threads run the commands."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._socket: socket.socket | None = None
        self._reader = hiredis.Reader()
        # Calls that wait, and since when, in the order of their commands.
        self._waiting: deque[tuple[LoopCall, float]] = deque()
        self._unsent = bytearray()
        self._is_sending = False
        self._is_writing = False
        self._is_watched = False
        self._is_connecting = False
        self._not_before = 0.0
        self._is_closed = False

    def ask(self, call: LoopCall, message: bytes) -> list[int]:
        """The integers that the command returns; suspends the call. Raises RedisAway or
        ScriptUnknown.
        """
        if self._socket is None:
            self._connect()
            return call.in_thread(lambda: script_socket.ask(message))
        now = time.monotonic()
        self._waiting.append((call, now))
        self._unsent += message
        if not self._is_sending:
            self._is_sending = True
            self._loop.call_soon(self._send)
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(_WATCH_SECONDS, self._watch)
        reply = call.wait()
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
        self._is_sending = False
        connection = self._socket
        if connection is None:
            return
        try:
            with contextlib.suppress(BlockingIOError):
                del self._unsent[: connection.send(self._unsent)]
        except OSError as error:
            self._lose(str(error))
            return
        if self._unsent and not self._is_writing:
            self._is_writing = True
            self._loop.add_writer(connection.fileno(), self._send)
        elif not self._unsent and self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(connection.fileno())

    def _on_readable(self) -> None:
        connection = self._socket
        assert connection is not None
        try:
            data = connection.recv(_READ)
            if not data:
                raise ConnectionResetError("Redis closed the connection")
            self._reader.feed(data)
            while self._socket is connection and (reply := self._reader.gets()) is not False:
                call, _since = self._waiting.popleft()
                self._resume(call, reply, None)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, IndexError, hiredis.ProtocolError) as error:
            self._lose(str(error))

    def _lose(self, why: str) -> None:
        """Closes the connection and fails the waiting calls: their commands may have run."""
        connection, self._socket = self._socket, None
        waiting, self._waiting = self._waiting, deque()
        self._unsent.clear()
        self._reader = hiredis.Reader()
        if connection is not None:
            self._loop.remove_reader(connection.fileno())
            if self._is_writing:
                self._loop.remove_writer(connection.fileno())
            connection.close()
        self._is_writing = False
        for call, _since in waiting:
            script_socket.is_away()
            self._loop.call_soon(self._resume, call, None, RedisAway(why, sent=True))

    def _resume(self, call: LoopCall, reply: Any, error: BaseException | None) -> None:
        try:
            call.resume(reply, error)
        except Exception:
            log.exception("a call failed after its Redis command")

    def _watch(self) -> None:
        self._is_watched = False
        if not self._waiting:
            return
        if time.monotonic() - self._waiting[0][1] > TIMEOUT_SECONDS:
            self._lose("Redis did not answer in time")
            return
        self._is_watched = True
        self._loop.call_later(_WATCH_SECONDS, self._watch)

    def _connect(self) -> None:
        if self._is_connecting or self._is_closed or time.monotonic() < self._not_before:
            return
        self._is_connecting = True
        made = self._loop.run_in_executor(None, script_socket.connected)
        made.add_done_callback(self._take)

    def _take(self, made: "asyncio.Future[socket.socket | None]") -> None:
        self._is_connecting = False
        try:
            connection = made.result()
        except (OSError, RedisAway) as error:
            # The threads' own commands report the failure.
            log.debug("no connection for the event loop: %s", error)
            connection = None
        if connection is None:
            self._not_before = time.monotonic() + _PAUSE_SECONDS
        elif self._is_closed:
            connection.close()
        else:
            connection.setblocking(False)
            self._socket = connection
            self._loop.add_reader(connection.fileno(), self._on_readable)
