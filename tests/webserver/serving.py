"""The web server in a thread of the test's own process, on a port of its own."""

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any

import uvloop

from tests.patience import PATIENCE_SECONDS
from webserver.master import listen
from webserver.worker import Worker


@contextlib.contextmanager
def serving(worker: Worker, port: int = 0) -> Iterator[int]:
    """The port on which the worker serves, until the end; no callback of its loop may have failed
    by then.
    """
    sockets = listen("127.0.0.1", port)
    port = int(sockets[0].getsockname()[1])
    loop = uvloop.new_event_loop()
    failures: list[Any] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(context))
    older = _collections_of_older()

    def run() -> None:
        loop.run_until_complete(worker.serve(sockets))
        # Here, not in another thread later: uvloop's objects crash a collector that finds them
        # after their loop is closed. Those of this loop are young unless an older generation was
        # collected meanwhile, and looking at all of the process's objects takes 0.1 s.
        gc.collect(1 if older == _collections_of_older() else 2)
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        with contextlib.suppress(RuntimeError):  # the test stopped it, and its loop is closed
            loop.call_soon_threadsafe(worker.stop)
        thread.join(PATIENCE_SECONDS)
        for each in sockets:
            each.close()
        assert not thread.is_alive()
    assert not failures


def _collections_of_older() -> list[int]:
    """How often what survived a collection was looked at again, and moved on."""
    return [each["collections"] for each in gc.get_stats()[1:]]
