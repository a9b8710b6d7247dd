"""Tiers: their limits as quotas, and their weights."""

from access.callers import Quota
from access.models import Tier
from columns.raw_queries import fetch_all


def quotas_of(tier: Tier) -> dict[str, Quota]:
    """The tier's limits by quota name; an unlimited quota is absent."""
    limits = {
        "requests": (tier.requests_per_second, tier.requests_burst),
        "bundles": (tier.bundles_per_second, tier.bundles_burst),
        "tip_fetches": (tier.tip_fetches_per_second, tier.tip_fetches_burst),
    }
    return {name: Quota(rate, burst) for name, (rate, burst) in limits.items() if rate is not None}


def landing_weights() -> dict[str, int]:
    """Each tier's share of the landers' work while submissions wait, by its name."""
    return dict(fetch_all("SELECT name::text, landing_weight FROM access_tier"))
