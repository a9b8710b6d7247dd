"""Warnings and errors that repeat: a few of them, and how many more there were."""

import hashlib
import logging
import mmap
import os
import re
import struct
import threading
import time
import weakref

from config.output.json_lines import PROCESS

MOST = 5
SECONDS = 60.0
# Numbers, addresses and quoted text in a line that came without arguments: asyncio's and other
# libraries' own texts differ in these alone. An object's text may hold whatever a peer sent.
_VALUES = re.compile(r"0x[0-9a-f]+|\d+|b?'[^']*'|b?\"[^\"]*\"")
_LONGEST_TEMPLATE = 200
# What a line is of: its logger, its level, its template, its exception's type, and for one with a
# traceback its RPC method.
_Kind = tuple[str, int, str, str, str]


class _Counts:
    """Lines of each kind since its window began, in memory that forked processes share: a worker
    whose pool processes are replaced every few seconds writes no more than one that is not. Not
    locked: a process may be killed at any moment, and a number that is a little low does no harm.
    """

    _ENTRY = struct.Struct("<8sdq")  # the kind's digest, when its window began (monotonic), lines
    _ENTRIES = 1_024
    _LOOKS = 8

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self._ENTRIES * self._ENTRY.size)

    def place_of(self, kind: _Kind, now: float, seconds: float) -> int:
        """Where the kind is counted: its own entry, else one whose window is over."""
        digest = _digest(kind)
        first = int.from_bytes(digest[:4])
        places = [
            (first + number) % self._ENTRIES * self._ENTRY.size for number in range(self._LOOKS)
        ]
        free = None
        for place in places:
            found, began, _ = self._ENTRY.unpack_from(self._memory, place)
            if found == digest:
                return place
            if free is None and now - began >= seconds:
                free = place
        place = places[0] if free is None else free
        self._ENTRY.pack_into(self._memory, place, digest, 0.0, 0)
        return place

    def read(self, place: int) -> tuple[float, int]:
        """When the window began, and how many lines it has."""
        _, began, count = self._ENTRY.unpack_from(self._memory, place)
        return began, count

    def write(self, place: int, kind: _Kind, began: float, count: int) -> None:
        self._ENTRY.pack_into(self._memory, place, _digest(kind), began, count)


class RepeatedLines(logging.Filter):
    """Of lines of one kind `most` in so many `seconds` pass, the first of them with its traceback,
    over all processes that were forked from the one that made the filter. When the time is over,
    one line says how often it was repeated. For lines from WARNING on.
    """

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        super().__init__()
        self._most = most
        self._seconds = seconds
        self._counts = _Counts()
        self._lock = threading.Lock()
        # What this process has to sum up: the first line that it held back of each kind.
        self._held: dict[_Kind, logging.LogRecord] = {}
        self._timer: threading.Timer | None = None
        _all.add(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or hasattr(record, "repeated"):
            return True
        kind, now = _kind_of(record), time.monotonic()
        with self._lock:
            place = self._counts.place_of(kind, now, self._seconds)
            began, count = self._counts.read(place)
            left = 0
            if now - began >= self._seconds:
                # Held back by a process that ended before it could say so.
                left, began, count = max(0, count - self._most), now, 0
                self._held.pop(kind, None)
            count += 1
            self._counts.write(place, kind, began, count)
            if count > self._most:
                self._held.setdefault(kind, record)
                self._begin_timer(began + self._seconds - now)
        if left:
            self._write(record, left)
        return count <= self._most

    def _begin_timer(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(max(0.0, seconds), self._summarize)
            self._timer.daemon = True
            self._timer.start()

    def _summarize(self) -> None:
        """In a thread: a line for every kind whose time is over; again when the next one's is."""
        now, over = time.monotonic(), []
        with self._lock:
            self._timer = None
            for kind, record in list(self._held.items()):
                place = self._counts.place_of(kind, now, self._seconds)
                began, count = self._counts.read(place)
                if now - began < self._seconds:
                    self._begin_timer(began + self._seconds - now)
                    continue
                del self._held[kind]
                if count > self._most:
                    over.append((record, count - self._most))
                    self._counts.write(place, kind, 0.0, 0)
        for record, repeated in over:
            self._write(record, repeated)

    def _write(self, record: logging.LogRecord, repeated: int) -> None:
        summary = logging.LogRecord(
            record.name,
            record.levelno,
            record.pathname,
            record.lineno,
            "… repeated %d times in %.0f s: %s",
            (repeated, self._seconds, (record.getMessage().splitlines() or [""])[0]),
            None,
        )
        summary.repeated = repeated
        for handler in logging.getLogger().handlers:
            if self in handler.filters:
                handler.handle(summary)

    def reset(self) -> None:
        """For a forked process, which has no timer and may have a copy of a held lock."""
        self._lock = threading.Lock()
        self._held, self._timer = {}, None


_all: "weakref.WeakSet[RepeatedLines]" = weakref.WeakSet()


def _reset() -> None:
    for each in list(_all):
        each.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


def _digest(kind: _Kind) -> bytes:
    program = os.environ.get(PROCESS, "")
    return hashlib.blake2b(repr((program, kind)).encode(), digest_size=8).digest()


def _kind_of(record: logging.LogRecord) -> _Kind:
    exception = record.exc_info[0] if record.exc_info else None
    name = "" if exception is None else exception.__qualname__
    method = str(getattr(record, "method", "")) if record.exc_info else ""
    return record.name, record.levelno, _template_of(record), name, method


def _template_of(record: logging.LogRecord) -> str:
    template = str(record.msg)
    if record.args:
        return template
    first = template.lstrip().partition("\n")[0]
    return _VALUES.sub("…", first)[:_LONGEST_TEMPLATE]
