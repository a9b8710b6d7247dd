"""The caller's quota as DRF's throttle class: one round trip that also reports changed keys."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

from access import buckets, key_cache, windows
from access.buckets import Taken
from access.callers import Caller
from gateway.refusals import BatchAboveLimit, TooManyRequests

# The window of an address, in which callers without a key are counted.
WINDOW = "keyless"


class CallerQuota(BaseThrottle):
    """Takes the request's cost from every limit of its caller with the view's
    `take_quota(request)`; the view's `taken` holds the result, for the response headers.
    """

    def allow_request(self, request: Any, view: Any) -> bool:
        taken: Taken | None = view.take_quota(request)
        view.taken = taken
        if taken is None:
            return True
        if not still_known(taken):
            view.check_caller(request)
        return taken.allowed

    def wait(self) -> None:
        """Unused: the view's refusal has the seconds to wait."""


def take(
    request: HttpRequest, caller: Caller, quota: str, address: str, cost: int = 1
) -> Taken | None:
    """Takes the request's cost from every limit that applies; None without a limit. A refusal has
    `allowed` False.
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
    request: HttpRequest, caller: Caller, costs: Mapping[str, int], address: str
) -> tuple[Taken | None, int]:
    """`take` for several quotas, {quota: cost}: the result and cost of the first refusal, else of
    the last quota. Tokens taken before a refusal are spent.
    """
    taken: Taken | None = None
    cost = 0
    for quota, cost in costs.items():
        taken = take(request, caller, quota, address, cost)
        if taken is not None and not taken.allowed:
            break
    return taken, cost


def refusal_of(taken: Taken, cost: int) -> TooManyRequests:
    """The refusal for a quota that was not taken."""
    if taken.quota == WINDOW and cost > taken.limit:
        return BatchAboveLimit(taken, cost)
    return TooManyRequests(taken, cost)


def still_known(taken: Taken | None) -> bool:
    """False if keys or tiers changed after the caller was identified: identify it again."""
    if taken is None or taken.generation is None:
        return True
    return key_cache.confirm(taken.generation)
