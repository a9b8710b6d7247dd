"""Formatting of a key: state, limits, month, links and history."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from access.callers import SCOPES, Quota
from access.key_states import KeyState, state_of
from access.models import ApiKey, Tier
from access.services import monthly_quotas
from access.services.tiers import quotas_of
from staff.formatting import ago, badge, counted, duration, grouped, utc
from staff.models import AuditEntry

_STORY = 6
_HUES = {
    KeyState.ACTIVE: "good",
    KeyState.EXPIRING: "warning",
    KeyState.SUSPENDED: "warning",
    KeyState.EXPIRED: "quiet",
    KeyState.REVOKED: "bad",
}
_EFFECTS = {
    KeyState.ACTIVE: "It works.",
    KeyState.SUSPENDED: "Calls with it are answered 403 until it is resumed",
    KeyState.EXPIRED: "Calls with it are answered 401",
    KeyState.REVOKED: "Calls with it are answered 401, for good",
}


def last_use(key: Any) -> SafeString | str:
    """When a key was used last, and from where."""
    when = ago(key.last_used_at)
    if key.last_used_address is None:
        return when
    return format_html("{} from {}", when, key.last_used_address)


def key_badge(key: ApiKey, now: datetime) -> SafeString:
    """The key's state, with its effect and since when as a hint."""
    state = state_of(key, now=now)
    text = str(state)
    if state is KeyState.EXPIRING and key.expires_at is not None:
        text = f"expires in {duration(key.expires_at - now)}"
    since = {
        KeyState.REVOKED: key.revoked_at,
        KeyState.SUSPENDED: key.suspended_at,
        KeyState.EXPIRED: key.expires_at,
        KeyState.EXPIRING: key.expires_at,
    }.get(state)
    hint = [_EFFECTS.get(state, ""), "" if since is None else utc(since)]
    return badge(text, _HUES[state], "; ".join(filter(None, hint)))


def scopes_of(key: ApiKey) -> str:
    return "all" if len(key.scopes) == len(SCOPES) else ", ".join(key.scopes) or "none"


def limits(tier: Tier) -> SafeString:
    """The limits of a tier, a line each."""
    return format_html_join("", "<div>{}</div>", ((line,) for line in limit_lines(tier)))


def limits_of_tiers(text: str, tiers: Iterable[Tier]) -> SafeString:
    """The text of a field, and what each of the tiers gives a key."""
    lines = ((tier.name, "; ".join(limit_lines(tier))) for tier in tiers)
    found = format_html_join("", "<br><strong>{}</strong>: {}", lines)
    return format_html("{} For each key a tier gives:{}", text, found)


def limit_lines(tier: Tier) -> list[str]:
    """The limits of a tier for one key."""
    quotas = quotas_of(tier)
    fetches = _rate(quotas.get("tip_fetches"), "tip-address fetch", "tip-address fetches")
    if tier.tip_fetches_daily_cap is not None:
        fetches += f", at most {grouped(tier.tip_fetches_daily_cap)} a day (UTC)"
    month, bytes_of_month = tier.calls_per_month, tier.stream_bytes_per_month
    notifications = tier.stream_notifications_per_second
    lines = [
        _rate(quotas.get("requests"), "call", "calls"),
        _rate(quotas.get("bundles"), "bundle", "bundles"),
        fetches,
        f"{grouped(tier.simulation_jobs)} simulation jobs open at once,"
        f" {grouped(tier.simulations_per_job)} simulations in each",
        f"{grouped(tier.stream_connections)} WebSockets with"
        f" {grouped(tier.stream_subscriptions)} subscriptions each",
    ]
    if notifications is not None:
        lines.append(f"{grouped(notifications)} notifications a second")
    if bytes_of_month is not None:
        lines.append(f"{grouped(bytes_of_month)} bytes of notifications a month")
    lines.append(
        "calls a month: no limit" if month is None else f"{counted(month, 'call')} a month"
    )
    return lines


def _rate(quota: Quota | None, one: str, many: str) -> str:
    if quota is None:
        return f"{many} without limit"
    rate = f"{quota.rate:,g}"
    return (
        f"{rate} {one if quota.rate == 1 else many} per second,"
        f" {grouped(quota.burst)} at once after a pause"
    )


def month(key: ApiKey, now: datetime) -> SafeString | str:
    """The calls of the month, the limit, and when it resets."""
    usage = monthly_quotas.usage_of(key.pk, now)
    if usage is None:
        return "-"
    used = grouped(usage.used)
    if usage.limit is None:
        return f"{counted(usage.used, 'call')}; no limit"
    share = min(100, 100 * usage.used // usage.limit)
    hue = "bad" if share >= 100 else "warning" if share >= 80 else "good"
    return format_html(
        '{} <span class="tm-nowrap">{} of {} calls</span>, resets {}',
        badge(f"{share} %", hue, "Refused calls and failures of the service do not count"),
        used,
        grouped(usage.limit),
        ago(usage.resets_at, now),
    )


def links(request: HttpRequest, key: ApiKey) -> list[tuple[str, str, str]]:
    """(text, hint, address) of other pages that know the key."""
    found = []
    for text, hint, name, query, permission in (
        (
            "Land rate",
            "outcomes of the transactions that it sent",
            "admin:priority_landing",
            {"key": key.pk},
            "priority.view_submission",
        ),
        (
            "Audit log",
            "what staff did to it",
            "admin:staff_auditentry_changelist",
            {"subject_type": key._meta.label_lower, "subject_id": key.pk},
            "staff.view_auditentry",
        ),
    ):
        if request.user.has_perm(permission):
            found.append((text, hint, f"{reverse(name)}?{urlencode(query)}"))
    return found


def history(request: HttpRequest, key: ApiKey) -> list[AuditEntry]:
    """The newest entries of the audit log on the key."""
    if not request.user.has_perm("staff.view_auditentry"):
        return []
    entries = AuditEntry.objects.filter(
        subject_type=key._meta.label_lower, subject_id=str(key.pk)
    ).order_by("-pk")
    return list(entries[:_STORY])
