"""Tiers as an administrator keeps them."""

from django.db import transaction

from access.callers import ANONYMOUS
from access.errors import ActionRefused
from access.models import ApiKey, Tier


class TierInUse(ActionRefused):
    """Keys are of this tier: they go to another one first."""


def save_tier(tier: Tier) -> None:
    """Stores a new or changed tier; its limits hold in every process within 2 s. Raises
    ValidationError.
    """
    tier.full_clean()
    if tier.pk is not None:
        before = Tier.objects.filter(pk=tier.pk).values_list("name", flat=True).first()
        if before == ANONYMOUS and tier.name != ANONYMOUS:
            raise ActionRefused(
                f"`{ANONYMOUS}` is the tier of callers without a key: keep its name"
            )
    tier.save()


def why_tier_stays(tier: Tier) -> str | None:
    """Why the tier cannot be deleted, or None when it can."""
    if tier.name == ANONYMOUS:
        return f"`{ANONYMOUS}` holds the limits of callers without a key: it cannot be deleted"
    keys = ApiKey.objects.filter(tier=tier).count()
    if keys:
        noun = "key is" if keys == 1 else "keys are"
        return f"{keys} {noun} of the tier `{tier}`: give them another tier first"
    return None


@transaction.atomic
def delete_tier(tier: Tier) -> None:
    """Raises TierInUse, also for the tier of callers without a key."""
    Tier.objects.select_for_update().get(pk=tier.pk)
    reason = why_tier_stays(tier)
    if reason is not None:
        raise TierInUse(reason)
    tier.delete()
