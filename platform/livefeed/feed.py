"""LiveFeed: the follower's part, which publishes what subscribers want of the stream."""

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from django.conf import settings

from livefeed.messages import Ask, Kind, asks_channel, hello_channel, read_ask
from livefeed.selection import Selection
from shared_state.outages import AWAY
from shared_state.redis_client import client, client_of
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    PassedOn,
    SlotUpdate,
    Update,
)

log = logging.getLogger(__name__)

# Updates that wait for the feed's thread; more than some seconds of mainnet are not wanted live.
_MOST_WAITING = 400_000
_TURN_SECONDS = 0.25
# While no process wants anything.
_QUIET_TURN_SECONDS = 1.0
# So long nothing in slots was wanted: then it is no longer read. Clients that come and go do not
# make it be collected again and again.
_LINGERING_SECONDS = 60.0
_PAUSE_SECONDS = 0.5
_LISTEN_SECONDS = 1.0
_AT_ONCE = 5_000
# The newest final slot, and what was sent of those above it, with the connections' numbers.
Held = tuple[int, list[tuple[int, Update]]]


class LiveFeed:
    """Two threads: one hears what processes want, one reads the updates. `add` never waits.

    While no process wants what is in slots, `reads_all` is False: then `add` only slots' statuses
    and blocks. When one does, the rest comes from `held`. So that no message is neither there nor
    added, it is kept before `reads_all` is looked at. Entries are not held: `has_entries` has
    everything read always.
    """

    def __init__(
        self, *, has_entries: bool = False, lingering_seconds: float = _LINGERING_SECONDS
    ) -> None:
        self.reads_all = has_entries
        self.held: Callable[[], Held] = lambda: (0, [])
        self.stores_untouched: Callable[[], bool] = lambda: False
        self._reads_always = has_entries
        self._lingering_seconds = lingering_seconds
        self._wanted_at = 0.0
        self._updates: deque[tuple[int, Update | PassedOn] | Ask] = deque()
        self._added = threading.Event()
        self._stopping = threading.Event()
        self._dropped = False
        self._is_eager = self._is_wanted = False
        self._select = Selection(int.from_bytes(os.urandom(6)), is_light=not has_entries)
        self._threads = [
            threading.Thread(target=self._run, name="live feed", daemon=True),
            threading.Thread(target=self._listen, name="live asks", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._added.set()
        with contextlib.suppress(*AWAY):
            client().publish(asks_channel(), b"")  # ends the listening thread's wait
        for thread in self._threads:
            thread.join(timeout=3.0)

    def add(self, number: int, update: Update | PassedOn) -> None:
        """A message of the connection of that number; cheap, for the reading threads."""
        if len(self._updates) >= _MOST_WAITING:
            self._dropped = True
            return
        self._updates.append((number, update))
        # Account writes alone reach no commitment: what wakes the thread follows them.
        if isinstance(update, AccountUpdate) or not self._is_wanted or self._added.is_set():
            return
        if self._is_eager or isinstance(update, SlotUpdate | BlockMetaUpdate):
            self._added.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._added.wait(_TURN_SECONDS if self._is_wanted else _QUIET_TURN_SECONDS)
            self._added.clear()
            try:
                self._turn()
            except AWAY as error:
                self._select.lost()
                log.warning("subscribers get nothing: %s", str(error).strip())
                self._stopping.wait(_PAUSE_SECONDS)
            except Exception:
                self._select.lost()
                log.exception("the live feed failed")
                self._stopping.wait(_PAUSE_SECONDS)

    def _turn(self) -> None:
        if self._dropped:
            self._dropped = False
            log.warning("the live feed is behind: updates were dropped")
            self._updates.clear()
            self._select.lost()
        self._select.stores_untouched = self.stores_untouched()
        while self._updates:
            now, at = time.monotonic(), time.time()
            for _ in range(min(len(self._updates), _AT_ONCE)):
                item = self._updates.popleft()
                if isinstance(item, Ask):
                    self._ask(item, now)
                else:
                    number, update = item
                    self._select.take(number, update, now, at)
            self._select.advance(time.monotonic())
            self._select.send()
        self._select.advance(time.monotonic())
        self._select.forget_silent(time.monotonic())
        self._select.send()
        self._is_eager, self._is_wanted = self._select.is_eager, self._select.is_wanted
        self._rest()

    def _ask(self, ask: Ask, now: float) -> None:
        if self._select.is_light and any(each.kind is not Kind.TIP for each in ask.add):
            self.reads_all, self._wanted_at = True, now
            root, updates = self.held()
            self._select.fill(updates, root, now)
        self._select.ask(ask, now)
        self._is_wanted = self._select.is_wanted

    def _rest(self) -> None:
        """Ends reading what has not been wanted for long, or is of before something was lost."""
        now = time.monotonic()
        if self._reads_always or not self.reads_all:
            return
        if self._select.wants_contents:
            self._wanted_at = now
        if self._select.is_light or now - self._wanted_at > self._lingering_seconds:
            self.reads_all = False
            self._select.lighten()

    def _listen(self) -> None:
        """Hears asks; after each connection to Redis, processes state all."""
        while not self._stopping.is_set():
            try:
                patient = client_of(settings.REDIS_URL, _LISTEN_SECONDS + 2)
                pubsub: Any = patient.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
                with pubsub:
                    pubsub.subscribe(asks_channel())
                    patient.publish(hello_channel(), b"")
                    while not self._stopping.is_set():
                        message = pubsub.get_message(timeout=_LISTEN_SECONDS)
                        if message is not None and message["data"]:
                            self._heard(message["data"])
            except AWAY:
                self._stopping.wait(_PAUSE_SECONDS)
            except Exception:
                log.exception("asks of subscribers could not be read")
                self._stopping.wait(_PAUSE_SECONDS)

    def _heard(self, data: bytes) -> None:
        try:
            ask = read_ask(data)
        except msgspec.MsgspecError as error:
            log.error("an ask could not be read: %s", error)
            return
        self._updates.append(ask)
        self._added.set()
