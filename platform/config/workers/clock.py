"""Celery beat's scheduler: it sends no task that would find nothing to do, reports progress with
each tick, and an outage in one line.
"""

import logging
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

from celery.beat import PersistentScheduler
from django.db import connection
from django.utils import timezone

from config.workers.due_checks import QUESTIONS, Question
from embedded.notify import allowed, progress

log = logging.getLogger(__name__)

# Sending one task: it is not tried again, since its next run is due in a moment.
_SENDING_SECONDS = 15.0
# So often each task is sent whatever the questions say: what they do not see waits no longer.
_ANYWAY_SECONDS = 60.0


class Clock(PersistentScheduler):
    """Starts the tasks of `beat_schedule`."""

    questions: Mapping[str, Question] = QUESTIONS
    # A database that takes longer over an answer does not hold up the clock: the task is sent.
    answer_seconds = 0.5

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._thread = ThreadPoolExecutor(1, "questions")  # of its own, since it may hang
        self._asked: Future[bool] | None = None
        self._sent: dict[str, float] = {}
        self._ticked_at = float("inf")
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        progress()
        now = time.time()
        if now < self._ticked_at:
            self._forget_the_future()
        self._ticked_at = now
        return super().tick(*args, **kwargs)

    def _forget_the_future(self) -> None:
        """At the start, and when the machine's clock was set back: Celery would wait until it is
        again what it was.
        """
        entries: Any = self.schedule
        for entry in entries.values():
            entry.last_run_at = min(entry.last_run_at, entry.default_now())
        self.populate_heap()

    def adjust(self, n: Any, drift: float = 0.0) -> Any:
        """Celery wakes 10 ms early, and looks at everything again and again until it is time."""
        return n

    def schedules_equal(self, old_schedules: Any, new_schedules: Any) -> bool:
        """Celery compares all entries at each tick: ours change with a restart alone."""
        return old_schedules is not None

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        now = time.monotonic()
        silent_for = now - self._sent.get(entry.name, float("-inf"))
        if silent_for < _ANYWAY_SECONDS and self.has_nothing(entry.name):
            return
        self._sent[entry.name] = now
        try:
            with allowed(_SENDING_SECONDS):
                self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            reason = str(error.__cause__ or error.__context__ or error).strip()
            log.warning("no task can be started: %s", reason)

    def has_nothing(self, name: str) -> bool:
        """Whether the entry's task would find nothing to do; False also while that is not known."""
        question = self.questions.get(name)
        if question is None or (self._asked is not None and not self._asked.done()):
            return False
        self._asked = self._thread.submit(_answer, question)
        try:
            return not self._asked.result(self.answer_seconds)
        except Exception as error:
            # The task that is sent then says in its log what is wrong.
            log.debug("it is not known whether a task is due: %s", error)
            return False

    def close(self) -> None:
        """The thread ends, as soon as it can, and with it a connection. Celery closes twice where a
        signal ends it.
        """
        with suppress(RuntimeError):  # it has ended
            # That of the thread: each has its own.
            wait([self._thread.submit(lambda: connection.close())], self.answer_seconds)
        self._thread.shutdown(wait=False)
        super().close()


def _answer(question: Question) -> bool:
    try:
        return question(timezone.now())
    except Exception:
        connection.close()
        raise
