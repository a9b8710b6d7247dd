"""Reads the follower's chain events from Redis."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
import redis
from redis.asyncio import Redis

from chain.encodings import b58decode
from priority.chain_events import BLOCKHASHES, CHAIN_EVENTS_STREAM, FIELD, HEAD, ChainEvent
from priority.lander.chain_view import Chain
from priority.lander.store.chain_events import unpack

log = logging.getLogger(__name__)

_BLOCK_MS = 1_000
_AT_ONCE = 200
# Earlier events to read at start, for transactions that landed without a lander running.
_LOOKED_BACK = 1_500
_PAUSE_SECONDS = 0.5
_FIELD = FIELD.encode()


class ChainReader:
    """`heard` is called with the events of an entry and the time they were published, in seconds of
    the loop's clock. Recent earlier events are included.
    """

    def __init__(
        self, client: Redis, chain: Chain, heard: Callable[[list[ChainEvent], float], None]
    ) -> None:
        self._client = client
        self._chain = chain
        self._heard = heard
        self._last = ""
        self._offset = 0.0
        self.began = asyncio.Event()

    async def run(self) -> None:
        """Runs until it is cancelled; waits while Redis is unavailable."""
        while True:
            try:
                await self._begin()
                while True:
                    await self._read()
            except redis.RedisError as error:
                log.debug("chain events cannot be read: %s", error)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def blockhashes(self, wanted: list[bytes]) -> None:
        """Reads the heights of these blockhashes from Redis. Raises redis.RedisError."""
        found: Any = await self._client.hmget(BLOCKHASHES, wanted)
        self._chain.learn(
            {
                blockhash: int(height)
                for blockhash, height in zip(wanted, found, strict=True)
                if height is not None
            }
        )

    async def _begin(self) -> None:
        seconds, microseconds = await self._client.time()
        loop_now = asyncio.get_running_loop().time()
        # Entry ids are Redis' time, which may differ from ours.
        self._offset = loop_now - (seconds + microseconds / 1e6)
        heights: Any = await self._client.hgetall(BLOCKHASHES)
        self._chain.learn({blockhash: int(height) for blockhash, height in heights.items()})
        await self._learn_head()
        if not self._last:
            entries: Any = await self._client.xrevrange(CHAIN_EVENTS_STREAM, count=_LOOKED_BACK)
            self._last = "0-0"
            self._take(reversed(entries))
        self.began.set()

    async def _learn_head(self) -> None:
        head: Any = await self._client.hgetall(HEAD)
        try:
            height = head[b"height"].decode()
            at = asyncio.get_running_loop().time() - (time.time() - float(head[b"at"]))
            self._chain.learn_head(
                int(head[b"slot"]),
                int(height) if height else None,
                b58decode(head[b"blockhash"].decode()),
                at,
            )
        except (KeyError, ValueError):
            return  # no follower yet

    async def _read(self) -> None:
        found: Any = await self._client.xread(
            {CHAIN_EVENTS_STREAM: self._last}, count=_AT_ONCE, block=_BLOCK_MS
        )
        entries = found.values() if isinstance(found, dict) else (each for _, each in found)
        for of_stream in entries:
            # RESP3 adds another list around them.
            self._take(of_stream[0] if of_stream and isinstance(of_stream[0], list) else of_stream)

    def _take(self, entries: Any) -> None:
        for entry_id, fields in entries:
            self._last = entry_id.decode()
            published_at = int(self._last.partition("-")[0]) / 1_000 + self._offset
            try:
                events = unpack(fields[_FIELD])
            except (KeyError, msgspec.MsgspecError) as error:
                log.error("a chain event cannot be read: %s", error)
                continue
            self._heard(events, published_at)
