"""Tiers: their limits as quotas, and the caller who has no key."""

from access import key_cache, store
from access.callers import ANONYMOUS, QUOTAS, SCOPES, Caller, Quota
from access.models import Tier
from columns.raw_queries import fetch_all

# What a keyless caller gets where an administrator deleted the tier of that name.
_LEAST = Quota(1.0, 1)
_ANONYMOUS_DIGEST = b"anonymous"


def quotas_of(tier: Tier) -> dict[str, Quota]:
    """The tier's limits by quota name; what has no rate is unlimited and absent."""
    limits = {
        "requests": (tier.requests_per_second, tier.requests_burst),
        "bundles": (tier.bundles_per_second, tier.bundles_burst),
        "tip_fetches": (tier.tip_fetches_per_second, tier.tip_fetches_burst),
    }
    return {name: Quota(rate, burst) for name, (rate, burst) in limits.items() if rate is not None}


def landing_weights() -> dict[str, int]:
    """Each tier's share of the landers' work while submissions wait, by its name."""
    return dict(fetch_all("SELECT name::text, landing_weight FROM access_tier"))


def anonymous() -> Caller:
    """The caller without a key, with the limits of the tier `anonymous`."""
    found = key_cache.find(_ANONYMOUS_DIGEST, _read_anonymous)
    assert isinstance(found, Caller)
    return found


def _read_anonymous() -> Caller:
    tier = store.tier_by_name(ANONYMOUS)
    quotas = dict.fromkeys(QUOTAS, _LEAST)
    return Caller(
        key_id=None,
        tier=ANONYMOUS,
        rank=0,
        scopes=frozenset(SCOPES),
        networks=(),
        quotas=quotas if tier is None else quotas_of(tier),
        tip_fetch_daily_cap=None if tier is None else tier.tip_fetches_daily_cap,
    )
