"""A bounded number of threads for work that waits for the network."""

import logging
import threading
from collections.abc import Callable

from django.db import connection

from shared_state.outages import until_next_call

log = logging.getLogger(__name__)


class WorkerThreads:
    """Runs a bounded number of jobs at once, each in a daemon thread of its own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._busy = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        return self._most - self._busy

    def start(self, work: Callable[[], object]) -> None:
        """Starts the work, even if no thread is free."""
        with self._changed:
            self._busy += 1
        threading.Thread(target=self._run, args=[work], daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Waits for all work. Returns False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def _run(self, work: Callable[[], object]) -> None:
        try:
            with until_next_call("a delivery", log):
                work()
        except Exception:
            log.exception("a delivery thread failed; what it claimed is claimed again")
        finally:
            connection.close()
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
