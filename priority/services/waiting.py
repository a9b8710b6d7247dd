"""Whether what was accepted is taken up: nobody should learn of a stopped lander by silence."""

from typing import Any

import redis

from gateway.health import NotReady
from priority.refusals import LandingStalled, QueueUnavailable
from priority.store.accepting import longest_wait_ms

# A lander takes an entry within milliseconds; one that was killed is started again in a second.
_MOST_MS = 10_000


def require_landing() -> None:
    """Raises LandingStalled where an accepted entry waits for a lander for long, QueueUnavailable
    where nothing could be accepted.
    """
    try:
        waited = longest_wait_ms()
    except redis.RedisError:
        raise QueueUnavailable(may_be_queued=False) from None
    if waited > _MOST_MS:
        raise LandingStalled(waited, _MOST_MS)


def landing_check() -> dict[str, Any]:
    """For /readyz; raises NotReady."""
    waited = longest_wait_ms()
    if waited > _MOST_MS:
        raise NotReady(f"accepted transactions wait for {waited} ms: is a lander running?")
    return {"longestWaitMilliseconds": waited}
