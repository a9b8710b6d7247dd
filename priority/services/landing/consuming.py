"""The stream of what was accepted: entries read by name, taken over from the dead, and let go."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any

import redis
from redis.asyncio import Redis

from access.redis_client import NAMESPACE
from priority.services.landing.names import Name
from priority.submissions import ACCEPTED_STREAM, FIELD, LANDERS

log = logging.getLogger(__name__)

_BLOCK_MS = 1_000
_AT_ONCE = 100
_CLAIMED_AT_ONCE = 1_000
_PAUSE_SECONDS = 0.25
# Where entries come closer together than the first of these, those of so many seconds are taken
# together: a round costs as much for several as for one.
_CLOSE_SECONDS = 0.005
_ROUND_SECONDS = 0.002
# Entries of a dead lander lay idle for as long as it took to miss it.
_IDLE_MS = 500
_FIELD = FIELD.encode()
# What nobody can read is kept here for whoever looks into it.
_SET_ASIDE = f"{NAMESPACE}landing:set-aside"
_MOST_SET_ASIDE = 1_000

# An entry's id, what it holds, and whether another reading of it may have come before.
Read = Callable[[bytes, bytes, bool], None]


class Consumer:
    """Reads as its name; `read` is called with each entry, as long as `has_room`."""

    def __init__(self, client: Redis, name: Name, read: Read, has_room: Callable[[], bool]) -> None:
        self._client = client
        self._name = name
        self._read = read
        self._has_room = has_room
        self._done: list[bytes] = []
        self._read_at = 0.0

    async def run(self) -> None:
        """Until it is cancelled. While Redis is away it waits."""
        said = ""
        read_own = ""  # the name whose entries of an earlier life were read
        while True:
            try:
                if not said:
                    await self._make_group()
                if read_own != self._name.text:
                    read_own = self._name.text
                    await self._read_own()
                while read_own == self._name.text:
                    await self._read_new()
                    if said:
                        log.info("Redis answers again")
                        said = ""
            except redis.ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                await self._make_group()  # Redis was emptied
            except redis.RedisError as error:
                if not said:
                    log.warning("waiting for Redis: %s", error)
                said = str(error) or "away"
                await asyncio.sleep(_PAUSE_SECONDS)

    def done(self, entry_id: bytes) -> None:
        """Nobody needs the entry any more: it goes with the next `let_go`."""
        self._done.append(entry_id)

    async def let_go(self) -> None:
        """Raises redis.RedisError; then they go the next time."""
        done, self._done = self._done, []
        if not done:
            return
        try:
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.xack(ACCEPTED_STREAM, LANDERS, *done)
                pipe.xdel(ACCEPTED_STREAM, *done)
                await pipe.execute()
        except BaseException:
            self._done = done + self._done
            raise

    async def take_over(self) -> None:
        """Entries whose lander is gone become ours. Raises redis.RedisError."""
        try:
            consumers: Any = await self._client.xinfo_consumers(ACCEPTED_STREAM, LANDERS)
        except redis.ResponseError:
            return  # no stream yet
        waiting = {each["name"].decode(): each["pending"] for each in consumers}
        names = [name for name, count in waiting.items() if count and name != self._name.text]
        alive = await self._name.others_alive(names)
        for name in names:
            if name not in alive and self._has_room():
                await self._claim(name)

    async def backlog(self) -> int:
        """Entries that nobody is done with. Raises redis.RedisError."""
        return int(await self._client.xlen(ACCEPTED_STREAM))

    async def _make_group(self) -> None:
        try:
            await self._client.xgroup_create(ACCEPTED_STREAM, LANDERS, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _read_own(self) -> None:
        """What a lander of our name had when it ended."""
        last = b"0"
        count = 0
        while entries := await self._group(last, block=None):
            last = entries[-1][0]
            count += len(entries)
            await self._take(entries, again=True)
        if count:
            log.info("going on with %d submissions of an earlier run", count)

    async def _read_new(self) -> None:
        if not self._has_room():
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        entries = await self._group(b">", block=_BLOCK_MS)
        before, self._read_at = self._read_at, monotonic()
        await self._take(entries, again=False)
        if len(entries) < _AT_ONCE and self._read_at - before < _CLOSE_SECONDS:
            await asyncio.sleep(self._read_at + _ROUND_SECONDS - monotonic())

    async def _claim(self, name: str) -> None:
        pending: Any = await self._client.xpending_range(
            ACCEPTED_STREAM, LANDERS, min="-", max="+", count=_CLAIMED_AT_ONCE, consumername=name
        )
        ids = [each["message_id"] for each in pending]
        if not ids:
            return
        claimed: Any = await self._client.xclaim(
            ACCEPTED_STREAM, LANDERS, self._name.text, min_idle_time=_IDLE_MS, message_ids=ids
        )
        if claimed:
            log.warning("took over %d submissions of lander %s, which is gone", len(claimed), name)
        await self._take(claimed, again=True)

    async def _group(self, after: bytes, *, block: int | None) -> list[Any]:
        found: Any = await self._client.xreadgroup(
            LANDERS, self._name.text, {ACCEPTED_STREAM: after}, count=_AT_ONCE, block=block
        )
        entries = list(found.values()) if isinstance(found, dict) else [each for _, each in found]
        flat = entries[0] if entries else []
        # RESP3 puts one more list around them.
        return flat[0] if flat and isinstance(flat[0], list) else flat

    async def _take(self, entries: list[Any], *, again: bool) -> None:
        for entry_id, fields in entries:
            packed = (fields or {}).get(_FIELD)
            if packed is None:
                self.done(entry_id)  # it was let go of, but not by everybody
                continue
            try:
                self._read(entry_id, packed, again)
            except ValueError as error:  # msgspec's and BadTransaction are such
                log.error("an accepted submission cannot be read: %s", error)
                await self._client.xadd(
                    _SET_ASIDE, {FIELD: packed}, maxlen=_MOST_SET_ASIDE, approximate=True
                )
                self.done(entry_id)
