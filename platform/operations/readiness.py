"""Which processes are missing, for /readyz."""

from datetime import datetime
from typing import Any

from historical.services.bounds import newest_slot_or_none
from operations.models import Sample
from operations.readings.present import MOMENT_SECONDS
from operations.readings.processes import read_processes


def processes_state(*, now: datetime) -> dict[str, Any]:
    """`{missing, watchedSecondsAgo}`: nulls where nobody knows. It refuses nothing: calls are
    answered without a worker as well, for a while.
    """
    found = read_processes(now, newest_slot=newest_slot_or_none())
    newest = Sample.objects.filter(resolution=MOMENT_SECONDS).order_by("-at").first()
    return {
        "missing": None if found is None else [each.kind for each in found if not each.alive],
        "watchedSecondsAgo": None if newest is None else int((now - newest.at).total_seconds()),
    }
