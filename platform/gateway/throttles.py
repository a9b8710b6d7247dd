"""The caller's quota: taken in one round trip, which also tells whether keys changed meanwhile."""

from collections import Counter
from collections.abc import Sequence

from django.http import HttpRequest

from access import buckets, key_cache, windows
from access.buckets import Taken
from access.callers import Caller
from gateway.refusals import BatchAboveLimit, TooManyRequests

# The window of an address, in which callers without a key are counted.
WINDOW = "keyless"


def take(
    request: HttpRequest, caller: Caller, quota: str, address: str, cost: int = 1
) -> Taken | None:
    """Takes the request's cost from every limit it stands under; None when there is none. A refusal
    stands in `allowed`.
    """
    taken = None
    if caller.key_id is None:
        per_address = caller.quotas.get("requests")
        if per_address is not None:
            taken = windows.take(request, WINDOW, address, per_address, cost)
            if not taken.allowed or quota == "requests":
                return taken
    plan = buckets.plan_of(caller, quota)
    return taken if plan is None else buckets.take(plan, cost)


def take_each(
    request: HttpRequest, caller: Caller, quotas: Sequence[str], address: str
) -> tuple[Taken | None, int]:
    """`take` for calls of several quotas: what came of the last one taken from, or of the first
    that refused, and how much it was asked for. What was taken before a refusal is spent.
    """
    taken: Taken | None = None
    cost = 0
    for quota, cost in Counter(quotas).items():
        taken = take(request, caller, quota, address, cost)
        if taken is not None and not taken.allowed:
            break
    return taken, cost


def require_taken(taken: Taken, cost: int) -> None:
    """Raises TooManyRequests when the take was refused."""
    if taken.allowed:
        return
    if taken.quota == WINDOW and cost > taken.limit:
        raise BatchAboveLimit(taken, cost)
    raise TooManyRequests(taken, cost)


def still_known(taken: Taken | None) -> bool:
    """False when keys or tiers changed after the caller was identified: do it again."""
    if taken is None or taken.generation is None:
        return True
    return key_cache.confirm(taken.generation)
