"""Counts calls in this process and flushes the counts to Redis about once a second."""

import atexit
import logging
import multiprocessing.util
import os
import secrets
import threading
import time
from collections.abc import Callable

import redis

from access import refused_calls
from jsonrpc.errors import RpcError
from shared_state.counters import CALL_MICROSECONDS, CALL_TIMES, CALLS, field_of
from shared_state.counters import KEY as COUNTERS_KEY
from shared_state.redis_client import NAMESPACE, client
from shared_state.time_buckets import bucket_of

log = logging.getLogger(__name__)

LIVE_KEY = f"{NAMESPACE}usage:live"
FLUSH_SECONDS = 1.0
# Distinct counters kept during an outage of Redis; above it new ones are dropped with an error.
MAX_COUNTERS = 50_000
_REMEMBER_SECONDS = 3600

# A batch whose reply was lost is sent again under the same name and changes nothing then.
_SCRIPT = """
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[1]) then return 0 end
local calls = tonumber(ARGV[2])
for i = 3, 2 + 2 * calls, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
local totals = 4 + 2 * calls + 2 * tonumber(ARGV[3 + 2 * calls])
for i = 4 + 2 * calls, totals - 2, 2 do redis.call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1]) end
for i = totals, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
"""

_Counter = tuple[int | None, str, str, int]  # key_id, method, status, minute (Unix minutes)

_lock = threading.Lock()
_flushing = threading.Lock()
_counts: dict[_Counter, list[int]] = {}
_times: dict[int, int] = {}
_used: dict[int, tuple[int, str]] = {}
_unsent: list[tuple[str, list[str | int]]] = []
_thread: threading.Thread | None = None


def count(
    key_id: int | None,
    method: str,
    status: str,
    *,
    seconds: float,
    microseconds: int,
    address: str,
    calls: int = 1,
    sent: int = 0,
) -> None:
    """Counts one call, or several: `seconds` is the Unix time, `microseconds` the calls' duration,
    `sent` the bytes of notifications.
    """
    counter = (key_id, method, status, int(seconds) // 60)
    bucket = bucket_of(microseconds / calls) if microseconds and calls else None
    with _lock:
        if bucket is not None:
            _times[bucket] = _times.get(bucket, 0) + calls
        cell = _counts.get(counter)
        if cell is not None:
            cell[0] += calls
            cell[1] += microseconds
            cell[2] += sent
        elif len(_counts) < MAX_COUNTERS:
            _counts[counter] = [calls, microseconds, sent]
        if key_id is not None:
            _used[key_id] = (int(seconds), address)
    if _thread is None:
        _start()


def count_finished(
    key_id: int | None,
    method: str,
    outcome: str,
    *,
    path: str,
    address: str,
    error: RpcError | None = None,
    microseconds: int = 0,
    status: int = 0,
    request_id: str = "",
) -> None:
    """Counts one call, of whatever protocol, that ended now; one that was not `ok` is kept for the
    page of its key. `path` is that of the URL or the protocol's name, `status` that of the HTTP
    response (0: not by HTTP).
    """
    now = time.time()
    count(key_id, method, outcome, seconds=now, microseconds=microseconds, address=address)
    if outcome != "ok" and key_id is not None:
        refused_calls.note(
            key_id,
            seconds=now,
            method=method,
            path=path,
            status=status,
            code=None if error is None else error.code,
            reason=outcome,
            message="" if error is None else error.message,
            request_id=request_id,
            address=address,
        )


def flush() -> bool:
    """Sends the counts, and the refused calls; False while Redis is unavailable: they wait for the
    next flush.
    """
    with _flushing:
        _gather()
        try:
            while _unsent:
                name, words = _unsent[0]
                keys = (LIVE_KEY, f"{NAMESPACE}usage:sent:{name}", COUNTERS_KEY)
                client().eval(_SCRIPT, len(keys), *keys, *words)
                del _unsent[0]
        except redis.RedisError:
            return False
        return refused_calls.flush()


def _gather() -> None:
    """Appends the counts since the last time as the next batch to send."""
    global _counts, _used, _times
    with _lock:
        if not _counts or sum(len(words) for _, words in _unsent) > 4 * MAX_COUNTERS:
            return
        if len(_counts) >= MAX_COUNTERS:
            log.error("usage of more than %s counters a second was dropped", MAX_COUNTERS)
        counts, used, times = _counts, _used, _times
        _counts, _used, _times = {}, {}, {}
    words: list[str | int] = [_REMEMBER_SECONDS, 2 * len(counts)]
    totals: dict[str, int] = {}
    for (key_id, method, status, minute), (calls, microseconds, sent) in counts.items():
        field = f"{minute}|{'' if key_id is None else key_id}|{method}|{status}"
        words += [f"calls|{field}", calls, f"spent|{field}", microseconds]
        if sent:
            words += [f"bytes|{field}", sent]
            words[1] = int(words[1]) + 1
        for total, number in ((CALLS, calls), (CALL_MICROSECONDS, microseconds)):
            name = field_of(total, method, status)
            totals[name] = totals.get(name, 0) + number
    totals |= {field_of(CALL_TIMES, str(bucket)): number for bucket, number in times.items()}
    words.append(len(totals))
    for name, number in totals.items():
        words += [name, number]
    for key_id, (seconds, address) in used.items():
        words += [f"used|{key_id}", f"{seconds}|{address}"]
    _unsent.append((secrets.token_hex(12), words))


def _start() -> None:
    global _thread
    with _lock:
        if _thread is not None:
            return
        _thread = threading.Thread(target=_run, name="usage", daemon=True)
        _thread.start()
    atexit.register(flush)
    # A worker started by multiprocessing leaves without atexit; its finalizers do run.
    multiprocessing.util.Finalize(None, flush, exitpriority=100)


def _run(sleep: Callable[[float], None] = time.sleep) -> None:
    while True:
        sleep(FLUSH_SECONDS)
        try:
            flush()
        except Exception:
            log.exception("usage could not be flushed")


def _after_fork() -> None:
    # The parent sends its own counts; its thread and its locks do not exist here.
    global _lock, _flushing, _counts, _used, _times, _unsent, _thread
    _lock, _flushing = threading.Lock(), threading.Lock()
    _counts, _used, _times, _unsent, _thread = {}, {}, {}, [], None


os.register_at_fork(after_in_child=_after_fork)
