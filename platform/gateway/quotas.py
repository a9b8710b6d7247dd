"""Takes what a request costs from its caller's limits; the round trip also reports changed keys."""

from collections.abc import Mapping

from access import buckets, windows
from access.buckets import Taken
from access.callers import Caller
from eventloop.faces import in_thread
from gateway.refusals import BatchAboveLimit, TooManyRequests

# The window of an address, in which callers without a key are counted.
WINDOW = "keyless"


async def atake(caller: Caller, costs: Mapping[str, int], address: str) -> tuple[Taken | None, int]:
    """Takes {quota: tokens} from every limit that applies: the result and cost of the first
    refusal, else of the last quota; None without a limit. Tokens taken before a refusal are spent.
    """
    taken: Taken | None = None
    cost = 0
    per_address = caller.quotas.get("requests") if caller.key_id is None else None
    for quota, cost in costs.items():
        taken = None
        if per_address is not None:
            taken = await in_thread(windows.take, WINDOW, address, per_address, cost)
        if per_address is None or (quota != "requests" and taken is not None and taken.allowed):
            plan = buckets.plan_of(caller, quota)
            taken = taken if plan is None else await buckets.atake(plan, cost)
        if taken is not None and not taken.allowed:
            break
    return taken, cost


def refusal_of(taken: Taken, cost: int) -> TooManyRequests:
    """The refusal for a quota that was not taken."""
    if taken.quota == WINDOW and cost > taken.limit:
        return BatchAboveLimit(taken, cost)
    return TooManyRequests(taken, cost)
