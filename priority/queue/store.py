"""The queue of accepted submissions in Redis: Lua scripts that enter, claim and report entries.

The stream ACCEPTED_STREAM holds each entry until its fate is stored. Sorted sets index what was not
sent yet: `waiting` (unclaimed) and `claimed`, by when they were accepted, and one lane for each
tier, by acceptance and tip. docs/decisions/lateness.md has the rules and their bounds.
"""

from typing import Any, NamedTuple

from priority.submissions import ACCEPTED_STREAM, LAMPORTS_FIELD, LANDERS, TIER_FIELD
from shared_state.redis_client import NAMESPACE, run_script

# The consumer that holds entries in the group's pending list until a lander claims them.
UNCLAIMED = "(queue)"
# What is unclaimed, by when it was accepted: {id, a space, the tier: Unix ms}.
WAITING = f"{NAMESPACE}landing:waiting"
# {tier: its weight}, as landers read it from the database.
WEIGHTS = f"{NAMESPACE}landing:weights"
# Where refusals are switched off, entries are aged as by this limit.
_DEFAULT_SLOTS = 16


class Limits(NamedTuple):
    """`slots`: how old the oldest unsent entry may be before new ones are refused, 0 for any age;
    `slot_ms`: a slot's length by block times. A lander's own measure counts if it is between half
    of it and four times it.
    """

    slots: int = _DEFAULT_SLOTS
    slot_ms: int = 400


DEFAULT_LIMITS = Limits()


class QueueState(NamedTuple):
    """`age_ms` of the oldest entry that no upstream answered yet, 0 where there is none; how many
    there are; how many a second landers send, as measured.
    """

    age_ms: int
    unsent: int
    per_second: int


# A tip of so many lamports or more gives no further head start.
_MOST_TIP = "2^28"
# Entries that one call indexes at most, so that no call holds up Redis.
_INDEXED_AT_ONCE = 1_000
# The rate that is assumed before one was measured: less than a lander does on a busy machine.
_FIRST_RATE = 100
_WINDOW_MS = 500
# A longer window is an outage, not a measure of a lander's capacity.
_LONGEST_WINDOW_MS = 10_000

