"""A few threads at a time for what waits on others."""

import logging
import threading
from collections.abc import Callable

from django.db import connection

log = logging.getLogger(__name__)


class Places:
    """So many pieces of work at once, each in a thread that ends with it and with its process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._busy = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        return self._most - self._busy

    def take(self, work: Callable[[], object]) -> None:
        """Begins the work; takes a place even where none is free."""
        with self._changed:
            self._busy += 1
        threading.Thread(target=self._run, args=[work], daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Whether all work is done within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            log.exception("work in a thread failed; what it had claimed comes back by itself")
        finally:
            connection.close()
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
