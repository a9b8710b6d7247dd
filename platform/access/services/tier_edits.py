"""Saving and deleting tiers."""

from django.core.exceptions import ValidationError
from django.db import transaction

from access import store
from access.callers import ANONYMOUS
from access.errors import ActionRefused
from access.models import Tier
from access.tier_ranks import rank_problems


class TierInUse(ActionRefused):
    """The tier has keys: they need another tier first."""


def save_tier(tier: Tier) -> None:
    """Stores a new or changed tier; every process applies its limits within 2 s. Raises
    ValidationError.
    """
    tier.full_clean()
    if tier.pk is not None and store.tier_name(tier.pk) == ANONYMOUS and tier.name != ANONYMOUS:
        raise ActionRefused(f"`{ANONYMOUS}` is the tier of callers without a key: keep its name")
    tier.save()


def require_rank(tier: Tier) -> None:
    """Raises ValidationError for a rank that does not fit those of the stored other tiers."""
    ranks = {name: rank for pk, name, rank in store.ranks() if pk != tier.pk}
    problem = rank_problems({**ranks, tier.name: tier.rank}).get(tier.name)
    if problem is not None:
        raise ValidationError({"rank": problem})


def why_tier_stays(tier: Tier) -> str | None:
    """Why the tier cannot be deleted, or None when it can."""
    if tier.name == ANONYMOUS:
        return f"`{ANONYMOUS}` holds the limits of callers without a key: it cannot be deleted"
    keys = store.count_keys_of_tier(tier)
    if keys:
        verb = "key is" if keys == 1 else "keys are"
        return f"{keys} {verb} of the tier `{tier}`: give them another tier first"
    return None


@transaction.atomic
def delete_tier(tier: Tier) -> None:
    """Raises TierInUse, also for the tier of callers without a key."""
    store.lock_tier(tier)
    reason = why_tier_stays(tier)
    if reason is not None:
        raise TierInUse(reason)
    tier.delete()