# What every script needs.
_SUMMARY = f"""
local STREAM, GROUP, UNCLAIMED = '{ACCEPTED_STREAM}', '{LANDERS}', '{UNCLAIMED}'
local WAITING, CLAIMED = '{WAITING}', '{NAMESPACE}landing:claimed'
local LANE, LANES = '{NAMESPACE}landing:lane:', '{NAMESPACE}landing:lanes'
local WEIGHTS, QUEUE = '{WEIGHTS}', '{NAMESPACE}landing:queue'

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- When the oldest unsent entry was accepted (nil: there is none), and how many there are. What
-- acceptance reads of the queue stands in one hash: `new` entries are not indexed yet.
local function summary()
  local known = redis.call('HMGET', QUEUE, 'oldest', 'indexed', 'new', 'new_since')
  local oldest, since = tonumber(known[1] or nil), tonumber(known[4] or nil)
  if since and (not oldest or since < oldest) then oldest = since end
  return oldest, (tonumber(known[2] or 0)) + (tonumber(known[3] or 0))
end

local function age(now, oldest) return oldest and math.max(0, now - oldest) or 0 end

"""
_INDEX = f"""
local function value(key, field, default)
  return tonumber(redis.call('HGET', key, field) or default)
end

local function since_of(id) return tonumber(string.match(id, '^%d+')) end

local function slot_of(nominal)
  return math.min(math.max(value(QUEUE, 'slot', nominal), nominal / 2), nominal * 4)
end

-- To be called after each change of the sorted sets.
local function summarize()
  local oldest
  for _, key in ipairs({{WAITING, CLAIMED}}) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first and (not oldest or first < oldest) then oldest = first end
  end
  local count = redis.call('ZCARD', WAITING) + redis.call('ZCARD', CLAIMED)
  redis.call('HSET', QUEUE, 'indexed', count)
  if oldest then redis.call('HSET', QUEUE, 'oldest', oldest)
  else redis.call('HDEL', QUEUE, 'oldest') end
end

-- An entry's tier and the lamports of its tip; what an older version queued has neither.
local function read(fields)
  local found = {{}}
  for i = 1, #fields, 2 do found[fields[i]] = fields[i + 1] end
  return found['{TIER_FIELD}'] or '', tonumber(found['{LAMPORTS_FIELD}']) or 0
end

-- New entries of the stream get their place in the lanes.
local function index(nominal)
  local command = {{'XREADGROUP', 'GROUP', GROUP, UNCLAIMED, 'COUNT', {_INDEXED_AT_ONCE},
    'STREAMS', STREAM, '>'}}
  local found = redis.pcall(unpack(command))
  if found and found.err then
    redis.call('XGROUP', 'CREATE', STREAM, GROUP, '0', 'MKSTREAM')
    found = redis.call(unpack(command))
  end
  if not found then return end
  local slot, entries = slot_of(nominal), found[1][2]
  -- What an older version queued was not counted.
  if #entries < {_INDEXED_AT_ONCE} or redis.call('HINCRBY', QUEUE, 'new', -#entries) <= 0 then
    redis.call('HDEL', QUEUE, 'new', 'new_since')
  else
    redis.call('HSET', QUEUE, 'new_since', since_of(entries[#entries][1]))
  end
  for _, entry in ipairs(entries) do
    local id, since = entry[1], since_of(entry[1])
    local tier, tip = read(entry[2])
    -- Half a slot of head start for each doubling of the tip.
    local start = since - slot * math.log(math.min(tip, {_MOST_TIP}) + 1) / math.log(2) / 2
    redis.call('ZADD', WAITING, since, id .. ' ' .. tier)
    redis.call('ZADD', LANE .. tier, string.format('%.3f', start), id)
    if not redis.call('ZSCORE', LANES, tier) then
      local turn = value(QUEUE, 'turn', 0) + 1 / value(WEIGHTS, tier, 1)
      redis.call('ZADD', LANES, string.format('%.17g', turn), tier)
    end
  end
end

"""
_MEASURE = f"""
-- Measures how many a second are sent. Only a window in which something always waited shows what
-- landers can do; any other shows the least of it.
local function measure(sent, now)
  local known = redis.call('HMGET', QUEUE, 'sent', 'since', 'idle', 'rate')
  local total, since = (tonumber(known[1]) or 0) + sent, tonumber(known[2])
  local left = redis.call('ZCARD', WAITING) + (tonumber(redis.call('HGET', QUEUE, 'new') or 0))
  local idle = known[3] == '1' or left == 0
  if not since or now - since > {_LONGEST_WINDOW_MS} then
    total, since = 0, now
  elseif now - since >= {_WINDOW_MS} then
    local rate, sample = tonumber(known[4]) or {_FIRST_RATE}, total * 1000 / (now - since)
    if idle then
      rate = math.max(rate, sample, math.min({_FIRST_RATE}, rate * 1.5))
    else
      rate = (rate + sample) / 2
    end
    redis.call('HSET', QUEUE, 'rate', rate)
    total, since, idle = 0, now, left == 0
  end
  redis.call('HSET', QUEUE, 'sent', total, 'since', since, 'idle', idle and 1 or 0, 'at', now)
end

local function remove(first, last)
  local count = 0
  for i = first, last do count = count + redis.call('ZREM', CLAIMED, ARGV[i]) end
  return count
end
"""

# ARGV: the lander's name, how many, Limits.slots and .slot_ms, then the ids that it began to send.
# Returns the entries, best first; where nothing else is unclaimed, also the id behind which to
# wait.
CLAIM = (
    _SUMMARY
    + _INDEX
    + _MEASURE
    + f"""
local most, slots, nominal = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = now_ms()
local sent = remove(5, #ARGV)
index(nominal)
local aged = (slots > 0 and slots or {_DEFAULT_SLOTS}) * slot_of(nominal) / 3
local ids = {{}}
while #ids < most do
  local oldest = redis.call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')
  if not oldest[1] then break end
  local lane = redis.call('ZRANGE', LANES, 0, 0, 'WITHSCORES')
  local id, tier
  if now - oldest[2] >= aged or not lane[1] then
    id, tier = string.match(oldest[1], '^(%S+) (.*)$')
    redis.call('ZREM', LANE .. tier, id)
  else
    tier = lane[1]
    id = redis.call('ZPOPMIN', LANE .. tier)[1]
    redis.call('HSET', QUEUE, 'turn', lane[2])
  end
  if redis.call('EXISTS', LANE .. tier) == 0 then
    redis.call('ZREM', LANES, tier)
  else
    redis.call('ZINCRBY', LANES, string.format('%.17g', 1 / value(WEIGHTS, tier, 1)), tier)
  end
  if id and redis.call('ZREM', WAITING, id .. ' ' .. tier) == 1 then
    redis.call('ZADD', CLAIMED, since_of(id), id)
    ids[#ids + 1] = id
  end
end
if redis.call('EXISTS', LANES) == 0 then redis.call('HDEL', QUEUE, 'turn') end
if #ids > 0 or sent > 0 then summarize() end
if sent > 0 then measure(sent, now) end
local newest
if #ids < most then
  local stream = redis.call('XINFO', 'STREAM', STREAM)
  for i = 1, #stream, 2 do
    if stream[i] == 'last-generated-id' then newest = stream[i + 1] end
  end
end
if #ids == 0 then return {{{{}}, newest}} end
local entries = redis.call('XCLAIM', STREAM, GROUP, ARGV[1], 0, unpack(ids))
if #entries < #ids then
  local there = {{}}
  for _, entry in ipairs(entries) do there[entry[1]] = true end
  for _, id in ipairs(ids) do
    if not there[id] then redis.call('ZREM', CLAIMED, id) end
  end
  summarize()
end
return {{entries, newest}}
"""
)

