"""The queue of accepted submissions: claims entries, takes over those of dead landers, deletes."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import redis
from redis.asyncio import Redis

from priority.queue.services.lander_names import LanderName
from priority.queue.store import CLAIM, DEFAULT_LIMITS, REPORT, UNCLAIMED, WAITING, Limits
from priority.submissions import ACCEPTED_STREAM, FIELD, LANDERS
from shared_state.loop_connection import LoopConnection
from shared_state.outages import outage_of
from shared_state.redis_client import NAMESPACE
from shared_state.script_socket import Script, Word, command

log = logging.getLogger(__name__)

_BLOCK_MS = 2_000
_AT_ONCE = 100
_CLAIMED_AT_ONCE = 1_000
_PAUSE_SECONDS = 0.25
_REPLY_SECONDS = 4.0
# Where entries come closer together than the first of these, those of so many seconds are taken
# together: a round costs as much for several as for one.
_CLOSE_SECONDS = 0.005
_ROUND_SECONDS = 0.002
# Entries that are claimed and not sent yet. The rest waits in Redis, where the best goes first and
# other landers may claim it.
_MOST_UNSENT = 64
# Sent entries are reported within this, unless a claim reports them first.
_REPORT_SECONDS = 0.01
# Finished entries are deleted within this.
_LET_GO_SECONDS = 0.1
# Entries of a dead lander are idle for as long as its name takes to expire.
_IDLE_MS = 500
_FIELD = FIELD.encode()
# Malformed entries are kept here for inspection.
_SET_ASIDE = f"{NAMESPACE}landing:set-aside"
_MOST_SET_ASIDE = 1_000

_CLAIM = Script(CLAIM)

# An entry's id, what it holds, and whether another reading of it may have come before.
Read = Callable[[bytes, bytes, bool], None]


class Queue:
    """Claims as its name; `read` is called with each entry, as long as `has_room`. Each entry is
    reported by `begun` once, when its first attempt began, by `answered` when an upstream answered
    it, and by `done` in the end.
    """

    def __init__(
        self,
        client: Redis,
        name: LanderName,
        read: Read,
        has_room: Callable[[], bool],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._client = client
        self._name = name
        self._read = read
        self._has_room = has_room
        self._limits = limits
        # For claims, and for waiting until there is something to claim.
        self._claiming = LoopConnection(client)
        self._report_script = client.register_script(REPORT)
        self._held: set[bytes] = set()  # what was read and is not deleted yet
        self._has_unread = False  # at the last look we had claimed more than is held
        self._unsent: set[bytes] = set()
        self._again: set[bytes] = set()  # the same, of entries that another reading had before
        self._room = asyncio.Event()
        self._unanswered: set[bytes] = set()  # begun, of either kind
        self._begun: list[bytes] = []  # what no longer counts as unsent, to be reported
        self._begun_at = 0.0  # when the first of these was
        self._something_begun = asyncio.Event()
        self._newest = b""  # behind which nothing is unclaimed, empty where that is not known
        self._done: list[bytes] = []
        self._something_done = asyncio.Event()
        self._read_at = 0.0

    async def run(self) -> None:
        """Runs until it is cancelled; waits while Redis is unavailable."""
        try:
            await self._run()
        finally:
            self._claiming.close()

    async def _run(self) -> None:
        said = ""
        read_own = ""  # the name whose earlier entries were read
        while True:
            try:
                await self._make_group()
                if read_own != self._name.text:
                    read_own = self._name.text
                    await self._read_own()
                while read_own == self._name.text:
                    await self._read_new()
                    if said:
                        log.info("Redis answers again")
                        said = ""
            except redis.RedisError as error:
                if str(error).startswith("NOGROUP"):
                    continue  # Redis was emptied
                if isinstance(error, redis.ResponseError) and outage_of(error) is None:
                    raise
                if not said:
                    log.warning("waiting for Redis: %s", error)
                said = str(error) or "away"
                await asyncio.sleep(_PAUSE_SECONDS)

    def begun(self, entry_id: bytes) -> None:
        """Its first attempt began: another one may be claimed."""
        if entry_id in self._unsent or entry_id in self._again:
            self._leave(entry_id)
            self._unanswered.add(entry_id)

    def answered(self, entry_id: bytes) -> None:
        """Its first attempt was answered, or none is needed: it no longer counts as unsent."""
        self.begun(entry_id)
        if entry_id in self._unanswered:
            self._unanswered.discard(entry_id)
            if not self._begun:
                self._begun_at = monotonic()
                self._something_begun.set()
            self._begun.append(entry_id)

    def done(self, entry_id: bytes) -> None:
        """The entry is finished: the next `let_go` deletes it."""
        self._leave(entry_id)
        self._unanswered.discard(entry_id)
        self._done.append(entry_id)
        self._something_done.set()

    async def let_go(self) -> None:
        """Deletes finished entries. Raises redis.RedisError; they are deleted the next time."""
        if self._done:
            await self._report()

    async def keep_letting_go(self) -> None:
        """Deletes finished entries until it is cancelled."""
        while True:
            await self._something_done.wait()
            self._something_done.clear()
            await asyncio.sleep(_LET_GO_SECONDS)
            try:
                await self.let_go()
            except redis.RedisError:
                self._something_done.set()

    async def keep_reporting(self) -> None:
        """Reports what no longer counts as unsent until it is cancelled."""
        while True:
            await self._something_begun.wait()
            self._something_begun.clear()
            while self._begun:
                # Mostly the next claim reports them.
                left = self._begun_at + _REPORT_SECONDS - monotonic()
                if left > 0:
                    await asyncio.sleep(left)
                    continue
                try:
                    await self._report()
                except redis.RedisError:
                    await asyncio.sleep(_PAUSE_SECONDS)

    async def claim(self, limit: int) -> list[Any]:
        """Up to so many entries, the best ones first: by tier, tip and age. Where there are none it
        waits up to two seconds for a new one. Raises redis.RedisError.
        """
        begun, self._begun = self._begun, []
        limits = self._limits
        words: list[Word] = [0, self._name.text, limit, limits.slots, limits.slot_ms, *begun]
        try:
            entries, *last = await _CLAIM.run_by(self._send, *words)
        except BaseException:
            self._report_again(begun)
            raise
        self._newest = last[0] if last else b""
        if not entries:
            await self._wait_for_more()
        return list(entries)

    async def _send(self, message: bytes) -> Any:
        return await self._claiming.send_within(_REPLY_SECONDS, message)

    async def _wait_for_more(self) -> None:
        """Until there is an entry that was not there when the last ones were claimed; a second at
        most. Raises redis.RedisError.
        """
        newest, self._newest = self._newest, b""
        if newest:
            waits = command(
                "XREAD", "COUNT", 1, "BLOCK", _BLOCK_MS, "STREAMS", ACCEPTED_STREAM, newest
            )
            await self._claiming.send_within(_REPLY_SECONDS + _BLOCK_MS / 1_000, waits)

    async def take_over(self) -> None:
        """Takes over the entries of dead landers. Raises redis.RedisError."""
        try:
            consumers: Any = await self._client.xinfo_consumers(ACCEPTED_STREAM, LANDERS)
        except redis.ResponseError:
            return  # no stream yet
        waiting = {each["name"].decode(): each["pending"] for each in consumers}
        await self._read_unread(waiting.get(self._name.text, 0))
        if waiting.pop(UNCLAIMED, 0) and not await self._client.exists(WAITING):
            # Redis lost the index of unclaimed entries.
            await self._claim_from(UNCLAIMED)
        names = [name for name, count in waiting.items() if count and name != self._name.text]
        alive = await self._name.others_alive(names)
        for name in names:
            if name not in alive and self._has_room():
                await self._claim_from(name)

    async def _read_unread(self, claimed: int) -> None:
        """Reads entries whose claim had no answer. Redis may run the command after it hung, when
        the lander does not wait any more, and no other lander takes over what a living one has. At
        the second look, since the answer may be on its way at the first.
        """
        had_unread, self._has_unread = self._has_unread, claimed > len(self._held)
        if had_unread and self._has_unread:
            await self._read_own()

    async def backlog(self, slot_seconds: float, weights: Mapping[str, int]) -> int:
        """The number of unfinished entries. Gives Redis how long a slot takes, and the tiers'
        weights. Raises redis.RedisError.
        """
        slot_ms = round(slot_seconds * 1_000, 1)
        pairs = [word for pair in weights.items() for word in pair]
        return await self._report([slot_ms, *pairs])

    async def _report(self, facts: Sequence[float | str] = ()) -> int:
        begun, self._begun = self._begun, []
        done, self._done = self._done, []
        words: list[Any] = [len(begun), *begun, len(done), *done, *facts]
        try:
            left = int(await self._report_script(args=words))
        except BaseException:
            self._report_again(begun)
            self._done = done + self._done
            raise
        self._held.difference_update(done)
        return left

    def _report_again(self, begun: list[bytes]) -> None:
        self._begun = begun + self._begun
        if begun:
            self._something_begun.set()

    def _leave(self, entry_id: bytes) -> None:
        self._unsent.discard(entry_id)
        self._again.discard(entry_id)
        self._room.set()

    async def _make_group(self) -> None:
        try:
            await self._client.xgroup_create(ACCEPTED_STREAM, LANDERS, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _read_own(self) -> None:
        """Reads the entries of our name that are not held, as of an earlier lander."""
        last = b"0"
        count = 0
        while entries := await self._own(last):
            last = entries[-1][0]
            entries = [each for each in entries if each[0] not in self._held]
            count += len(entries)
            await self._take(entries, again=True)
        if count:
            log.info("going on with %d submissions that were claimed before", count)

    async def _read_new(self) -> None:
        room = min(_AT_ONCE, _MOST_UNSENT - len(self._unsent)) if self._has_room() else 0
        if room > 0:
            entries = await self.claim(room)
            if not entries:
                return
            before, self._read_at = self._read_at, monotonic()
            await self._take(entries, again=False)
            if len(entries) == room:
                return
            if self._read_at - before < _CLOSE_SECONDS:
                await asyncio.sleep(self._read_at + _ROUND_SECONDS - monotonic())
            else:
                await self._wait_for_more()
            return
        self._room.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await self._room.wait()

    async def _claim_from(self, name: str) -> None:
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

    async def _own(self, after: bytes) -> list[Any]:
        found: Any = await self._client.xreadgroup(
            LANDERS, self._name.text, {ACCEPTED_STREAM: after}, count=_AT_ONCE
        )
        entries = list(found.values()) if isinstance(found, dict) else [each for _, each in found]
        flat = entries[0] if entries else []
        # RESP3 adds another list around them.
        return flat[0] if flat and isinstance(flat[0], list) else flat

    async def _take(self, entries: list[Any], *, again: bool) -> None:
        for entry_id, fields in entries:
            if not again and entry_id in self._held:
                continue  # it was read while the answer was on its way
            self._held.add(entry_id)
            packed = _packed_in(fields)
            if packed is None:
                self.done(entry_id)  # it was deleted, but not acknowledged
                continue
            (self._again if again else self._unsent).add(entry_id)
            try:
                self._read(entry_id, packed, again)
            except ValueError as error:  # msgspec's and BadTransaction are such
                log.error("an accepted submission cannot be read: %s", error)
                await self._client.xadd(
                    _SET_ASIDE, {FIELD: packed}, maxlen=_MOST_SET_ASIDE, approximate=True
                )
                self.done(entry_id)


def _packed_in(fields: Any) -> bytes | None:
    """What an entry holds: its fields are a dict, and a list where a script returned it."""
    if isinstance(fields, list):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    packed: bytes | None = (fields or {}).get(_FIELD)
    return packed
