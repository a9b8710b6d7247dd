"""FeedLink: what this process wants of the follower's live feed, and what the feed sends."""

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from livefeed.messages import (
    ALIVE_SECONDS,
    Answer,
    Ask,
    Body,
    Envelope,
    Want,
    asks_channel,
    channel_of,
    encode,
    hello_channel,
    read_envelope,
)
from shared_state.outages import AWAY
from shared_state.pace import silence_seconds
from shared_state.redis_client import async_client_of

log = logging.getLogger(__name__)

# Wants that are stated within this time go together.
_GATHERING_SECONDS = 0.002
# A feed that answers nothing for so long is away. Where it answers and no slot comes, the chain's
# stream is silent.
_SILENT_SECONDS = 6.0
_PAUSE_SECONDS = 0.5
_READ_SECONDS = 1.0
_WATCH_SECONDS = 1.0

Ready = Callable[[Answer | None], None]


async def answer_to(ask: Callable[[Ready], object]) -> Answer | None:
    """The feed's answer to what `ask` asks, which gets a Ready."""
    answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

    def ready(answer: Answer | None) -> None:
        if not answered.done():
            answered.set_result(answer)

    ask(ready)
    return await answered


class FeedLink:
    """Used on one event loop. `on_body` gets what the feed sends, in order, an Answer with those
    who wait for it; `on_lost` is called when something of it may be missing, and `on_silence` each
    second while nothing of the chain comes.
    """

    def __init__(
        self,
        redis_url: str,
        on_body: Callable[[Body, list[Ready]], None],
        on_lost: Callable[[], None],
        on_silence: Callable[[], None],
    ) -> None:
        self.process = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._redis = async_client_of(redis_url, _READ_SECONDS + 5)
        self._on_body = on_body
        self._on_lost = on_lost
        self._on_silence = on_silence
        self._counts: Counter[Want] = Counter()
        self._add: dict[Want, None] = {}
        self._drop: dict[Want, None] = {}
        self._again: dict[Want, None] = {}
        self._ready: list[Ready] = []
        self._waiting: dict[int, list[Ready]] = {}
        self._number = 0
        # The number of the Ask that states all wants, until it is answered; 0 when it is.
        self._restating = 0
        self._feed = 0
        self._last = 0
        self._heard_at = 0.0
        # The feed's newest slot, and since when it is that.
        self._slot = (0, 0)
        self._moved_at = 0.0
        self._silence_seconds = _SILENT_SECONDS
        self._is_listening = False
        # A cancellation can get lost in the client's timeouts.
        self._is_stopped = False
        self._wakes = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_fed(self) -> bool:
        """Whether the feed answered lately, or has only been asked yet, and slots come."""
        now = time.monotonic()
        is_heard = now - self._heard_at < _SILENT_SECONDS
        return is_heard and now - self._moved_at < self._silence_seconds

    def start(self) -> None:
        if not self._tasks:
            self._heard_at = self._moved_at = time.monotonic()
            works = (self._listen, self._publish, self._watch)
            self._tasks = [asyncio.create_task(work()) for work in works]

    async def stop(self) -> None:
        self._is_stopped = True
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    def want(self, wants: Iterable[Want], ready: Ready, *, again: bool = False) -> None:
        """States the wants. `ready` is called with the feed's Answer once they count, with None
        where the feed is away; `again` asks for the slots that the feed still keeps.
        """
        for want in wants:
            self._counts[want] += 1
            # Stated again where it was before: the Answer has what is known of it.
            self._add[want] = None
            if again:
                self._again[want] = None
        self._ready.append(ready)
        self._wakes.set()

    def wants(self, want: Want) -> bool:
        """Whether it is stated."""
        return self._counts[want] > 0

    def unwant(self, wants: Iterable[Want]) -> None:
        for want in wants:
            self._counts[want] -= 1
            if self._counts[want] <= 0:
                del self._counts[want]
                self._add.pop(want, None)
                self._again.pop(want, None)
                self._drop[want] = None
        self._wakes.set()

    def restate(self) -> None:
        """All wants again: something is missing, or the feed is another one."""
        self._number += 1
        self._restating = self._number
        callbacks = [each for found in self._waiting.values() for each in found]
        self._waiting = {}
        self._ready = [*callbacks, *self._ready]
        self._on_lost()
        self._wakes.set()

    # --- asking ----------------------------------------------------------------------------------

    async def _publish(self) -> None:
        """Publishes what changed, and at least every second that this process is there."""
        stated_at = 0.0
        while not self._is_stopped:
            # Not wait_for, which loses a cancellation that comes with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_SECONDS):
                    await self._wakes.wait()
            await asyncio.sleep(_GATHERING_SECONDS)
            self._wakes.clear()
            if not self._is_listening:
                self._fail_waiting()
                continue
            is_late = time.monotonic() - stated_at > 2 * ALIVE_SECONDS
            if self._restating and (self._restating not in self._waiting or is_late):
                ask = self._whole()
                stated_at = time.monotonic()
            else:
                ask = self._changes()
            try:
                await self._redis.publish(asks_channel(), encode(ask))
            except AWAY as error:
                log.warning("the live feed cannot be asked: %s", error)
                self.restate()
                await asyncio.sleep(_PAUSE_SECONDS)
            if not self.is_fed:
                self._fail_waiting()

    async def _watch(self) -> None:
        """Reports silence: without a word subscribers would wait."""
        while not self._is_stopped:
            await asyncio.sleep(_WATCH_SECONDS)
            seconds = await asyncio.to_thread(silence_seconds)
            self._silence_seconds = max(seconds, _SILENT_SECONDS)
            if not self.is_fed:
                self._on_silence()

    def _whole(self) -> Ask:
        self._number += 1
        number = self._restating = self._number
        waiting = [each for found in self._waiting.values() for each in found]
        self._waiting = {number: [*waiting, *self._ready]}
        again = list(self._again)
        self._ready, self._add, self._drop, self._again = [], {}, {}, {}
        return Ask(self.process, number, whole=True, add=list(self._counts), again=again)

    def _changes(self) -> Ask:
        self._number += 1
        ask = Ask(
            self.process,
            self._number,
            add=list(self._add),
            drop=list(self._drop),
            again=list(self._again),
        )
        if self._ready:
            self._waiting[self._number] = self._ready
        self._ready, self._add, self._drop, self._again = [], {}, {}, {}
        return ask

    def _fail_waiting(self) -> None:
        """What waits for a feed that is away gets no answer."""
        if self.is_fed:
            return
        failed = [each for found in self._waiting.values() for each in found] + self._ready
        self._waiting, self._ready = {}, []
        for ready in failed:
            ready(None)

    # --- hearing ----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while not self._is_stopped:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:
                    await pubsub.subscribe(channel_of(self.process), hello_channel())
                    self._is_listening = True
                    self.restate()
                    while not self._is_stopped:
                        message = await pubsub.get_message(timeout=_READ_SECONDS)
                        if message is not None:
                            self._hear(message)
            except AWAY as error:
                log.warning("the live feed cannot be heard: %s", error)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("the live feed could not be read")
            self._is_listening = False
            await asyncio.sleep(_PAUSE_SECONDS)

    def _hear(self, message: dict[str, Any]) -> None:
        data: bytes = message["data"]
        if message["channel"].decode() == hello_channel():
            if data in (b"", self.process.encode()) and not self._restating:
                self.restate()
            return
        try:
            envelope = read_envelope(data)
        except msgspec.MsgspecError as error:
            log.error("a message of the live feed could not be read: %s", error)
            return
        self._heard_at = time.monotonic()
        body = envelope.body
        if isinstance(body, Answer) and (slot := (envelope.feed, body.slot)) != self._slot:
            self._slot, self._moved_at = slot, self._heard_at
        if self._restating:
            if isinstance(body, Answer) and body.number == self._restating:
                self._restating, self._feed, self._last = 0, envelope.feed, envelope.number
            elif envelope.feed != self._feed:
                return
            # Else it is of before, and as good as it was.
        elif not self._follows(envelope):
            self.restate()
        waiting = self._waiting.pop(body.number, []) if isinstance(body, Answer) else []
        self._on_body(body, waiting)
        if isinstance(body, Answer) and any(number < body.number for number in self._waiting):
            self.restate()  # an Ask before this one was not heard

    def _follows(self, envelope: Envelope) -> bool:
        expected = self._last + 1
        self._last = envelope.number
        return envelope.feed == self._feed and envelope.number == expected
