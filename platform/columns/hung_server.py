"""A PostgreSQL that hangs: statements that wait for it fail, as if it had ended.

statement_timeout is kept by the server: one that stands still, or a network that passes nothing on,
holds the waiting thread for ever. A thread of each process looks at the process's connections. If
one is busy for some seconds it tries another connection, and only if that gets no answer either it
shuts down the sockets of those that wait, and new connections are refused until the server answers.
"""

import logging
import os
import select
import socket
import threading
import time
import weakref
from typing import Any

import psycopg
from psycopg import errors, pq

log = logging.getLogger(__name__)

_TURN_SECONDS = 1.0
_BUSY_SECONDS = 3.0
_ANSWER_SECONDS = 3.0
_ACTIVE = pq.TransactionStatus.ACTIVE


class _Watch:
    """This process's connections, and since when each is busy (monotonic)."""

    def __init__(self) -> None:
        self.is_hung = False
        self._lock = threading.Lock()
        self._connections: dict[int, weakref.ref[psycopg.Connection[Any]]] = {}
        self._busy_since: dict[int, float] = {}
        self._parameters: dict[str, Any] = {}
        self._is_running = False

    def add(self, raw: psycopg.Connection[Any], parameters: dict[str, Any]) -> None:
        with self._lock:
            self._parameters = parameters
            self._connections[id(raw)] = weakref.ref(raw)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="database watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_TURN_SECONDS)
            with self._lock:
                found = [(number, there()) for number, there in self._connections.items()]
                live = {number: raw for number, raw in found if raw is not None and not raw.closed}
                self._connections = {number: self._connections[number] for number in live}
                if not live and not self.is_hung:
                    self._is_running = False
                    return
            self._look(live, time.monotonic())
            del found, live

    def _look(self, live: dict[int, psycopg.Connection[Any]], now: float) -> None:
        busy = {n: raw for n, raw in live.items() if raw.pgconn.transaction_status == _ACTIVE}
        self._busy_since = {number: self._busy_since.get(number, now) for number in busy}
        oldest = min(self._busy_since.values(), default=now)
        if not self.is_hung and now - oldest < _BUSY_SECONDS:
            return
        was_hung, self.is_hung = self.is_hung, not _answers(self._parameters)
        if self.is_hung:
            if not was_hung:
                log.error("PostgreSQL does not answer: statements that wait for it are given up")
            for raw in busy.values():
                _shut_down(raw)
        else:
            self._busy_since.clear()
            if was_hung:
                log.warning("PostgreSQL answers again")


def _answers(parameters: dict[str, Any]) -> bool:
    """Whether a new connection gets any answer; a refusal is one."""
    probe = None
    try:
        probe = psycopg.connect(
            **{**parameters, "connect_timeout": round(_ANSWER_SECONDS)}, autocommit=True
        )
        # A pooler answers by itself until it needs the server.
        probe.pgconn.send_query(b"SELECT 1")
        poll = select.poll()
        poll.register(probe.pgconn.socket, select.POLLIN)
        return bool(poll.poll(_ANSWER_SECONDS * 1_000))
    except errors.ConnectionTimeout:
        return False
    except psycopg.Error:
        return True
    finally:
        if probe is not None:
            probe.close()


def _shut_down(raw: psycopg.Connection[Any]) -> None:
    """The thread that waits for the connection finds it closed."""
    try:
        # A duplicate: closing it leaves libpq's own descriptor.
        with socket.socket(fileno=os.dup(raw.pgconn.socket)) as theirs:
            if raw.pgconn.transaction_status == _ACTIVE:
                theirs.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        pass  # it ended meanwhile


_watch = _Watch()


def _reset() -> None:
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_reset)


def watch(raw: psycopg.Connection[Any], parameters: dict[str, Any]) -> None:
    """Watches the connection, which was made with these parameters, while it is open."""
    _watch.add(raw, parameters)


def require_answers() -> None:
    """Raises psycopg.OperationalError at once while the server is known to hang."""
    if _watch.is_hung:
        raise psycopg.OperationalError("PostgreSQL did not answer a moment ago")
