"""Telling, through Redis, what the followed chain just did: to landers, and to whoever accepts."""

from collections.abc import Sequence

import redis

from chain.encodings import b58encode
from priority.happenings import (
    BLOCKHASHES,
    FIELD,
    HAPPENINGS_STREAM,
    HEAD,
    KEPT_ENTRIES,
    BlockMade,
    Happening,
    pack,
)
from shared_state.redis_client import client

# Of more blocks than are promised, for they are looked through only now and then.
_KEPT_BLOCKHASHES = 400
_LOOKED_THROUGH_EVERY = 32
# A head that nobody moved for so long says nothing; another chain's would stand for ever.
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


def tell(happenings: Sequence[Happening], *, now: float) -> None:
    """Everybody may read it in the stream, and new blocks as blockhashes and head. `now` is in Unix
    seconds. Raises redis.RedisError, and then nothing or all of it was told.
    """
    if not happenings:
        return
    blocks = [each for each in happenings if isinstance(each, BlockMade)]
    with client().pipeline(transaction=True) as pipe:
        pipe.xadd(
            HAPPENINGS_STREAM,
            {FIELD: pack(list(happenings))},
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
        if block.height is not None and block.height % _LOOKED_THROUGH_EVERY == 0:
            _forget_blockhashes(below=block.height - _KEPT_BLOCKHASHES)


def _move_head(pipe: "redis.client.Pipeline", block: BlockMade, now: float) -> None:
    height = "" if block.height is None else block.height
    arguments = (block.slot, height, b58encode(block.blockhash), now, _HEAD_SECONDS)
    pipe.eval(_MOVE_HEAD, 1, HEAD, *map(str, arguments))


def _forget_blockhashes(*, below: int) -> None:
    known = client().hgetall(BLOCKHASHES)
    old = [blockhash for blockhash, height in known.items() if int(height) < below]
    if old:
        client().hdel(BLOCKHASHES, *old)
