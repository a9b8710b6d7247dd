"""Redis scripts on the web server's event loop, pipelined on one connection."""

import asyncio
import logging
import time

import redis
from django.conf import settings
from redis.exceptions import NoScriptError

from eventloop.faces import in_thread
from shared_state import script_socket
from shared_state.loop_connection import LoopConnection, Waiting
from shared_state.redis_client import TIMEOUT_SECONDS, async_client_of
from shared_state.script_socket import RedisAway

log = logging.getLogger(__name__)

# A patient call waits so long for a Redis that says nothing at all.
_PATIENT_SECONDS = 2.0
_PAUSE_SECONDS = 1.0  # after a connection that failed
_WATCH_SECONDS = 0.25
# An overdue reply may have come while this process had no core: it is read first.
_READ_SECONDS = 0.02
_SILENCE = "Redis did not answer in time"


class LoopScripts:
    """The commands of one event loop. Without a connection, threads run them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._connection: LoopConnection | None = None
        self._is_watched = False
        self._opening: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._is_closed = False

    @property
    def is_connected(self) -> bool:
        """Whether commands are sent on the loop."""
        return self._connection is not None and self._connection.is_open

    async def ask(self, message: bytes, patient: bool = False) -> list[int]:
        """The integers that the command returns; waits for longer if it is `patient`. Raises
        RedisAway or NoScriptError.
        """
        connection = self._connection
        if connection is None or not connection.is_open:
            self._connect()
            return await in_thread(script_socket.ask, message)
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(_WATCH_SECONDS, self._watch)
        try:
            return script_socket.integers(await connection.send(message, is_patient=patient))
        except NoScriptError:
            raise
        except redis.RedisError as error:
            raise script_socket.failure(error, sent=True) from None

    def close(self) -> None:
        self._is_closed = True
        if self._connection is not None:
            self._connection.close("the process stops")

    def _watch(self, overdue: Waiting | None = None) -> None:
        """Ends the waits where nothing comes for too long, and that was `overdue` before what had
        come was read.
        """
        self._is_watched = False
        connection = self._connection
        if connection is None or not connection.waiting:
            return
        oldest, now = connection.waiting[0], time.monotonic()
        # While it replies to earlier calls Redis is slow, and does not hang.
        silent_since = max(oldest.since, connection.heard_at)
        is_overdue = now - silent_since > TIMEOUT_SECONDS
        if is_overdue and oldest is overdue:
            _end_waits(connection, silent_since, now)
            if not connection.waiting:
                return
            oldest = connection.waiting[0]
        self._is_watched = True
        seconds = _READ_SECONDS if is_overdue else _WATCH_SECONDS
        self._loop.call_later(seconds, self._watch, oldest if is_overdue else None)

    def _connect(self) -> None:
        if self._opening is None and not self._is_closed and time.monotonic() >= self._not_before:
            self._opening = self._loop.create_task(self._open())

    async def _open(self) -> None:
        connection = LoopConnection(async_client_of(settings.REDIS_URL), script_socket.replied)
        try:
            await connection.open()
        except redis.RedisError as error:
            # The threads' own commands report the failure.
            log.debug("no connection for the event loop: %s", error)
            self._not_before = time.monotonic() + _PAUSE_SECONDS
        finally:
            self._opening = None
        self._connection = connection
        if self._is_closed:
            self.close()


def _end_waits(connection: LoopConnection, silent_since: float, now: float) -> None:
    """Ends the connection; or, for a time, only the calls that are not patient. New calls fail at
    once meanwhile: a slow Redis is not given more.
    """
    patient = sum(each.is_patient for each in connection.waiting)
    if not patient or now - silent_since > _PATIENT_SECONDS:
        connection.close(_SILENCE)
        return
    for each in connection.waiting:
        if not each.is_patient and not each.reply.done():
            each.reply.set_exception(RedisAway(_SILENCE, sent=True))
    script_socket.is_slow(silent_since, patient)
