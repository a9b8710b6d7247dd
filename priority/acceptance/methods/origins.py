"""Origin and conditions of a submission, from the call and the settings."""

from functools import lru_cache

from django.conf import settings
from solders.pubkey import Pubkey

from chain.rent import rent_exempt
from gateway.calls import Call
from priority.acceptance.services import working
from priority.acceptance.services.accepting import Bounds, Origin, Receipt
from priority.acceptance.services.tips import TipRules
from priority.queue.services.stalled_queue import limits
from priority.queue.store import Limits


def origin_of(call: Call) -> Origin:
    return Origin(
        received_at=call.now.timestamp(),
        key_id=call.caller.key_id,
        tier=tier_of(call),
        edge=settings.EDGE_NAME,
        request_id=call.request_id,
    )


def tier_of(call: Call) -> str:
    """The tier whose upstreams serve the call: its host's, or the key's own."""
    return call.host.tier or call.caller.tier


def require_prompt(call: Call) -> Bounds:
    """The conditions of acceptance, before the submission is read. Raises LandingBehind if it has
    waited for too long in this process.
    """
    bounds = _bounds(
        tuple(settings.TIP_ADDRESSES),
        settings.TIP_MINIMUM_LAMPORTS,
        settings.ACCEPTED_MOST,
        settings.NONCE_PATIENCE_SECONDS,
        limits(),
    )
    weight = call.caller.landing_weight
    working.require_prompt(tier_of(call), weight, came_at=call.came_at, limits=bounds.limits)
    return bounds


def named_in(call: Call, receipt: Receipt) -> str:
    """The receipt's name; how late the queue is goes with the answer, and why it will fail."""
    call.headers["X-Queue-Milliseconds"] = str(receipt.queue_ms)
    if receipt.advice:
        call.headers["X-Advice"] = receipt.advice
    return receipt.name


@lru_cache(maxsize=8)
def _bounds(
    addresses: tuple[Pubkey, ...], minimum: int, most: int, nonce_seconds: int, late: Limits
) -> Bounds:
    rules = TipRules(
        addresses=frozenset(bytes(each) for each in addresses),
        minimum_lamports=minimum,
        fetched_minimum_lamports=max(minimum, rent_exempt(0)),
    )
    return Bounds(rules, most, nonce_seconds, late)
