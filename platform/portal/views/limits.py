"""Limits of keys and the remaining quotas, as in whoami."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from access import remaining_quota
from access.admin import key_panel
from access.admin.key_formatting import key_badge, scopes_of
from access.key_states import KeyState, state_of
from access.models import ApiKey
from access.months import month_of
from access.services import keys as key_services
from access.services import monthly_quotas
from portal import formatting, store
from portal.models import Member
from portal.views.pages import for_members, page
from staff.formatting import ago, grouped, moment, wait_of

_SHOWN = 100
_NAMES = {"requests": "Calls", "bundles": "Bundles", "tip_fetches": "Tip-address fetches"}


@for_members
def limits(request: HttpRequest, member: Member) -> HttpResponse:
    """Valid keys with the limits of their tiers and their month."""
    now = timezone.now()
    ended = (KeyState.REVOKED, KeyState.EXPIRED)
    keys = [key for key in store.keys_of(member.customer_id) if state_of(key, now=now) not in ended]
    months = {
        each.key_id: each for each in monthly_quotas.usages_of_customer(member.customer_id, now)
    }
    context = {
        "tiers": formatting.tiers_of(keys),
        "rows": [
            {
                "key": key,
                "state": key_badge(key, now),
                "month": key_panel.month_of_calls(months[key.pk]),
                "left": grouped(months[key.pk].remaining),
            }
            for key in keys[:_SHOWN]
            if key.pk in months
        ],
        "cut": len(keys) > _SHOWN,
        "resets": ago(month_of(now)[1], now),
        "resets_at": moment(month_of(now)[1]),
    }
    return page(request, "portal/limits.html", context)


@for_members
def key_limits(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """One key's limits and remaining quotas."""
    now = timezone.now()
    key = get_object_or_404(store.keys_of(member.customer_id), pk=pk)
    context = {
        "key": key,
        "state": key_badge(key, now),
        "scopes": scopes_of(key),
        "buckets": _buckets(key, now),
        "quota": key_panel.quota_bar(key, now),
        "jobs": grouped(key.tier.simulation_jobs),
        "simulations": grouped(key.tier.simulations_per_job),
    }
    return page(request, "portal/key_limits.html", context)


def _buckets(key: ApiKey, now: datetime) -> list[dict[str, Any]]:
    caller = key_services.caller_of(key)
    remaining = remaining_quota.read(caller, now=now)
    rows = []
    for name, title in _NAMES.items():
        quota = caller.quotas.get(name)
        left = None if remaining is None else remaining.by_name.get(name)
        row = {
            "title": title,
            "rate": "no limit" if quota is None else f"{quota.rate:,g} a second",
            "burst": "-" if quota is None else grouped(quota.burst),
            "left": "-"
            if quota is None
            else "unknown"
            if left is None
            else grouped(left.remaining),
            "full": "-" if left is None or quota is None else wait_of(left.reset_seconds),
        }
        rows.append(row)
    cap = caller.tip_fetch_daily_cap
    if cap is not None:
        taken = None if remaining is None else remaining.fetched_today
        rows.append(
            {
                "title": "Tip-address fetches of the UTC day",
                "rate": f"{cap:,} a day",
                "burst": "-",
                "left": "unknown" if taken is None else grouped(max(0, cap - taken)),
                "full": "at midnight UTC",
            }
        )
    return rows
