"""How the portal's pages say a state, a moment, a number."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin import words
from access.callers import SCOPES
from access.key_states import KeyState, state_of
from access.models import ApiKey, Tier
from access.services.monthly_quotas import MonthlyUsage
from alerts.models import Webhook

_HUES = {
    KeyState.ACTIVE: "good",
    KeyState.EXPIRING: "warning",
    KeyState.SUSPENDED: "warning",
    KeyState.EXPIRED: "quiet",
    KeyState.REVOKED: "bad",
}
_SENTENCES = {
    KeyState.ACTIVE: "It works.",
    KeyState.SUSPENDED: "Calls with it are answered 403 until it is resumed",
    KeyState.EXPIRED: "Calls with it are answered 401",
    KeyState.REVOKED: "Calls with it are answered 401, for good",
}


def word(text: str, hue: str, title: str = "") -> SafeString:
    """A word on a ground of its hue: good, warning, bad or quiet."""
    return format_html('<span class="word {}" title="{}">{}</span>', hue, title, text)


def key_state(key: ApiKey, now: datetime) -> SafeString:
    """The key's state, with what it means and since when as a hint."""
    state = state_of(key, now=now)
    text = str(state)
    if state is KeyState.EXPIRING and key.expires_at is not None:
        text = f"expires in {words.length(key.expires_at - now)}"
    since = {
        KeyState.REVOKED: key.revoked_at,
        KeyState.SUSPENDED: key.suspended_at,
        KeyState.EXPIRED: key.expires_at,
        KeyState.EXPIRING: key.expires_at,
    }.get(state)
    hint = [_SENTENCES.get(state, ""), "" if since is None else words.plain(since)]
    return word(text, _HUES[state], "; ".join(filter(None, hint)))


def moment(at: datetime | None, now: datetime, never: str = "never") -> SafeString | str:
    """How long ago or ahead, with the moment itself as a hint."""
    return words.moment(at, now, never)


def scopes(key: ApiKey) -> str:
    return "all" if len(key.scopes) == len(SCOPES) else ", ".join(key.scopes) or "none"


def webhook_state(webhook: Webhook, now: datetime) -> SafeString:
    """Whether events reach it."""
    if not webhook.is_enabled:
        return word("off", "bad", webhook.disabled_reason)
    if webhook.failing_since is not None:
        return word("failing", "warning", f"since {words.plain(webhook.failing_since)}")
    return word("on", "good")


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
