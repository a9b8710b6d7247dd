"""Results of the methods of simulation jobs."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UnsetType
from solders.signature import Signature

from jsonrpc.wire import As, Encoded, Result
from rewind.jobs.models import SimulationJob
from rewind.replay.results.simulation import SimulatedTransaction, SimulationContext

State: TypeAlias = Annotated[str, As(Literal["queued", "running", "done", "cancelled", "failed"])]


class Submitted(Result, frozen=True, kw_only=True):
    """A job that was taken.

    job_id: its id
    state: `queued`, or its state if the same job was submitted before
    total: how many simulations it comes to
    submitted_at: when it was handed in, in Unix seconds
    """

    job_id: str
    state: State
    total: int
    submitted_at: int


class Job(Result, frozen=True, kw_only=True):
    """How far a job is. Times are Unix seconds.

    job_id: its id
    state: `queued`, `running`, `done`, `cancelled` or `failed`
    total: how many simulations it comes to
    done: how many of them have an answer
    failed: how many of these answers are errors
    client_reference: your own name for it; null without one
    submitted_at: when it was handed in
    started_at: when it began; null before that
    finished_at: when it ended; null before that
    expires_at: when its results are deleted; null before it ends
    failure: why it failed; null unless it did
    """

    job_id: str
    state: State
    total: int
    done: int
    failed: int
    client_reference: str | None
    submitted_at: int
    started_at: int | None
    finished_at: int | None
    expires_at: int | None
    failure: str | None


class JobError(Result, frozen=True, kw_only=True):
    """Why one simulation has no value: the error that a single call would get.

    code: the error's code
    message: the error's text
    data: its reason, and what goes with it
    """

    code: int
    message: str
    data: dict[str, Any]


class JobResult(Result, frozen=True, kw_only=True):
    """One simulation of a job: it has a `value` with its `context`, or an `error`.

    number: its place in the job, from 0
    transaction: the place of its transaction in the job, from 0
    signature: the transaction's signature
    position: the position, as simulateHistoricalTransaction takes one
    context: what the value is based on
    value: what the transaction did
    error: why there is no value
    """

    number: int
    transaction: int
    signature: Annotated[str, As(Signature)]
    position: dict[str, Any]
    context: SimulationContext | UnsetType
    value: SimulatedTransaction | UnsetType
    error: JobError | UnsetType


class ResultPage(Result, frozen=True, kw_only=True):
    """Results of a job.

    results: in the order of the job
    next: give it as `cursor` for those that follow; null if there will be no more
    complete: whether the job is over, so that no more results come than there are
    truncated_by_bytes: whether the page is shorter than asked for because it was full
    """

    results: Annotated[list[Encoded], As(list[JobResult])]
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


def job_status(job: SimulationJob) -> Job:
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
