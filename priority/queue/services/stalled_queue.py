"""Whether landers take accepted entries: callers and operators learn of a stopped lander."""

from typing import Any

import redis
from django.conf import settings

from gateway.health import NotReady
from priority.acceptance.errors import LandingStalled, not_queued
from priority.queue.store import DEFAULT_LIMITS, Limits, queue_state
from shared_state.pace import slot_seconds

# A lander sends an entry within milliseconds; one that was killed is started again in a second.
_MOST_MS = 10_000


def limits() -> Limits:
    """How late this installation may send what it accepts."""
    return Limits(settings.LANDING_BEHIND_SLOTS, round(1_000 * slot_seconds()))


def refused_from_ms() -> int:
    """The queue's age from which refusals begin, in milliseconds of the chain's slots; where they
    are switched off, that from which they would by default.
    """
    rules = limits()
    return (rules.slots or DEFAULT_LIMITS.slots) * rules.slot_ms // 3


def require_landing() -> None:
    """Raises LandingStalled where an accepted entry waits to be sent for long, an outage where
    nothing could be accepted.
    """
    try:
        waited = queue_state().age_ms
    except redis.RedisError as error:
        raise not_queued(error) from None
    if waited > _MOST_MS:
        raise LandingStalled(waited, _MOST_MS)


def landing_check() -> dict[str, Any]:
    """For /readyz; raises NotReady."""
    waited = queue_state().age_ms
    if waited > _MOST_MS:
        raise NotReady(f"accepted transactions wait for {waited} ms: is a lander running?")
    return {"longestWaitMilliseconds": waited}
