"""Writes accepted submissions to the stream: one script looks up, checks and writes."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from priority.chain_events import BLOCKHASH_BLOCKS, BLOCKHASHES, HEAD
from priority.queue.store import ADMIT, Limits
from priority.submissions import ACCEPTED_STREAM, FIELD, LAMPORTS_FIELD, TIER_FIELD
from shared_state import script_socket
from shared_state.redis_client import client

_SCRIPT = script_socket.Script(
    ADMIT
    + """
local known, looked_up, hashes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local function is_others(value)
  return string.match(value, '|.*$') ~= string.match(ARGV[7], '|.*$')
end
local before = redis.call('GET', KEYS[4])
local time = now_ms()
-- A bundle of another key's, which need not land, keeps no one from sending one of it alone.
local bundled = before and known == 1 and is_others(before) and KEYS[4] .. ':bundled'
if before and not (bundled and redis.call('EXISTS', bundled) == 1) then
  return {1, age(time, (summary())), is_others(before) and 1 or 0}
end
local now, tip = tonumber(ARGV[4]), nil
local tips = 13 + hashes
local answer = {2}
for i = 1, looked_up do
  local expiry = tonumber(redis.call('GET', KEYS[3 + known + i]) or -1)
  if expiry > now then
    tip = tips + 2 * i - 1
    break
  end
  answer[1 + i] = expiry
end
tip = tip or tips + 2 * looked_up + 1
if not ARGV[tip] then return answer end
local height = hashes > 0 and tonumber(redis.call('HGET', KEYS[3], 'height') or 0) or 0
for i = 1, hashes do
  local made = redis.call('HGET', KEYS[2], ARGV[13 + i])
  if made and height > made + ARGV[5] then return {3, i - 1, made + ARGV[5], height} end
end
local nominal = tonumber(ARGV[12])
local oldest, left = summary()
local late = behind(ARGV[13], tonumber(ARGV[11]), nominal, time, oldest, left)
if late then return {5, unpack(late)} end
local waiting, old = redis.call('XLEN', KEYS[1]), age(time, oldest)
if waiting >= tonumber(ARGV[6]) then return {4, old, waiting} end
redis.call('XADD', KEYS[1], '*', 's', ARGV[9] .. ARGV[tip] .. ARGV[10], 't', ARGV[13],
  'l', ARGV[tip + 1])
local queued = {0, old}
for i = 1, known do
  if redis.call('SET', KEYS[3 + i], ARGV[7], 'NX', 'EX', ARGV[8]) then
    if i > 1 then redis.call('SET', KEYS[3 + i] .. ':bundled', '', 'EX', ARGV[8]) end
  elseif is_others(redis.call('GET', KEYS[3 + i])) then
    queued[#queued + 1] = i - 1
  end
end
if bundled then redis.call('DEL', bundled) end
added(time)
return queued
"""
)
assert (FIELD, TIER_FIELD, LAMPORTS_FIELD) == ("s", "t", "l")


class PackedTip(NamedTuple):
    """A tip as the entry holds it, and its lamports."""

    packed: bytes
    lamports: int


class Verdict(IntEnum):
    """The script's result. The queue's age is that of its oldest unsent entry, in milliseconds."""

    QUEUED = 0  # the queue's age; which of `known` remember what another key has pending
    KNOWN = 1  # it is pending already: nothing was written; the queue's age; 1 if not by this key
    NO_TIP = 2  # numbers: the expiries of the addresses that were looked up, -1 where unknown
    DEAD_BLOCKHASH = 3  # numbers: which of them, its last valid height, the newest height
    FULL = 4  # numbers: the queue's age, how many entries wait
    BEHIND = 5  # numbers: the queue's age, unsent entries, seconds to wait, the limit in ms


class Offered(NamedTuple):
    """A submission to queue. `known` are the keys that remember it, the first of which exists
    while it is pending; `blockhashes` those that must not be known to be dead; `head` and
    `tail` the packed entry around its tip; of `tips` the first that `live_keys` (one for each)
    shows to be alive is taken, else `sure_tip`. `tier` is the one in `tail`.
    """

    tier: str
    known: Sequence[str]
    known_value: str
    known_seconds: int
    blockhashes: Sequence[bytes]
    head: bytes
    tail: bytes
    live_keys: Sequence[str]
    tips: Sequence[PackedTip]
    sure_tip: PackedTip | None


async def offer(
    offered: Offered, *, now: int, most: int, limits: Limits
) -> tuple[Verdict, list[int]]:
    """Queues it, all of it or nothing. `now` is in Unix seconds, `most` entries may wait. Raises
    script_socket.RedisAway.
    """
    looked_up, hashes = len(offered.live_keys), len(offered.blockhashes)
    keys = [ACCEPTED_STREAM, BLOCKHASHES, HEAD, *offered.known, *offered.live_keys]
    words: list[str | bytes | int] = [len(keys), *keys]
    words += [len(offered.known), looked_up, hashes, now, BLOCKHASH_BLOCKS, most]
    words += [offered.known_value, offered.known_seconds, offered.head, offered.tail]
    words += [limits.slots, limits.slot_ms, offered.tier, *offered.blockhashes]
    for tip in (*offered.tips, offered.sure_tip):
        if tip is not None:
            words += tip
    answer = await _SCRIPT.arun(*words, patient=True)
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
