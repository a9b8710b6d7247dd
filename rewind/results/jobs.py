"""What the methods of simulation jobs answer."""

from datetime import datetime

from jsonrpc.wire import Encoded, Result
from rewind.models import SimulationJob


class Submitted(Result, frozen=True, kw_only=True):
    job_id: str
    state: str
    total: int
    submitted_at: int


class Job(Result, frozen=True, kw_only=True):
    """Times are Unix seconds; `expires_at` is when its results are deleted."""

    job_id: str
    state: str
    total: int
    done: int
    failed: int
    client_reference: str | None
    submitted_at: int
    started_at: int | None
    finished_at: int | None
    expires_at: int | None
    failure: str | None


class ResultPage(Result, frozen=True, kw_only=True):
    """`complete` says that the job is over, and no more results come than there are."""

    results: list[Encoded]
    next: str | None
    complete: bool
    truncated_by_bytes: bool


def submitted(job: SimulationJob) -> Submitted:
    return Submitted(
        job_id=str(job.pk),
        state=str(job.state),
        total=job.total,
        submitted_at=int(job.submitted_at.timestamp()),
    )


def told(job: SimulationJob) -> Job:
    return Job(
        job_id=str(job.pk),
        state=str(job.state),
        total=job.total,
        done=job.done,
        failed=job.failed,
        client_reference=job.client_reference,
        submitted_at=int(job.submitted_at.timestamp()),
        started_at=_seconds(job.started_at),
        finished_at=_seconds(job.finished_at),
        expires_at=_seconds(job.expires_at),
        failure=job.failure or None,
    )


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
