"""How the portal's pages show tiers and limits."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from access.models import ApiKey, Tier
from access.services.monthly_quotas import MonthlyUsage


@dataclass(frozen=True, slots=True)
class TierShown:
    """A tier with its limits for one key, and how many keys have it."""

    tier: Tier
    keys: int
    limits: list[str]


def tiers_of(keys: Iterable[ApiKey]) -> list[TierShown]:
    """The tiers of these keys, the highest first."""
    counted = Counter(key.tier for key in keys)
    ranked = sorted(counted.items(), key=lambda item: (-item[0].rank, item[0].name))
    return [TierShown(tier, count, limits(tier)) for tier, count in ranked]


def limits(tier: Tier) -> list[str]:
    """A tier's limits for one key, a line each."""
    lines = [
        _rate("calls", tier.requests_per_second, tier.requests_burst),
        _rate("bundles", tier.bundles_per_second, tier.bundles_burst),
        _rate("tip-address fetches", tier.tip_fetches_per_second, tier.tip_fetches_burst),
    ]
    if tier.tip_fetches_daily_cap is not None:
        lines.append(f"{tier.tip_fetches_daily_cap:,} tip-address fetches a UTC day")
    if tier.calls_per_month is None:
        lines.append("calls a month: no limit")
    else:
        lines.append(f"{tier.calls_per_month:,} calls a month")
    lines.append(
        f"{tier.stream_connections:,} WebSockets with {tier.stream_subscriptions:,} subscriptions"
        " each"
    )
    if tier.stream_notifications_per_second is not None:
        lines.append(f"{tier.stream_notifications_per_second:,} notifications a second")
    if tier.stream_bytes_per_month is not None:
        lines.append(f"{tier.stream_bytes_per_month:,} bytes of notifications a month")
    return lines


def _rate(what: str, per_second: float | None, burst: int) -> str:
    if per_second is None:
        return f"{what}: no limit"
    return f"{per_second:,g} {what} a second, {burst:,} at once"


def month_of_calls(usage: MonthlyUsage) -> str:
    """1,200 of 10,000 (12 %)"""
    if not usage.limit:
        return f"{usage.used:,}; no limit"
    return f"{usage.used:,} of {usage.limit:,} ({100 * usage.used // usage.limit} %)"
