"""Queries of simulation jobs: claims, results, and expired jobs."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import all_rows
from rewind.jobs.models import SimulationJob, SimulationResult

State = SimulationJob.State
OPEN = (State.QUEUED, State.RUNNING)


def lock_key(key_id: int) -> None:
    """No other transaction submits jobs of the key until this one ends."""
    wait_for(AdvisoryLock.JOBS_OF_KEY, key_id % 2**31)


def of_key(key_id: int) -> QuerySet[SimulationJob]:
    return SimulationJob.objects.filter(key_id=key_id)


def by_ids(job_ids: Iterable[UUID]) -> QuerySet[SimulationJob]:
    return SimulationJob.objects.filter(pk__in=list(job_ids))


def of_turn(job: SimulationJob) -> QuerySet[SimulationJob]:
    """The job, unless another turn has begun since."""
    return SimulationJob.objects.filter(pk=job.pk, turn=job.turn)


def create(
    key_id: int,
    tier: str,
    reference: str | None,
    request: dict[str, Any],
    total: int,
    now: datetime,
) -> SimulationJob:
    return SimulationJob.objects.create(
        id=uuid4(),
        key_id=key_id,
        tier=tier,
        client_reference=reference,
        request=request,
        total=total,
        submitted_at=now,
        due_at=now,
    )


def count_open(key_id: int) -> int:
    return of_key(key_id).filter(state__in=OPEN).count()


def claim(job_id: UUID, turn: int, *, now: datetime, until: datetime) -> SimulationJob | None:
    """The job, which is the caller's for this turn; None when another worker has the turn, or
    there is nothing left to do.
    """
    if turn % 2:
        return None
    claimed = SimulationJob.objects.filter(pk=job_id, turn=turn, state__in=OPEN).update(
        turn=turn + 1,
        due_at=until,
        state=State.RUNNING,
        started_at=Coalesce("started_at", now),
    )
    return SimulationJob.objects.get(pk=job_id) if claimed else None


def keep(
    job: SimulationJob,
    answers: Sequence[bytes],
    *,
    failed: int,
    until: datetime,
) -> bool:
    """The next results, all of them, or none where the job is not the caller's any more."""
    size = sum(map(len, answers))
    with transaction.atomic():
        mine = of_turn(job).filter(state=State.RUNNING, done=job.done)
        if not mine.update(
            done=F("done") + len(answers),
            failed=F("failed") + failed,
            stored_bytes=F("stored_bytes") + size,
            tries=0,
            due_at=until,
        ):
            return False
        SimulationResult.objects.bulk_create(
            SimulationResult(job_id=job.pk, number=number, answer=answer)
            for number, answer in enumerate(answers, start=job.done)
        )
    job.done += len(answers)
    job.failed += failed
    job.stored_bytes += size
    job.tries = 0
    return True


def hand_back(job: SimulationJob, *, until: datetime) -> int | None:
    """The next turn, which any worker may take; None where the job is not the caller's any more."""
    mine = of_turn(job).filter(state=State.RUNNING)
    return job.turn + 1 if mine.update(turn=job.turn + 1, due_at=until) else None


def close(
    jobs: QuerySet[SimulationJob],
    state: State,
    *,
    now: datetime,
    keep_hours: int,
    failure: str = "",
) -> int:
    """How many of them were open, and are no more."""
    return jobs.filter(state__in=OPEN).update(
        state=state,
        finished_at=now,
        expires_at=now + timedelta(hours=keep_hours),
        failure=failure,
    )


def results(job_id: UUID, start: int, limit: int) -> list[tuple[int, bytes]]:
    """(number, answer), from the number `start` on."""
    found = SimulationResult.objects.filter(job_id=job_id, number__gte=start)
    rows = found.order_by("number").values_list("number", "answer")[:limit]
    return [(number, bytes(answer)) for number, answer in rows]


_CALL_AGAIN = """
UPDATE rewind_simulationjob SET due_at = %s, turn = turn + turn %% 2, tries = tries + turn %% 2
WHERE id IN (
    SELECT id FROM rewind_simulationjob
    WHERE state IN ('queued', 'running') AND due_at <= %s
    ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED
)
RETURNING id, turn
"""


def take_idle(*, now: datetime, until: datetime, limit: int) -> list[tuple[UUID, int]]:
    """(id, turn) of jobs without a worker; they count as queued from now on. What a former worker
    of theirs still writes is void.
    """
    return all_rows(_CALL_AGAIN, [until, now, limit])


def expired(now: datetime) -> QuerySet[SimulationJob]:
    """Jobs whose results are over, and still there."""
    return SimulationJob.objects.filter(~Q(request={}), expires_at__lte=now)


def delete_results(job: SimulationJob) -> None:
    """Its results and what it asked for; that it was stays."""
    with transaction.atomic():
        SimulationResult.objects.filter(job_id=job.pk).delete()
        SimulationJob.objects.filter(pk=job.pk).update(
            request={}, stored_bytes=0, client_reference=None
        )


def delete_forgotten(before: datetime) -> int:
    """Jobs that were over before then."""
    return SimulationJob.objects.filter(expires_at__lt=before).delete()[0]
