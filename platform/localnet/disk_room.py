"""Room on the disk of localnet's folder: without it the chain stands still, and goes on later."""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from embedded.notify import progress

log = logging.getLogger(__name__)

# More than some blocks need, with the copy of them in SQLite's log.
_ENOUGH_BYTES = 8 * 1_048_576
_FIRST_SECONDS, _LONGEST_SECONDS = 0.5, 5.0
_SAY_SECONDS = 60.0


class DiskRoom:
    """Waits while the disk is full. One for each folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pause = _FIRST_SECONDS
        self._said_at = 0.0

    def wait_to_begin(self) -> None:
        """The same, before there is an event loop."""
        while not self._is_there():
            progress()
            time.sleep(self._pause)

    async def wait(self, is_stopping: Callable[[], bool]) -> None:
        """Returns at once while there is room, and when localnet stops."""
        while not self._is_there() and not is_stopping():
            await asyncio.sleep(self._pause)

    def _is_there(self) -> bool:
        existing = next(each for each in (self._folder, *self._folder.parents) if each.exists())
        is_waiting = self._said_at > 0
        if shutil.disk_usage(existing).free >= _ENOUGH_BYTES:
            if is_waiting:
                log.info("the disk of %s has room again: the chain goes on", self._folder)
            self._pause, self._said_at = _FIRST_SECONDS, 0.0
            return True
        if not is_waiting or time.monotonic() - self._said_at > _SAY_SECONDS:
            log.error("the disk of %s is full: the chain stands still", self._folder)
            self._said_at = time.monotonic()
        self._pause = min(2 * self._pause, _LONGEST_SECONDS) if is_waiting else _FIRST_SECONDS
        return False
