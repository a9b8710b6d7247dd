"""A worker's turn of a job: simulations one after the other, saved as they finish."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from jsonrpc.errors import InternalError, RpcError
from jsonrpc.wire import encode
from rewind.jobs import store
from rewind.jobs.errors import AnswerTooLarge, SimulationLost
from rewind.jobs.models import SimulationJob
from rewind.jobs.services.requests import Item, JobRequest, read_request

log = logging.getLogger(__name__)

# A cancelled job stops, and a caller sees progress, as soon as this.
_KEPT_SECONDS = 0.5
_KEPT_RESULTS = 100
_KEPT_BYTES = 8_388_608
# So often a simulation is begun that ends its worker each time.
_MOST_TRIES = 3
# What the results of one job may take, unpacked, before it is ended: 20 kB each of 100,000.
MOST_STORED_BYTES = 2_147_483_648

# One simulation's answer, with `context` and `value`; raises RpcError.
Simulate = Callable[[JobRequest, Item], Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a turn lasts, when a worker that keeps nothing counts as gone (no simulation may
    take so long), and what is kept for how long.
    """

    turn_seconds: float
    gone_after: timedelta
    most_bytes: int
    keep_hours: int


@dataclass(slots=True)
class _Answers:
    """Answers that are not kept yet."""

    texts: list[bytes] = field(default_factory=list)
    failed: int = 0
    size: int = 0

    def add(self, text: bytes, *, is_failure: bool) -> None:
        self.texts.append(text)
        self.failed += is_failure
        self.size += len(text)


def run(
    job_id: UUID,
    turn: int,
    *,
    simulate: Simulate,
    terms: Terms,
    now: Callable[[], datetime],
) -> int | None:
    """Takes that turn of the job, for its share of what its key has. The turn to take next; None
    when there is none, or another worker has this one.
    """
    job = store.claim(job_id, turn, now=now(), until=now() + terms.gone_after)
    if job is None:
        return None
    ends_at = time.monotonic() + terms.turn_seconds / max(1, store.count_open(job.key_id))
    try:
        request = read_request(job.request)
    except msgspec.ValidationError:
        log.exception("job %s cannot be read", job.pk)
        _close(job, SimulationJob.State.FAILED, now(), terms, "the job cannot be read")
        return None
    # Where a worker ended before, each is kept at once: then it is known which one ends them.
    at_once = 1 if job.tries else _KEPT_RESULTS
    while job.done < job.total:
        answers = _some(job, request, simulate, terms.most_bytes, ends_at, at_once)
        if not store.keep(
            job, answers.texts, failed=answers.failed, until=now() + terms.gone_after
        ):
            return None
        if job.stored_bytes > MOST_STORED_BYTES and job.done < job.total:
            failure = f"its results take more than {MOST_STORED_BYTES} bytes"
            _close(job, SimulationJob.State.FAILED, now(), terms, failure)
            return None
        if time.monotonic() >= ends_at and job.done < job.total:
            return store.hand_back(job, until=now() + terms.gone_after)
    _close(job, SimulationJob.State.DONE, now(), terms)
    return None


def _close(
    job: SimulationJob, state: SimulationJob.State, now: datetime, terms: Terms, why: str = ""
) -> None:
    store.close(store.of_turn(job), state, now=now, keep_hours=terms.keep_hours, failure=why)


def _some(
    job: SimulationJob,
    request: JobRequest,
    simulate: Simulate,
    most_bytes: int,
    ends_at: float,
    at_once: int,
) -> _Answers:
    answers = _Answers()
    if job.tries >= _MOST_TRIES:
        log.error("job %s: simulation %d ends its workers", job.pk, job.done)
        answers.add(encode({"error": SimulationLost().as_object()}), is_failure=True)
        return answers
    keep_at = min(time.monotonic() + _KEPT_SECONDS, ends_at)
    for number in range(job.done, job.total):
        try:
            text = encode(simulate(request, request.item(number)))
            if len(text) > most_bytes:
                raise AnswerTooLarge(len(text), most_bytes)
            answers.add(text, is_failure=False)
        except RpcError as error:
            answers.add(encode({"error": error.as_object()}), is_failure=True)
        except Exception:
            if not connection.is_usable():
                raise  # no fault of the simulation
            log.exception("job %s: simulation %d failed", job.pk, number)
            answers.add(encode({"error": InternalError().as_object()}), is_failure=True)
        if (
            len(answers.texts) >= at_once
            or time.monotonic() >= keep_at
            or answers.size >= _KEPT_BYTES
        ):
            break
    return answers
