"""A process that the live feed serves: its members, and what the feed sends, message by message."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from livefeed.messages import EVERYTHING, Answer, Body, Missed
from shared_state.database_threads import DatabaseThreads
from shared_state.outages import AWAY
from subscriptions.link import FeedLink, Ready
from subscriptions.members import Members

log = logging.getLogger(__name__)

# Messages of the feed that wait here; with more of them this process is too slow for its clients.
_MOST_WAITING = 5_000


class FedProcess:
    """Used on one event loop. `name` is that of its threads."""

    def __init__(self, name: str, redis_url: str) -> None:
        self._threads = DatabaseThreads(name)
        self.in_thread = self._threads.run
        # What is past is read by a thread of its own: keys and limits do not wait for it.
        self._past_threads = DatabaseThreads(f"{name}-past", 1)
        self.in_past = self._past_threads.run
        self.link = FeedLink(redis_url, self._put, self._lost, self._silent)
        self.members = Members(self.in_thread)
        self._bodies: asyncio.Queue[tuple[Body, list[Ready]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def deal_one(self, body: Body) -> None:
        """Passes on one message of the feed that is not Missed."""
        raise NotImplementedError

    def lose(self) -> None:
        """Called when something that happened may be missing, before its members hear of it."""
        raise NotImplementedError

    def start(self, *more: Coroutine[Any, Any, None]) -> None:
        """Begins to deal out; `more` runs beside it until `stop`."""
        self.link.start()
        jobs = (self._deal(), self.members.watch(), *more)
        self._tasks = [asyncio.create_task(each) for each in jobs]

    async def stop(self) -> None:
        self.members.end_all("service_stops")
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.link.stop()
        with suppress(*AWAY):
            await self.in_thread(self.members.leave_all)
        self._threads.close()
        self._past_threads.close()

    def _put(self, body: Body, waiting: list[Ready]) -> None:
        if self._bodies.qsize() < _MOST_WAITING or waiting:
            self._bodies.put_nowait((body, waiting))
            return
        log.error("this process is behind the live feed: messages are left out")
        kept = []
        while not self._bodies.empty():
            item = self._bodies.get_nowait()
            if item[1]:
                kept.append(item)
        for item in kept:
            self._bodies.put_nowait(item)
        self.link.restate()

    def _silent(self) -> None:
        self.members.end_silent()

    def _lost(self, missed: Missed = EVERYTHING) -> None:
        self.lose()
        self.members.end_interrupted(missed)

    async def _deal(self) -> None:
        while True:
            body, waiting = await self._bodies.get()
            try:
                for ready in waiting:
                    assert isinstance(body, Answer)
                    ready(body)
                if isinstance(body, Missed):
                    self._lost(body)
                else:
                    await self.deal_one(body)
            except Exception:
                log.exception("a message of the live feed could not be dealt out")
                self._lost()
