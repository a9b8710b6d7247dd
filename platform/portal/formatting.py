"""How the portal's pages show tiers and limits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from access.admin.key_formatting import limit_lines
from access.admin.key_panel import percent_of
from access.models import ApiKey, Tier
from access.services.monthly_quotas import MonthlyUsage
from staff.formatting import grouped

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
    return [TierShown(tier, len(own), limit_lines(tier), _own_limits(own)) for tier, own in ranked]


def _own_limits(keys: list[ApiKey]) -> str:
    """Keys whose monthly limit is not their tier's: "production 2,000 calls a month"."""
    limited = [key for key in keys if key.calls_per_month is not None]
    if not limited:
        return ""
    named = [f"{key.name} {key.calls_per_month:,} calls a month" for key in limited[:_NAMED]]
    more = len(limited) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more else [])])


def quota_of(usage: MonthlyUsage) -> dict[str, Any] | None:
    """Counted calls of the month, of the limit; None without one."""
    if usage.limit is None:
        return None
    return {
        "used": grouped(usage.used),
        "limit": grouped(usage.limit),
        "percent": min(100, 100 * usage.used // (usage.limit or 1)),
        "share": percent_of(usage.used, usage.limit),
    }
