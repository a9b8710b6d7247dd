"""DatabaseThreads: a few threads that may use the database, for an event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from django.db import close_old_connections, connection

from shared_state.outages import AWAY

T = TypeVar("T")

_COUNT = 2


class DatabaseThreads:
    """`run` functions in them; `close` in the end."""

    def __init__(self, name: str, count: int = _COUNT) -> None:
        self._count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """The function's result, from a thread that may use the database."""
        call = partial(_with_database, function, *args, **options)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def submit(self, function: Callable[..., object], *args: Any) -> None:
        """Runs the function, and no one waits for it."""
        self._threads.submit(_with_database, function, *args)

    def close(self) -> None:
        """Ends the threads and their connections, without waiting."""
        together = threading.Barrier(self._count)
        for _ in range(self._count):
            self._threads.submit(_close_of_thread, together)
        self._threads.shutdown(wait=False)


def _close_of_thread(together: threading.Barrier) -> None:
    """Closes each thread's connection: no thread runs this twice."""
    with suppress(threading.BrokenBarrierError):
        together.wait(1.0)
    connection.close()


def _with_database(function: Callable[..., T], *args: Any, **options: Any) -> T:
    close_old_connections()
    try:
        return function(*args, **options)
    except AWAY:
        with suppress(Exception):
            connection.close()
        raise
