"""The checks of processes and disk of /readyz."""

import errno
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from historical.blocks.services.bounds import newest_slot_or_none
from operations import store
from operations.readings.present import MOMENT_SECONDS
from operations.readings.processes import REMEDY, read_processes
from operations.readings.servers import read_disk
from shared_state.outages import FULL_BYTES
from staff.formatting import size_of


def processes_state(*, now: datetime, is_database_there: bool) -> dict[str, Any]:
    """`{ok, missing, hung, watchedSecondsAgo}`, with `why` and `remedy` if it is not ok; null
    if unknown. Calls are answered without a worker as well, for a while.
    """
    newest_slot, sampled_at = None, None
    if is_database_there:
        newest_slot = newest_slot_or_none()
        newest = store.newest_sample(MOMENT_SECONDS, now=now)
        sampled_at = None if newest is None else newest.at
    found = read_processes(now, newest_slot=newest_slot)
    answer: dict[str, Any] = {
        "missing": None,
        "hung": None,
        "watchedSecondsAgo": None
        if sampled_at is None
        else int((now - sampled_at).total_seconds()),
    }
    if found is None:
        return {**answer, "ok": False, "why": "processes write heartbeats to Redis, which is away"}
    for trouble in ("missing", "hung"):
        answer[trouble] = [each.kind for each in found if each.trouble == trouble]
    reasons = [
        f"{', '.join(answer[trouble])} {trouble}"
        for trouble in ("missing", "hung")
        if answer[trouble]
    ]
    if not reasons:
        return answer
    return {**answer, "ok": False, "why": "; ".join(reasons), "remedy": REMEDY}


def disk_state() -> dict[str, Any]:
    """`{ok, freeBytes}` of the run directory's disk, with `why` and `remedy` where it is full."""
    free = read_disk(Path(settings.RUN_DIR)).free
    if _is_read_only(Path(settings.RUN_DIR)):
        return {
            "ok": False,
            "freeBytes": free,
            "why": "the file system of the run directory is read-only",
            "remedy": "Look for errors of the disk (dmesg). Stop the service, check and mount the"
            " file system again, and start the service: it goes on where it was.",
        }
    if free >= FULL_BYTES:
        return {"freeBytes": free}
    return {
        "ok": False,
        "freeBytes": free,
        "why": f"the disk is full: {size_of(free)} are free for the run directory",
        "remedy": "Free some space. Redis and PostgreSQL then continue automatically.",
    }


def _is_read_only(folder: Path) -> bool:
    """Tried: after an error of the disk the file system's flags do not say so."""
    try:
        os.utime(folder)
    except OSError as error:
        return error.errno == errno.EROFS
    return False
