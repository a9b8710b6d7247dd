"""Publishes changes of fates through Redis to the processes that stream them."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import redis

from priority.submissions import State
from shared_state.redis_client import NAMESPACE, run_script

log = logging.getLogger(__name__)

# Each announcement is written twice under one id: to the stream that every process follows, and to
# its key's stream, from which a reconnecting client catches up.
LIVE_STREAM = f"{NAMESPACE}fates:live"
FIELD = b"f"
# Entries are numbered from 1 on, so that a reader sees when one is missing; and the id before which
# this Redis knows nothing, so that a client whose place is older gets an event `gap`.
NUMBER_FIELD = b"n"
_NUMBERS = f"{NAMESPACE}fates:numbers"
SINCE = f"{NAMESPACE}fates:since"
LIVE_ENTRIES = 2_000
KEPT_ENTRIES = 2_000
KEPT_SECONDS = 3_600

_SCRIPT = """
local number = redis.call('INCR', KEYS[2])
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'f', ARGV[4], 'n', number)
redis.call('SET', KEYS[3], id, 'NX')
for i = 4, #KEYS do
  redis.call('XADD', KEYS[i], 'MAXLEN', '~', ARGV[2], id, 'f', ARGV[i + 1])
  redis.call('EXPIRE', KEYS[i], ARGV[3])
end
return id
"""


class FateChange(NamedTuple):
    """What became of one submission. `err` is JSON, `at` an aware datetime; with `settled` it is
    final. `queue_ms` is how long it waited to be sent; `stopped` is why it is not sent any more
    although it can still land.
    """

    key_id: int | None
    signature: bytes
    state: State
    commitment: str
    slot: int | None
    transaction_index: int | None
    err: Any
    reason: str
    settled: bool
    at: datetime
    bundle_id: str = ""
    queue_ms: int | None = None
    stopped: str = ""


# A change with its index in the announcement, which distinguishes changes of one entry.
Numbered = tuple[int, FateChange]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Numbered]).decode


def key_stream(key_id: int) -> str:
    """The Redis stream of what was announced of the key's submissions, KEPT_SECONDS long."""
    return f"{NAMESPACE}fates:key:{key_id}"


def announce(changes: Sequence[FateChange]) -> None:
    """To be called after the changes are stored. Submissions without a key are not announced.
    While Redis is away no events are sent; the tables have the fates.
    """
    by_key: dict[int, list[Numbered]] = defaultdict(list)
    for number, change in enumerate(changes):
        if change.key_id is not None:
            by_key[change.key_id].append((number, change))
    if not by_key:
        return
    announced = [each for of_key in by_key.values() for each in of_key]
    keys = [LIVE_STREAM, _NUMBERS, SINCE, *map(key_stream, by_key)]
    packed = [_encode(announced), *map(_encode, by_key.values())]
    try:
        run_script(_SCRIPT, keys, [LIVE_ENTRIES, KEPT_ENTRIES, KEPT_SECONDS, *packed])
    except redis.RedisError as error:
        log.warning("%d fates were not announced: %s", len(announced), error)


def unpack(packed: bytes) -> list[Numbered]:
    """The changes of one entry. Raises msgspec.MsgspecError for what is none."""
    return _decode(packed)
