"""Celery beat's scheduler: reports progress with each tick, and an outage in one line."""

import logging
from typing import Any

from celery.beat import PersistentScheduler, SchedulingError

from embedded.notify import allowed, progress

log = logging.getLogger(__name__)

# Sending one task: it is not tried again, since its next run is due in a moment.
_SENDING_SECONDS = 15.0


class Clock(PersistentScheduler):
    """Starts the tasks of `beat_schedule`."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        progress()
        return float(super().tick(*args, **kwargs))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        try:
            with allowed(_SENDING_SECONDS):
                self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            reason = str(error.__cause__ or error.__context__ or error).strip()
            log.warning("no task can be started: %s", reason)
        except Exception:
            log.exception("the task %s cannot be started", entry.task)
