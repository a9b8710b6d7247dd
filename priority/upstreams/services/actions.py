"""Admin actions on upstreams: enable, disable, drain, reset the breaker. Landers follow in 2 s."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from priority.upstreams import store
from priority.upstreams.models import Upstream

# Pending submissions are counted up to this number.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Draining:
    """`unsettled` submissions were accepted before it was drained and have no fate yet."""

    since: datetime
    unsettled: int

    @property
    def is_drained(self) -> bool:
        return self.unsettled == 0


@transaction.atomic
def enable(upstream_id: int) -> bool:
    """It takes new submissions. Whether that is a change."""
    row = store.locked(upstream_id)
    if row is None or (row.is_enabled and row.draining_since is None):
        return False
    row.is_enabled, row.draining_since = True, None
    row.save(update_fields=["is_enabled", "draining_since"])
    return True


@transaction.atomic
def disable(upstream_id: int) -> bool:
    """Nothing is sent to it any more, also what is under way. Whether that is a change."""
    row = store.locked(upstream_id)
    if row is None or not row.is_enabled:
        return False
    row.is_enabled, row.draining_since = False, None
    row.save(update_fields=["is_enabled", "draining_since"])
    return True


@transaction.atomic
def drain(upstream_id: int, *, now: datetime) -> bool:
    """It takes no submission that is accepted from now on; those before it are tried again there
    until they settle. Whether that is a change.
    """
    row = store.locked(upstream_id)
    if row is None or not row.is_enabled or row.draining_since is not None:
        return False
    row.draining_since = now
    row.save(update_fields=["draining_since"])
    return True


@transaction.atomic
def reset_breaker(upstream_id: int, *, now: datetime) -> bool:
    """It is tried again at once. Whether its breaker was open."""
    row = store.locked(upstream_id)
    if row is None or row.broken_until is None:
        return False
    row.broken_until, row.broken_reason = None, ""
    row.save(update_fields=["broken_until", "broken_reason"])
    store.close_opening([upstream_id], by="staff", now=now)
    return True


def draining(upstream: Upstream) -> Draining | None:
    """How far it is drained; None where it is not to be."""
    if upstream.draining_since is None or not upstream.is_enabled:
        return None
    since = upstream.draining_since
    return Draining(since, store.unsettled_since_before(since, most=MOST_COUNTED))
