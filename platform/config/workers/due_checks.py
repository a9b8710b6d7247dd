"""Whether a clock's task has something to do: asked of the database before the task is sent.

A task that finds nothing costs its message, two processes and a connection; the question costs one
statement.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings

from alerts.store import has_waiting
from historical.sealed.services import sealing as ledger_sealing
from historical.sealed.services.sealed_life import LEDGER
from ingest.services import classification, fates, filling, node_stakes, orders, refuted_repair
from rewind.proof.services import stake_turns
from rewind.replay.services import audit
from rewind.sealed.services import sealing
from rewind.sealed.services.sealed_life import ARCHIVE
from tipping.services import batches, sweeping

Question = Callable[[datetime], bool]

# By the names of `beat_schedule`.
QUESTIONS: dict[str, Question] = {
    "send-notifications": has_waiting,
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
