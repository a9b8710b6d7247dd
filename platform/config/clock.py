"""Celery beat's scheduler: it sends no task that would find nothing to do, reports progress with
each tick, and an outage in one line.
"""

import logging
import math
import time
from typing import Any

from celery.beat import PersistentScheduler, SchedulingError

from config.due_checks import Questioner
from embedded.notify import allowed, progress

log = logging.getLogger(__name__)

# Sending one task: it is not tried again, since its next run is due in a moment.
_SENDING_SECONDS = 15.0
# So often each task is sent whatever the questions say: what they do not see waits no longer.
_ANYWAY_SECONDS = 60.0
_LONGEST_SLEEP_SECONDS = 1.0


class Clock(PersistentScheduler):
    """Starts the tasks of `beat_schedule`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._questioner = Questioner()
        self._sent: dict[str, float] = {}
        self._due_at: dict[str, int] = {}
        super().__init__(*args, **kwargs)

    def tick(self, *_args: Any, **_kwargs: Any) -> float:
        """Sends what is due; seconds until the next is. Celery's own tick compares all entries with
        those of before, and computes dates, for each task.
        """
        progress()
        now = time.monotonic()
        for name, entry in list(self.schedule.items()):
            due_at = self._due_at.get(name)
            if due_at is None:
                is_due, seconds = entry.is_due()
                # On whole seconds, so that all that is due then is sent at one waking.
                due_at = self._due_at[name] = math.ceil(now + (0.0 if is_due else seconds))
            if due_at <= now:
                reserved: Any = self.reserve(entry)
                self.apply_entry(reserved, producer=self.producer)
                period = reserved.schedule.seconds
                self._due_at[name] = max(due_at + round(period), math.ceil(now))
        next_at = min(self._due_at.values(), default=now + _LONGEST_SLEEP_SECONDS)
        return min(max(next_at - time.monotonic(), 0.01), _LONGEST_SLEEP_SECONDS)

    def close(self) -> None:
        self._questioner.close()
        super().close()

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        now = time.monotonic()
        silent_for = now - self._sent.get(entry.name, float("-inf"))
        if silent_for < _ANYWAY_SECONDS and self._questioner.has_nothing(entry.name):
            return
        self._sent[entry.name] = now
        try:
            with allowed(_SENDING_SECONDS):
                self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            reason = str(error.__cause__ or error.__context__ or error).strip()
            log.warning("no task can be started: %s", reason)
        except Exception:
            log.exception("the task %s cannot be started", entry.task)
