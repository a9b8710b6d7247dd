"""A minimal Redis client for scripts that return integers: one socket for each thread.

A general client spends several times the script's own cost on pools, locks and reply types. Every
request runs such a script, so this client sends prepared bytes and reads a list of integers.
"""

import hashlib
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings

from eventloop.calls import LoopCall, current_call
from shared_state.redis_client import TIMEOUT_SECONDS

# For this long after a failure, calls fail at once instead of waiting for Redis.
AWAY_SECONDS = 1.0
_TIMEVAL = struct.pack("ll", int(TIMEOUT_SECONDS), int(TIMEOUT_SECONDS % 1 * 1_000_000))


class RedisAway(Exception):
    """Redis did not reply, or replied with an error. A command that was `sent` without a reply may
    have run.
    """

    def __init__(self, text: str, *, sent: bool = False) -> None:
        super().__init__(text)
        self.sent = sent


class ScriptUnknown(Exception):
    """Redis does not know the script's digest (it was restarted): send the text."""


class _Threads(threading.local):
    connection: socket.socket | None = None


_threads = _Threads()
_away_until = 0.0
# What Redis replied then; empty where nothing came.
_away_reply = ""

# Runs a command for a call on an event loop (shared_state.loop_scripts); None: a thread runs it.
on_loop: Callable[[LoopCall, bytes], list[int]] | None = None


def command(*words: str | bytes | int | float) -> bytes:
    """The words as one command on the wire."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        text = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(text), text))
    return b"".join(parts)


class Script:
    """A Lua script that returns integers, called by its digest."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    def by_digest(self, *words: str | bytes | int | float) -> bytes:
        """The command with the number of keys, the keys and the arguments."""
        return command("EVALSHA", self._digest, *words)

    def by_text(self, *words: str | bytes | int | float) -> bytes:
        """The same command with the script's text, for a Redis that does not know it."""
        return command("EVAL", self._text, *words)

    def run(self, *words: str | bytes | int | float, made: bytes | None = None) -> list[int]:
        """The script's result. `made` is a prepared `by_digest(*words)`. Raises RedisAway."""
        try:
            return ask(self.by_digest(*words) if made is None else made)
        except ScriptUnknown:
            return ask(self.by_text(*words))


def ask(message: bytes) -> list[int]:
    """The integers that the command answers. Raises RedisAway (at once while Redis is known to be
    away) or ScriptUnknown.
    """
    if _away_until and time.monotonic() < _away_until:
        raise RedisAway(_away_reply or "Redis did not answer a moment ago")
    call = current_call()
    if call is not None:
        return call.in_thread(lambda: ask(message)) if on_loop is None else on_loop(call, message)
    connection = _threads.connection
    sent = False
    try:
        if connection is not None:
            sent = True
            try:
                reply = _exchange(connection, message)
            except (BrokenPipeError, ConnectionError):
                connection.close()  # the server closed it while it lay idle, or was restarted
                connection = None
        if connection is None:
            _threads.connection = None
            connection = _connect()
            sent = True
            reply = _exchange(connection, message)
            _threads.connection = connection
    except (OSError, RedisAway) as error:
        if connection is not None:
            connection.close()
        _threads.connection = None
        is_away()
        raise RedisAway(str(error) or type(error).__name__, sent=sent) from None
    if reply[:1] == b"*":
        return [int(line[1:]) for line in reply.split(b"\r\n")[1:-1]]
    if reply.startswith(b"-NOSCRIPT"):
        raise ScriptUnknown
    if reply[:1] == b"-":
        text = reply[1:].decode("utf-8", "replace").strip()
        is_away(text)
        raise RedisAway(text)
    return []


def is_away(reply: str = "") -> None:
    """Records a failure of Redis, and what it replied: calls fail at once for AWAY_SECONDS."""
    global _away_until, _away_reply
    _away_until, _away_reply = time.monotonic() + AWAY_SECONDS, reply


def connected() -> socket.socket | None:
    """A connection for non-blocking use; None with TLS. Raises OSError or RedisAway."""
    connection = _connect()
    if isinstance(connection, ssl.SSLSocket):
        connection.close()
        return None
    return connection


def forget() -> None:
    """Closes the thread's connection and forgets the last failure."""
    global _away_until
    _away_until = 0.0
    if _threads.connection is not None:
        _threads.connection.close()
        _threads.connection = None


def _after_fork() -> None:
    # A child that used its parent's socket would mix up the replies of both.
    global _threads
    _threads = _Threads()


os.register_at_fork(after_in_child=_after_fork)


def _exchange(connection: socket.socket, message: bytes) -> bytes:
    connection.sendall(message)
    reply = connection.recv(4096)
    while not _is_whole(reply):
        more = connection.recv(4096)
        if not more:
            raise ConnectionResetError("Redis closed the connection")
        reply += more
    return reply


def _is_whole(reply: bytes) -> bool:
    if reply[-2:] != b"\r\n":
        return False
    if reply[:1] != b"*":
        return True
    return reply.count(b"\r\n") == int(reply[1 : reply.index(b"\r\n")]) + 1


def _connect() -> socket.socket:
    url = urlsplit(settings.REDIS_URL)
    query = parse_qs(url.query)
    if url.scheme == "unix":
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(TIMEOUT_SECONDS)
        connection.connect(unquote(url.path))
        database = "0"
    else:
        host = url.hostname or "localhost"
        connection = socket.create_connection((host, url.port or 6379), TIMEOUT_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if url.scheme == "rediss":
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
        database = url.path.strip("/") or "0"
    username = unquote(url.username or "") or query.get("username", [""])[0]
    password = unquote(url.password or "") or query.get("password", [""])[0]
    if password:
        _greet(connection, "AUTH", *([username] if username else []), password)
    database = query.get("db", [database])[0]
    if database != "0":
        _greet(connection, "SELECT", database)
    if url.scheme != "rediss":
        # The kernel keeps the time limit: a Python timeout would poll before every read and write.
        connection.settimeout(None)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL)
    return connection


def _greet(connection: socket.socket, *words: str) -> None:
    reply = _exchange(connection, command(*words))
    if reply[:1] == b"-":
        raise RedisAway(f"{words[0]}: {reply.decode('utf-8', 'replace').strip()}")
