"""Writing what is accepted into the stream: looked up, checked and written by one script."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from access import script_socket
from access.redis_client import client
from priority.happenings import BLOCKHASH_BLOCKS, BLOCKHASHES, HEAD
from priority.submissions import ACCEPTED_STREAM, FIELD, LANDERS

_SCRIPT = script_socket.Script("""
local known, looked_up, hashes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local before = redis.call('GET', KEYS[4])
if before then
  local theirs = string.match(before, '|(.*)$')
  return {1, (theirs ~= '' and theirs ~= string.match(ARGV[7], '|(.*)$')) and 1 or 0}
end
local now, tip = tonumber(ARGV[4]), nil
local answer = {2}
for i = 1, looked_up do
  local expiry = tonumber(redis.call('GET', KEYS[3 + known + i]) or -1)
  if expiry > now then
    tip = ARGV[10 + hashes + i]
    break
  end
  answer[1 + i] = expiry
end
tip = tip or ARGV[11 + hashes + looked_up]
if not tip then return answer end
local height = hashes > 0 and tonumber(redis.call('HGET', KEYS[3], 'height') or 0) or 0
for i = 1, hashes do
  local made = redis.call('HGET', KEYS[2], ARGV[10 + i])
  if made and height > made + ARGV[5] then return {3, i - 1, made + ARGV[5], height} end
end
local waiting = redis.call('XLEN', KEYS[1])
if waiting >= tonumber(ARGV[6]) then return {4, waiting} end
redis.call('XADD', KEYS[1], '*', 's', ARGV[9] .. tip .. ARGV[10])
for i = 1, known do redis.call('SET', KEYS[3 + i], ARGV[7], 'NX', 'EX', ARGV[8]) end
return {0}
""")
assert FIELD == "s"


class Verdict(IntEnum):
    """What the script did."""

    QUEUED = 0
    KNOWN = 1  # it is in flight already: nothing was written; numbers: 1 where by another key
    NO_TIP = 2  # numbers: the expiries of the addresses that were looked up, -1 where unknown
    DEAD_BLOCKHASH = 3  # numbers: which of them, its last valid height, the newest height
    FULL = 4  # numbers: how many entries wait


class Offered(NamedTuple):
    """What is to be queued. `known` are the keys that remember it, the first of which tells that it
    is in flight; `blockhashes` those that must not be known to be dead; `head` and `tail` the
    packed entry around its tip; `tips` packed ones, of which the first that `live_keys` (one for
    each) shows to be alive is taken, else `sure_tip`.
    """

    known: Sequence[str]
    known_value: str
    known_seconds: int
    blockhashes: Sequence[bytes]
    head: bytes
    tail: bytes
    live_keys: Sequence[str]
    tips: Sequence[bytes]
    sure_tip: bytes | None


def offer(offered: Offered, *, now: int, most: int) -> tuple[Verdict, list[int]]:
    """Queues it, all of it or nothing. `now` is in Unix seconds, `most` entries may wait. Raises
    script_socket.RedisAway.
    """
    looked_up, hashes = len(offered.live_keys), len(offered.blockhashes)
    keys = [ACCEPTED_STREAM, BLOCKHASHES, HEAD, *offered.known, *offered.live_keys]
    words: list[str | bytes | int] = [len(keys), *keys]
    words += [len(offered.known), looked_up, hashes, now, BLOCKHASH_BLOCKS, most]
    words += [offered.known_value, offered.known_seconds, offered.head, offered.tail]
    words += [*offered.blockhashes, *offered.tips]
    if offered.sure_tip is not None:
        words.append(offered.sure_tip)
    answer = _SCRIPT.run(*words)
    return Verdict(answer[0]), answer[1:]


def is_known(key: str) -> bool:
    """Raises redis.RedisError."""
    return bool(client().exists(key))


def expiries(live_keys: Sequence[str]) -> list[int | None]:
    """The expiry of each tip address that Redis knows, in Unix seconds. Raises redis.RedisError."""
    if not live_keys:
        return []
    found: list[bytes | None] = client().mget(live_keys)  # type: ignore[assignment]
    return [None if value is None else int(float(value)) for value in found]


def longest_wait_ms() -> int:
    """Since when the oldest entry waits that no lander has read; 0 where none waits. Raises
    redis.RedisError.
    """
    redis: Any = client()
    if not redis.exists(ACCEPTED_STREAM):
        return 0
    read = "0-0"
    for group in redis.xinfo_groups(ACCEPTED_STREAM):
        if group["name"].decode() == LANDERS:
            read = group["last-delivered-id"].decode()
    entries = redis.xrange(ACCEPTED_STREAM, f"({read}", count=1)
    if not entries:
        return 0
    seconds, microseconds = redis.time()
    since = int(entries[0][0].partition(b"-")[0])
    now = int(seconds) * 1_000 + int(microseconds) // 1_000
    return max(0, now - since)
