"""Submitting, getting and cancelling jobs."""

import uuid
from collections.abc import Iterable
from datetime import datetime

import msgspec
from django.db import transaction

from chain.units import Slot
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.errors import SlotTooNew, SlotTooOld
from rewind.jobs import store
from rewind.jobs.errors import (
    JobNotFound,
    ReferenceTaken,
    TooManyJobs,
    TooManySimulations,
)
from rewind.jobs.models import SimulationJob
from rewind.jobs.services.requests import JobRequest


def submit(
    request: JobRequest,
    *,
    key_id: int,
    tier: str,
    reference: str | None,
    most_open: int,
    most_simulations: int,
    slots: Iterable[int],
    now: datetime,
) -> tuple[SimulationJob, bool]:
    """The job, and whether it is new: the same one again for the same `reference`. Raises
    TooManySimulations, ReferenceTaken, SlotTooNew and SlotTooOld for one of its `slots`, and
    TooManyJobs.
    """
    if request.total > most_simulations:
        raise TooManySimulations(request.total, most_simulations)
    kept = msgspec.to_builtins(request)
    with transaction.atomic():
        store.lock_key(key_id)
        if reference is not None:
            known = store.of_key(key_id).filter(client_reference=reference).first()
            if known is not None:
                if known.request != kept:
                    raise ReferenceTaken(str(known.pk))
                return known, False
        _require_window(slots)
        found = store.count_open(key_id)
        if found >= most_open:
            raise TooManyJobs(found, most_open)
        return store.create(key_id, tier, reference, kept, request.total, now), True


def job_of(key_id: int, job_id: str) -> SimulationJob:
    """Raises JobNotFound for another key's job too: its existence is not revealed."""
    try:
        wanted = uuid.UUID(job_id)
    except ValueError:
        raise JobNotFound(job_id) from None
    job = store.of_key(key_id).filter(pk=wanted).first()
    if job is None:
        raise JobNotFound(job_id)
    return job


def cancel(key_id: int, job_id: str, *, now: datetime, keep_hours: int) -> SimulationJob:
    """The job, over: its worker drops what it has not kept yet. One that is over stays as it is.
    Raises JobNotFound.
    """
    job = job_of(key_id, job_id)
    jobs = store.of_key(key_id).filter(pk=job.pk)
    store.close(jobs, SimulationJob.State.CANCELLED, now=now, keep_hours=keep_hours)
    return jobs.get()


def cancel_all(job_ids: Iterable[uuid.UUID], *, now: datetime, keep_hours: int) -> int:
    """How many of these jobs, whosever they are, were open and are cancelled."""
    return store.close(
        store.by_ids(job_ids), SimulationJob.State.CANCELLED, now=now, keep_hours=keep_hours
    )


def _require_window(slots: Iterable[int]) -> None:
    wanted = list(slots)
    if not wanted:
        return
    lowest, highest = min(wanted), max(wanted)
    found = look_up_slot(0)
    if found.latest is None or found.earliest is None or highest > found.latest:
        raise SlotTooNew(highest, None if found.latest is None else Slot(found.latest))
    if lowest < found.earliest:
        raise SlotTooOld(lowest, Slot(found.earliest))
