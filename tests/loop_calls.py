"""Calls on an event loop that runs in a thread of the test's process."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import uvloop
from django.db import connections

from eventloop.calls import LoopCalls
from tests.patience import PATIENCE_SECONDS
from webserver.threads import Threads


class Loop:
    """`begin` is called on the loop, and what it gives at its end."""

    def __init__(self, begin: Callable[[asyncio.AbstractEventLoop], Callable[[], None]]) -> None:
        self.threads = Threads(4, connections.close_all)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main(begin)), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_SECONDS)

    async def _main(self, begin: Callable[[asyncio.AbstractEventLoop], Callable[[], None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._calls = LoopCalls(self._loop)
        end = begin(self._loop)
        self._ready.set()
        await self._end.wait()
        end()

    def run(self, *functions: Callable[[], Any]) -> list[Any]:
        """What each gives or raises; all are begun in one turn of the loop."""
        results: list[Any] = [None] * len(functions)
        left = threading.Semaphore(0)

        def begin() -> None:
            for number, function in enumerate(functions):

                def body(number: int = number, function: Callable[[], Any] = function) -> None:
                    try:
                        results[number] = function()
                    except BaseException as error:
                        results[number] = error
                    left.release()

                self._calls.begin(body, self.threads.submit)

        self._loop.call_soon_threadsafe(begin)
        for _ in functions:
            assert left.acquire(timeout=PATIENCE_SECONDS)
        return results

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_SECONDS)
        self.threads.stop()
        self.threads.join(PATIENCE_SECONDS)
