"""Coroutines on a loop like the web server's, which runs in a thread of the test's process."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop
from django.db import connections

from columns import raw_queries
from columns.loop_queries import LoopQueries
from columns.raw_queries import afetch_one
from eventloop import faces
from tests.patience import PATIENCE_SECONDS, wait
from webserver.threads import Threads


class Loop:
    """`begin` is called on the loop, and what it gives at its end; `jobs` is how many jobs threads
    got.
    """

    jobs = 0

    def __init__(self, begin: Callable[[asyncio.AbstractEventLoop], Callable[[], None]]) -> None:
        self.threads = Threads(4, connections.close_all)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main(begin)), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_SECONDS)

    async def _main(self, begin: Callable[[asyncio.AbstractEventLoop], Callable[[], None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        faces.begin(self._loop, self._submit)
        end = begin(self._loop)
        self._ready.set()
        await self._end.wait()
        end()
        faces.end()

    def _submit(self, job: faces.Job) -> None:
        self.jobs += 1
        self.threads.submit(job)

    def run(self, *functions: Callable[[], Coroutine[Any, Any, Any]]) -> list[Any]:
        """What each gives or raises; all are begun in one turn of the loop."""

        async def gathered() -> list[Any]:
            return await asyncio.gather(*(each() for each in functions), return_exceptions=True)

        found = asyncio.run_coroutine_threadsafe(gathered(), self._loop)
        return found.result(PATIENCE_SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_SECONDS)
        self.threads.stop()
        self.threads.join(PATIENCE_SECONDS)


class Queries(Loop):
    """With connections to the database."""

    queries: LoopQueries

    def __init__(self) -> None:
        super().__init__(self._begin)

    def _begin(self, running: asyncio.AbstractEventLoop) -> Callable[[], None]:
        self.queries = LoopQueries(running)
        raw_queries.on_loop = self.queries.execute
        return self._finish

    def _finish(self) -> None:
        raw_queries.on_loop = None
        self.queries.close()

    def connected(self) -> None:
        """Until statements go by the loop's own connections."""

        def is_connected() -> bool:
            self.run(lambda: afetch_one("SELECT 1"))
            return any(each.is_open for each in self.queries._pipelines)

        wait(is_connected, "a connection of the loop's own")
