"""Submits planned sweeps through the same queue as customers' transactions."""

import logging
from datetime import datetime

from priority.acceptance.errors import NOT_ACCEPTED
from priority.acceptance.services.accepting import submit_own
from priority.models import Submission
from priority.treasury.store import submitted
from tipping.services import sweeping

log = logging.getLogger(__name__)

_AT_ONCE = 1_000


def carry_on(*, now: datetime) -> None:
    """Submits every planned sweep, or settles it if its fate is known. Those that cannot be queued
    wait for the next call.
    """
    planned = list(sweeping.planned()[:_AT_ONCE])
    found = submitted([sweep.signature for sweep in planned])
    for submission in found.values():
        # Settling it settles the sweep in the same transaction, unless the process was killed.
        if submission.settled_at is not None:
            sweeping.settle(
                submission.signature,
                state=submission.state,
                slot=submission.slot,
                reason=submission.reason,
                now=now,
            )
    try:
        for sweep in planned:
            if sweep.signature not in found:
                submit_own(bytes(sweep.wire), kind=Submission.Kind.SWEEP, now=now)
    except NOT_ACCEPTED as refusal:
        log.warning("sweeps cannot be queued yet: %s", refusal)