# ARGV: how many ids were begun, those, how many are done with, those; then the slot's measured
# length in ms and {tier, weight} pairs, if they are known. Returns how many entries are not done.
REPORT = (
    _SUMMARY
    + _INDEX
    + _MEASURE
    + """
local begun = tonumber(ARGV[1])
local done = tonumber(ARGV[begun + 2])
local now = now_ms()
local sent = remove(2, begun + 1)
for i = begun + 3, begun + 2 + done do
  redis.call('XACK', STREAM, GROUP, ARGV[i])
  redis.call('XDEL', STREAM, ARGV[i])
end
remove(begun + 3, begun + 2 + done)
-- The lander that claimed these is gone, and so are the entries.
for _ = 1, 100 do
  local first = redis.call('ZRANGE', CLAIMED, 0, 0)[1]
  if not first or redis.call('XRANGE', STREAM, first, first)[1] then break end
  redis.call('ZREM', CLAIMED, first)
end
summarize()
measure(sent, now)
local place = begun + done + 3
if ARGV[place] then
  redis.call('HSET', QUEUE, 'slot', ARGV[place])
  redis.call('DEL', WEIGHTS)
  if ARGV[place + 1] then redis.call('HSET', WEIGHTS, unpack(ARGV, place + 1)) end
end
return redis.call('XLEN', STREAM)
"""
)

_STATE = (
    _SUMMARY
    + _INDEX
    + _MEASURE
    + f"""
if redis.call('EXISTS', STREAM) == 0 then return {{0, 0, value(QUEUE, 'rate', {_FIRST_RATE})}} end
index(tonumber(ARGV[1]))
summarize()
local oldest, unsent = summary()
return {{age(now_ms(), oldest), unsent, value(QUEUE, 'rate', {_FIRST_RATE})}}
"""
)

# For the script that accepts. `behind`: whether a new entry of the tier would be sent too late, nil
# or what Verdict.BEHIND says. `added`: an entry was written.
ADMIT = (
    _SUMMARY
    + f"""
-- How many go before a new entry of the tier: what landers hold, what has waited for so long that
-- it goes before all else, and of the lanes what their turns take until its own one's end.
local function before(tier, now, aged, nominal)
{_INDEX}
  index(nominal)
  summarize()
  local own = value(WEIGHTS, tier, 1)
  local all = own
  for _, other in ipairs(redis.call('ZRANGE', LANES, 0, -1)) do
    if other ~= tier then all = all + value(WEIGHTS, other, 1) end
  end
  local turns = redis.call('ZCARD', LANE .. tier) * all / own
  local first = redis.call('ZCOUNT', WAITING, '-inf', now - aged)
  return redis.call('ZCARD', CLAIMED) + math.min(redis.call('ZCARD', WAITING), first + turns)
end

local function behind(tier, slots, nominal, now, oldest, left)
  if slots == 0 or left == 0 then return end
  local known = redis.call('HMGET', QUEUE, 'rate', 'slot', 'at')
  local rate = tonumber(known[1] or {_FIRST_RATE})
  local slot = math.min(math.max(tonumber(known[2] or nominal), nominal / 2), nominal * 4)
  local limit, old = slots * slot, age(now, oldest)
  -- A third of the limit is for what goes before it.
  local most = math.max(4, rate * limit / 3000)
  if old <= limit then
    if left < most then return end
    if before(tier, now, limit / 3, nominal) < most then return end
  end
  local over = math.max(old > limit and left or left - most, 1)
  local seconds = math.ceil(over / math.max(rate, 1))
  -- No lander reports: until one is started again.
  if now - tonumber(known[3] or 0) > 2000 then seconds = math.max(seconds, 5) end
  return {{old, left, math.min(seconds, 30), limit}}
end

local function added(now)
  local new = redis.call('HINCRBY', QUEUE, 'new', 1)
  if new == 1 then redis.call('HSET', QUEUE, 'new_since', now) end
end
"""
)


def queue_state() -> QueueState:
    """Raises redis.RedisError."""
    found: Any = run_script(_STATE, args=[DEFAULT_LIMITS.slot_ms])
    return QueueState(*found)
