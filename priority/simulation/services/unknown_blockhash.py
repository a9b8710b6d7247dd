"""Whether a blockhash unknown to the node may belong to a newer block.

A sender may use a node that is ahead of ours, so an unknown blockhash proves nothing at once. It
does after some more blocks of the followed chain, without a gap since the node's newest, if none
of them has it: the sender's block would be among them.
"""

import threading
import time
from typing import Any

import redis

from priority.chain_events import BLOCKHASHES, HEAD
from shared_state.pace import slot_seconds
from shared_state.redis_client import client

# How far another node may be ahead of ours and of the stream.
_BLOCKS_AHEAD = 4
# In slots, so that these blocks have time to come, within seconds for which a thread may wait.
_LONGEST_SLOTS, _LEAST_SECONDS, _MOST_SECONDS = 7.5, 2.0, 10.0
_LOOK_SECONDS = 0.05
# Threads of this process that may wait here: the others' bundles are accepted unproved.
_places = threading.BoundedSemaphore(2)


def is_of_no_block(blockhash: bytes, *, newest: bytes) -> bool:
    """True where no block that could count has it. `newest` is the newest blockhash of the node
    that does not know this one among its last 150. False if there is no proof: no stream is
    followed, it lags, stands still or has a gap, or Redis is away.
    """
    if not _places.acquire(blocking=False):
        return False
    try:
        return _look(blockhash, newest)
    except redis.RedisError:
        return False
    finally:
        _places.release()


def _look(blockhash: bytes, newest: bytes) -> bool:
    waited = min(max(_LONGEST_SLOTS * slot_seconds(), _LEAST_SECONDS), _MOST_SECONDS)
    deadline = time.monotonic() + waited
    head = _head_height()
    if head is None:
        return False
    while time.monotonic() < deadline:
        known: Any = client().hmget(BLOCKHASHES, [blockhash, newest])
        if known[0] is not None:
            return False
        if known[1] is not None:
            first = int(known[1])
            last = max(head, first) + _BLOCKS_AHEAD
            if (_head_height() or 0) >= last:
                return _all_known(first, last) and not client().hexists(BLOCKHASHES, blockhash)
        time.sleep(_LOOK_SECONDS)
    return False


def _head_height() -> int | None:
    height: Any = client().hget(HEAD, "height")
    return int(height) if height else None


def _all_known(first: int, last: int) -> bool:
    heights = {int(height) for height in client().hvals(BLOCKHASHES)}
    return heights.issuperset(range(first, last + 1))
