"""Whether a clock's task has something to do: asked of the database before the task is sent.

A task that finds nothing costs its message, two processes and a connection; the question costs one
statement.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from alerts.services import waiting
from historical.services import sealing as ledger_sealing
from historical.services.sealed_life import LEDGER
from ingest.services import classification, fates, filling, node_stakes, orders, refuted_repair
from rewind.services import audit, sealing, stake_turns
from rewind.services.sealed_life import ARCHIVE
from tipping.services import batches, sweeping

log = logging.getLogger(__name__)

Question = Callable[[datetime], bool]

# By the names of `beat_schedule`.
QUESTIONS: dict[str, Question] = {
    "send-notifications": lambda now: waiting.is_due(now=now),
    "classify-slots": lambda now: classification.is_due(now=now),
    "settle-fates": lambda now: fates.is_due(now=now),
    "fill-gaps": lambda now: filling.is_due(now=now),
    "work-off-orders": lambda now: (
        orders.is_due(now=now) or (settings.ARCHIVE_PROOF_REPAIR and refuted_repair.is_due())
    ),
    "learn-stakes": lambda _now: node_stakes.is_due(),
    "audit-replays": lambda _now: audit.is_due(),
    "rotate-tip-batches": lambda now: batches.is_rotation_due(now=now),
    "prepare-tip-batches": lambda now: batches.is_preparation_due(now=now),
    "sweep-tips": lambda now: sweeping.is_due(
        after=timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS), now=now
    ),
    "seal-archive": lambda now: sealing.is_due(
        sealing.Policy(margin=settings.ARCHIVE_SEAL_AFTER_SLOTS), now=now
    ),
    "count-stakes": lambda _now: stake_turns.is_due(),
    "scrub-archive": lambda now: ARCHIVE.is_due(
        older_than=timedelta(days=settings.ARCHIVE_SCRUB_DAYS), now=now
    ),
    "move-archive": lambda _now: bool(settings.ARCHIVE_STORE),
    "seal-ledger": lambda now: (
        bool(settings.LEDGER_SEAL_SLOTS)
        and ledger_sealing.is_due(settings.LEDGER_SEAL_SLOTS, now=now)
    ),
    "scrub-ledger": lambda now: LEDGER.is_due(
        older_than=timedelta(days=settings.LEDGER_SCRUB_DAYS), now=now
    ),
}
# A database that takes longer over an answer does not hold up the clock: the task is sent.
_ANSWER_SECONDS = 0.5


@dataclass(slots=True)
class _Asked:
    """A question and, once `is_answered` is set, whether there is something to do."""

    question: Question
    is_due: bool = True
    is_answered: threading.Event = field(default_factory=threading.Event)


class Questioner:
    """Asks in a thread of its own, which may hang."""

    def __init__(
        self,
        questions: Mapping[str, Question] | None = None,
        *,
        seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self._seconds = seconds
        self._questions = QUESTIONS if questions is None else questions
        self._queue: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._last: _Asked | None = None
        self._thread: threading.Thread | None = None

    def has_nothing(self, name: str) -> bool:
        """True where the entry's task would find nothing to do; False also where that is not known
        within `seconds`.
        """
        question = self._questions.get(name)
        if question is None or (self._last is not None and not self._last.is_answered.is_set()):
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._answer, name="questions", daemon=True)
            self._thread.start()
        asked = self._last = _Asked(question)
        self._queue.put(asked)
        return asked.is_answered.wait(self._seconds) and not asked.is_due

    def close(self) -> None:
        """Its thread ends, as soon as it can, and with it a connection."""
        self._queue.put(None)

    def _answer(self) -> None:
        while (asked := self._queue.get()) is not None:
            try:
                asked.is_due = asked.question(timezone.now())
            except Exception as error:
                # The task that is sent then says in its log what is wrong.
                log.debug("it is not known whether a task is due: %s", error)
                connection.close()
            finally:
                asked.is_answered.set()
        connection.close()
