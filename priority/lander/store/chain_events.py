"""Publishes chain events through Redis, for landers and for acceptance."""

from collections.abc import Sequence

import msgspec
import redis

from chain.encodings import b58encode
from priority.chain_events import (
    BLOCKHASHES,
    CHAIN_EVENTS_STREAM,
    FIELD,
    HEAD,
    KEPT_BLOCKHASHES,
    KEPT_ENTRIES,
    BlockMade,
    ChainEvent,
)
from shared_state.redis_client import client

_PRUNED_EVERY_BLOCKS = 32
_encode = msgspec.msgpack.Encoder().encode
# Of one entry of the stream.
unpack = msgspec.msgpack.Decoder(list[ChainEvent]).decode
# A head that has not moved for so long is stale; another chain's would stay for ever.
_HEAD_SECONDS = 300

# What a stream replays does not take the head back.
_MOVE_HEAD = """
local slot = tonumber(redis.call('HGET', KEYS[1], 'slot') or '-1')
if slot <= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'slot', ARGV[1], 'height', ARGV[2], 'blockhash', ARGV[3],
    'at', ARGV[4])
  redis.call('EXPIRE', KEYS[1], ARGV[5])
end
"""


def publish_events(events: Sequence[ChainEvent], *, now: float) -> None:
    """Appends the events to the stream, and writes new blocks' blockhashes and the head. `now` is
    in Unix seconds. Raises redis.RedisError; then all of it or nothing was written.
    """
    if not events:
        return
    blocks = [each for each in events if isinstance(each, BlockMade)]
    with client().pipeline(transaction=True) as pipe:
        pipe.xadd(
            CHAIN_EVENTS_STREAM,
            {FIELD: _encode(events)},
            maxlen=KEPT_ENTRIES,
            approximate=True,
        )
        for block in blocks:
            if block.height is not None:
                pipe.hset(BLOCKHASHES, block.blockhash, str(block.height))
        if blocks:
            _move_head(pipe, max(blocks, key=lambda block: block.slot), now)
        pipe.execute()
    for block in blocks:
        if block.height is not None and block.height % _PRUNED_EVERY_BLOCKS == 0:
            _forget_blockhashes(below=block.height - KEPT_BLOCKHASHES)


def _move_head(pipe: "redis.client.Pipeline", block: BlockMade, now: float) -> None:
    height = "" if block.height is None else block.height
    arguments = (block.slot, height, b58encode(block.blockhash), now, _HEAD_SECONDS)
    pipe.eval(_MOVE_HEAD, 1, HEAD, *map(str, arguments))


def _forget_blockhashes(*, below: int) -> None:
    known = client().hgetall(BLOCKHASHES)
    old = [blockhash for blockhash, height in known.items() if int(height) < below]
    if old:
        client().hdel(BLOCKHASHES, *old)
