"""The last refused and failed calls of each key: noted in this process, kept in Redis.

Only calls that were not ok come here, so accepted calls pay nothing. Memory is bounded: MOST calls
of a key, MOST_KEYS keys, texts of limited length.
"""

import itertools
import json
import os
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import redis

from access.networks import shown_network
from shared_state.redis_client import NAMESPACE, client, run_script

# Calls kept of one key, and for how long after the last one.
MOST = 50
KEPT_SECONDS = 7 * 86_400
# Keys with kept calls: of more, those whose last refusal is the oldest are forgotten.
MOST_KEYS = 5_000
# Keys noted between two flushes, also during an outage of Redis.
_MOST_NOTED = 2_000
_KEYS_AT_ONCE = 200
_LONGEST = {"method": 60, "path": 100, "reason": 60, "message": 160, "request_id": 64}

_INDEX = f"{NAMESPACE}refused"
_LIST = f"{NAMESPACE}refused:"

# ARGV: now, calls kept of a key, keys kept, seconds kept, then key, number of calls, calls, …
_SCRIPT = """
local at = 5
while at <= #ARGV do
  local key, count = ARGV[at], tonumber(ARGV[at + 1])
  local list = KEYS[2] .. key
  redis.call('LPUSH', list, unpack(ARGV, at + 2, at + 1 + count))
  redis.call('LTRIM', list, 0, ARGV[2] - 1)
  redis.call('EXPIRE', list, ARGV[4])
  redis.call('ZADD', KEYS[1], ARGV[1], key)
  at = at + 2 + count
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[4])
local over = redis.call('ZCARD', KEYS[1]) - ARGV[3]
if over > 0 then
  local oldest = redis.call('ZPOPMIN', KEYS[1], over)
  for i = 1, #oldest, 2 do redis.call('DEL', KEYS[2] .. oldest[i]) end
end
return 1
"""


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """`status` is the HTTP status of the response (0: a call by WebSocket or gRPC), `code` that of
    JSON-RPC, `message` the text of the error, `network` where it came from.
    """

    at: datetime
    method: str
    path: str
    status: int
    code: int | None
    reason: str
    message: str
    request_id: str
    network: str


# What is noted of a call, with the texts of _LONGEST last; the address becomes a network when it is
# flushed.
_Noted = tuple[int, float, int, int | None, str, str, str, str, str, str]

_lock = threading.Lock()
_noted: dict[int, deque[_Noted]] = {}
_numbers = itertools.count(1)


def note(
    key_id: int,
    *,
    seconds: float,
    method: str,
    path: str,
    status: int,
    code: int | None,
    reason: str,
    message: str,
    request_id: str,
    address: str,
) -> None:
    """Notes a call that was refused or failed, at the Unix time `seconds`. access.usage flushes it
    within about a second.
    """
    texts = (method, path, reason, message, request_id)
    call = (next(_numbers), seconds, status, code, address, *texts)
    with _lock:
        calls = _noted.get(key_id)
        if calls is None:
            if len(_noted) >= _MOST_NOTED:
                return
            calls = _noted[key_id] = deque(maxlen=MOST)
        calls.append(call)


def flush() -> bool:
    """Sends what was noted; False while Redis is unavailable: the newest calls wait."""
    global _noted
    if not _noted:
        return True
    with _lock:
        noted, _noted = _noted, {}
    waiting = list(noted.items())
    try:
        while waiting:
            run_script(_SCRIPT, (_INDEX, _LIST), _arguments(dict(waiting[:_KEYS_AT_ONCE])))
            del waiting[:_KEYS_AT_ONCE]
    except redis.RedisError:
        with _lock:
            for key_id, calls in waiting:
                if key_id in _noted or len(_noted) < _MOST_NOTED:
                    _noted[key_id] = deque([*calls, *_noted.get(key_id, ())], maxlen=MOST)
        return False
    return True


def last(key_id: int) -> list[RefusedCall] | None:
    """The key's last calls that were refused or failed, newest first; None while Redis is
    unavailable.
    """
    try:
        found = cast(list[bytes], client().lrange(f"{_LIST}{key_id}", 0, MOST - 1))
    except redis.RedisError:
        return None
    # A batch whose reply was lost was sent twice: each call has its own number.
    calls = [_call(json.loads(text)) for text in dict.fromkeys(found)]
    return sorted(calls, key=lambda call: call.at, reverse=True)


def _arguments(noted: Mapping[int, deque[_Noted]]) -> list[str | int | float]:
    newest = max(calls[-1][1] for calls in noted.values())
    words: list[str | int | float] = [newest, MOST, MOST_KEYS, KEPT_SECONDS]
    for key_id, calls in noted.items():
        words += [key_id, len(calls), *map(_text, calls)]
    return words


def _text(call: _Noted) -> str:
    number, seconds, status, code, address, *texts = call
    cut = [
        # A text of the caller's may have halves of characters, which no page can show.
        text[:longest].encode("utf-8", "replace").decode()
        for text, longest in zip(texts, _LONGEST.values(), strict=True)
    ]
    process, network = f"{os.getpid()}-{number}", shown_network(address)
    return json.dumps([process, round(seconds, 3), status, code, network, *cut])


def _call(parts: list[Any]) -> RefusedCall:
    _process, seconds, status, code, network, method, path, reason, message, request_id = parts
    return RefusedCall(
        datetime.fromtimestamp(seconds, UTC),
        method,
        path,
        status,
        code,
        reason,
        message,
        request_id,
        network,
    )


def _after_fork() -> None:
    # The parent sends its own calls; its lock does not exist here.
    global _lock, _noted
    _lock, _noted = threading.Lock(), {}


os.register_at_fork(after_in_child=_after_fork)
