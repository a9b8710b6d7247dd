"""How the portal's pages show tiers and limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from access.admin.key_panel import percent_of
from access.models import ApiKey, Tier
from access.services.monthly_quotas import MonthlyUsage

# Keys with limits of their own that are named; more are counted.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class TierShown:
    """A tier with its limits for one key, how many keys have it, and those of them that have a
    monthly limit of their own.
    """

    tier: Tier
    keys: int
    limits: list[str]
    own: str


def tiers_of(keys: Iterable[ApiKey]) -> list[TierShown]:
    """The tiers of these keys, the highest first."""
    found: dict[Tier, list[ApiKey]] = {}
    for key in keys:
        found.setdefault(key.tier, []).append(key)
    ranked = sorted(found.items(), key=lambda item: (-item[0].rank, item[0].name))
    return [TierShown(tier, len(own), limits(tier), _own_limits(own)) for tier, own in ranked]


def _own_limits(keys: list[ApiKey]) -> str:
    """Keys whose monthly limit is not their tier's: "production 2,000 calls a month"."""
    limited = [key for key in keys if key.calls_per_month is not None]
    if not limited:
        return ""
    named = [f"{key.name} {key.calls_per_month:,} calls a month" for key in limited[:_NAMED]]
    more = len(limited) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more else [])])


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
    return f"{usage.used:,} of {usage.limit:,} ({percent_of(usage.used, usage.limit)})"
