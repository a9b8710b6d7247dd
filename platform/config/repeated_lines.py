"""Warnings and errors that repeat: a few of them, and how many more there were."""

import logging
import os
import re
import threading
import time
import weakref
from dataclasses import dataclass

MOST = 5
SECONDS = 60.0
_MOST_KINDS = 1_000


@dataclass(slots=True)
class _Window:
    """Lines of one kind since `began` (monotonic)."""

    began: float
    record: logging.LogRecord
    count: int = 0


# Numbers, addresses and quoted text in a line that came without arguments: asyncio's and other
# libraries' own texts differ in these alone. An object's text may hold whatever a peer sent.
_VALUES = re.compile(r"0x[0-9a-f]+|\d+|b?'[^']*'|b?\"[^\"]*\"")
_LONGEST_TEMPLATE = 200
# What a line is of: its logger, its level, its template, its exception's type, and for one with a
# traceback its RPC method.
_Kind = tuple[str, int, str, str, str]


class RepeatedLines(logging.Filter):
    """Of lines of one kind `most` in so many `seconds` pass, the first of them with its traceback.
    When the time is over, one line says how often it was repeated. For lines from WARNING on.
    """

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        super().__init__()
        self._most = most
        self._seconds = seconds
        self._lock = threading.Lock()
        self._windows: dict[_Kind, _Window] = {}
        self._timer: threading.Timer | None = None
        _all.add(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or hasattr(record, "repeated"):
            return True
        kind = _kind_of(record)
        now = time.monotonic()
        with self._lock:
            window = self._windows.get(kind)
            if window is None or self._is_over(window, now):
                self._windows[kind] = window = _Window(now, record)
                if len(self._windows) > _MOST_KINDS:
                    self._forget_old(now)
            window.count += 1
            if window.count > self._most and self._timer is None:
                self._timer = threading.Timer(
                    max(0.0, window.began + self._seconds - now), self._summarize
                )
                self._timer.daemon = True
                self._timer.start()
            return window.count <= self._most

    def _summarize(self) -> None:
        """In a thread: a line for every kind whose time is over; again when the next one's is."""
        now = time.monotonic()
        with self._lock:
            over = [k for k, each in self._windows.items() if now - each.began >= self._seconds]
            found = [self._windows.pop(kind) for kind in over]
            left = [each.began for each in self._windows.values() if each.count > self._most]
            self._timer = None
            if left:
                delay = max(0.0, min(left) + self._seconds - now)
                self._timer = threading.Timer(delay, self._summarize)
                self._timer.daemon = True
                self._timer.start()
        for window in found:
            if window.count > self._most:
                self._write(window)

    def _write(self, window: _Window) -> None:
        record = window.record
        repeated = window.count - self._most
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

    def _is_over(self, window: _Window, now: float) -> bool:
        """Without a summary that is still to come."""
        return now - window.began >= self._seconds and window.count <= self._most

    def _forget_old(self, now: float) -> None:
        self._windows = {
            k: each for k, each in self._windows.items() if not self._is_over(each, now)
        }

    def reset(self) -> None:
        """For a forked process, which has no timer and may have a copy of a held lock."""
        self._lock = threading.Lock()
        self._windows, self._timer = {}, None


_all: "weakref.WeakSet[RepeatedLines]" = weakref.WeakSet()


def _reset() -> None:
    for each in list(_all):
        each.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


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
