"""What a customer's keys allow of replays: each transaction is one simulated call of a key."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from access import buckets
from access.callers import Caller
from access.key_states import KeyState, state_of
from access.models import ApiKey
from access.services.keys import caller_of
from gateway.calls import count_call
from gateway.endpoint_policy import EndpointPolicy
from gateway.permissions import right_missing
from gateway.refusals import Refusal, TooManyRequests
from gateway.routes import endpoint_at
from jsonrpc.errors import RpcError
from portal import store
from rewind.replay.services.replays.results import ReplayResult
from staff.errors import ActionRefused

METHOD = "simulateHistoricalTransaction"
_WORKING = (KeyState.ACTIVE, KeyState.EXPIRING)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The key that replays count on."""

    key: ApiKey
    caller: Caller


def allowance(customer_id: int, *, preferred: int | None, now: datetime) -> Allowance:
    """Of the preferred key where it may simulate on past state, else of the newest that may. Raises
    ActionRefused where none of the customer's keys may.
    """
    refusal: Refusal | None = None
    keys = [key for key in store.keys_of(customer_id) if state_of(key, now=now) in _WORKING]
    for key in sorted(keys, key=lambda key: key.pk != preferred):
        caller = caller_of(key)
        missing = right_missing(caller, _policy(), METHOD)
        if missing is None:
            return Allowance(key, caller)
        refusal = refusal or missing
    if refusal is None:
        raise ActionRefused("No key of yours works at the moment: a replay counts on one.")
    raise ActionRefused(
        f"No key of yours may replay: a replay counts as {METHOD} of a key. {refusal.message}"
    )


def counted(
    run: Callable[[], ReplayResult],
    held: Allowance,
    *,
    transactions: int,
    address: str,
    request_id: str,
) -> ReplayResult:
    """Runs it at the cost of so many calls of the key. Raises ActionRefused where the key's rate
    does not allow them now.
    """
    plan = buckets.plan_of(held.caller, _policy().quota)
    taken = None if plan is None else buckets.take(plan, transactions)
    failure: RpcError | None = None
    started = time.perf_counter()
    try:
        if taken is not None and not taken.allowed:
            failure = TooManyRequests(taken, transactions)
            raise ActionRefused(
                f"The rate of the key {held.key} is used up: try again in {taken.retry_seconds} s."
            )
        return run()
    except RpcError as error:
        failure = error
        raise
    finally:
        seconds = (time.perf_counter() - started) / transactions
        for _ in range(transactions):
            count_call(
                held.key.pk,
                METHOD,
                failure,
                seconds,
                path="/rewind",
                status=failure.status if isinstance(failure, Refusal) else 200,
                address=address,
                request_id=request_id,
            )


def _policy() -> EndpointPolicy:
    match = endpoint_at("/rewind")
    assert match is not None
    view: Any = match.func
    policy: EndpointPolicy = view.policy
    return policy
