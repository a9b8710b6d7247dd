"""Celery tasks of the archive."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from rewind.calls import call_job, is_crowded
from rewind.errors import ArchiveStoreUnavailable
from rewind.jobs.methods import simulate
from rewind.jobs.services import running, upkeep
from rewind.proof.services import proving, stake_turns
from rewind.replay.services import audit
from rewind.replay.services.replays import keeping
from rewind.sealed.services import moving, sealing, segments
from rewind.sealed.services.sealed_life import ARCHIVE
from sealed.life import seal_for
from shared_state import task_faults
from shared_state.outages import until_next_call
from upstream.object_store import StoreFault

log = logging.getLogger(__name__)

# Below the period of its clock: whatever else the worker has to do gets its turn.
_AUDIT_SECONDS = 4.0
# Seconds from one run of sealing to the next.
SEALING_PERIOD = 5.0
# Seconds from one run of the proof to the next.
_PROOF_PERIOD = 2.0
# Seconds from one run of the count of stakes to the next.
_STAKES_PERIOD = 5.0
# Vote accounts that have to agree where stakes are not known; localnet has four validators.
_QUORUM, _LOCALNET_QUORUM = 20, 3
# Of reading sealed segments through: a tenth of the period of its clock.
_SCRUB_SECONDS = 1.0
# Of moving, below the period of its clock; an object that is begun is finished.
_MOVING_SECONDS = 8.0
# The turn of a job: less for each, the more of them its key has open.
_TURN_SECONDS = 3.0


def _terms() -> running.Terms:
    # A simulation may be two runs of the engine, and reads before them.
    longest = 2 * settings.SIMULATION_TIMEOUT_SECONDS + 10
    return running.Terms(
        turn_seconds=_TURN_SECONDS,
        gone_after=timedelta(seconds=longest),
        most_bytes=settings.ARCHIVE_ANSWER_BYTES,
        keep_hours=settings.SIMULATION_JOB_HOURS,
    )


@shared_task
def audit_replays() -> None:
    with until_next_call("audit_replays", log):
        audit.audit_next(
            permille=settings.REPLAY_AUDIT_PERMILLE, now=timezone.now, seconds=_AUDIT_SECONDS
        )
        audit.forget_programs(now=timezone.now())


@shared_task
def run_simulation_job(job_id: str, turn: int) -> None:
    """Some seconds of a job; then it is queued again, behind other keys' jobs."""
    with until_next_call("run_simulation_job", log):
        next_turn = running.run(
            UUID(job_id), turn, simulate=simulate, terms=_terms(), now=timezone.now
        )
        if next_turn is not None:
            call_job(UUID(job_id), next_turn)


@shared_task
def resume_simulation_jobs() -> None:
    """Queues jobs without a worker again, and deletes expired results."""
    with until_next_call("resume_simulation_jobs", log):
        gone_after = _terms().gone_after
        idle = () if is_crowded() else upkeep.idle_jobs(now=timezone.now(), gone_after=gone_after)
        for job_id, turn in idle:
            call_job(job_id, turn)
        upkeep.delete_expired(now=timezone.now())


@shared_task
def forget_replays() -> None:
    """Deletes replays and uploaded builds whose time is over."""
    kept = timedelta(days=settings.REPLAY_DAYS) if settings.REPLAY_DAYS else None
    with until_next_call("forget_replays", log):
        keeping.forget(kept=kept, now=timezone.now())


@shared_task
def seal_archive() -> None:
    """Seals for its share of the schedule's period; the rest on later runs."""
    seconds = SEALING_PERIOD * settings.ARCHIVE_SEALING_PERCENT / 100
    with until_next_call("seal_archive", log), task_faults.noted("seal_archive"):
        for _ in seal_for("archive", _seal_step, seconds=seconds):
            pass


def _seal_step() -> bool:
    policy = sealing.Policy(margin=settings.ARCHIVE_SEAL_AFTER_SLOTS)
    return sealing.seal_step(policy, now=timezone.now())


@shared_task
def prove_archive() -> None:
    """Holds recorded slots against the cluster's votes, for its share of the schedule's period."""
    seconds = _PROOF_PERIOD * settings.ARCHIVE_PROOF_PERCENT / 100
    end = time.monotonic() + seconds
    policy = proving.Policy(
        quorum=settings.ARCHIVE_PROOF_VOTES or (_LOCALNET_QUORUM if settings.LOCALNET else _QUORUM),
        wait_slots=settings.ARCHIVE_PROOF_WAIT_SLOTS,
        cache_bytes=settings.ARCHIVE_PROOF_CACHE_MB << 20,
        trusts_node=settings.ARCHIVE_PROOF_TRUST_NODE,
        roots=settings.ARCHIVE_PROOF_TRUST,
    )
    with (
        until_next_call("prove_archive", log),
        _unless_the_store_is_away("read for the proof"),
        task_faults.noted("prove_archive"),
    ):
        if not settings.ARCHIVE_PROOF_PERCENT:
            proving.drop_all()
            return
        while time.monotonic() < end and proving.prove_step(policy):
            pass
        proving.trim(policy)


@shared_task
def count_stakes() -> None:
    """Counts stake accounts at an epoch's turn, for the proof's share of the schedule's period."""
    seconds = _STAKES_PERIOD * settings.ARCHIVE_PROOF_PERCENT / 100
    end = time.monotonic() + seconds
    with (
        until_next_call("count_stakes", log),
        _unless_the_store_is_away("read for the stakes"),
        task_faults.noted("count_stakes"),
    ):
        while time.monotonic() < end and stake_turns.count_step():
            pass


@contextmanager
def _unless_the_store_is_away(done: str) -> Iterator[None]:
    try:
        yield
    except (StoreFault, ArchiveStoreUnavailable) as fault:
        log.warning("cold storage is not %s: %s", done, fault)


@shared_task
def scrub_archive() -> None:
    """Looks into damage that reads met, and reads sealed segments through for a second; the rest on
    later runs. What can be repaired from what is here is.
    """
    age = timedelta(days=settings.ARCHIVE_SCRUB_DAYS)
    with (
        until_next_call("scrub_archive", log),
        task_faults.noted("scrub_archive"),
        _unless_the_store_is_away("scrubbed"),
    ):
        ARCHIVE.scrub(older_than=age, seconds=_SCRUB_SECONDS, now=timezone.now)


@shared_task
def move_archive() -> None:
    """Moves old sealed segments to cold storage for some seconds; the rest on later runs."""
    if not settings.ARCHIVE_STORE:
        return
    end = time.monotonic() + _MOVING_SECONDS
    policy = moving.Policy(after=settings.ARCHIVE_STORE_AFTER_SLOTS)
    with (
        until_next_call("move_archive", log),
        moving.alone() as is_alone,
        _unless_the_store_is_away("moved to"),
        task_faults.noted("move_archive"),
    ):
        while is_alone and time.monotonic() < end:
            if not moving.move_step(policy, now=timezone.now()):
                return


@shared_task
def index_segments() -> None:
    """Indexes part of a sealed segment; the rest on later runs."""
    with until_next_call("index_segments", log):
        segment = segments.index_next()
        if segment is not None:
            log.info("segment %d is indexed", segment)
