"""The first page: limits, the month, the last day, and warnings."""

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from access import refusal_advice, usage_queries
from access.admin.charts import chart_of, pushed_chart_of
from access.counted_calls import kind_of
from access.key_states import KeyState, state_of
from access.models import ApiKey
from access.months import month_of
from access.services import monthly_quotas, usage_reports
from access.spans import DEFAULT_SPAN
from alerts.admin.states import webhook_state
from portal import formatting, store
from portal.models import Member
from portal.views.pages import for_members, page
from priority.reports.services import key_states
from priority.submissions import State
from staff.formatting import ago, grouped

_REASONS = 6
_NAMED = 5
_LOST = (State.FAILED, State.EXPIRED, State.REFUSED)


@for_members
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    now = timezone.now()
    customer = member.customer_id
    keys = list(store.keys_of(customer))
    report = usage_reports.usage_report(DEFAULT_SPAN, now=now, customer_id=customer)
    context = {
        "keys": keys,
        "working": sum(_works(key, now) for key in keys),
        "expiring": _expiring(keys, now),
        "tiers": formatting.tiers_of(key for key in keys if _works(key, now)),
        "submissions": _submissions([key.pk for key in keys], now),
        "month": _month(customer, keys, now),
        "chart": chart_of(report, ranged=False),
        "pushed_chart": pushed_chart_of(report, ranged=False),
        "was_used": any(report.counts),
        "refusals": _refusals(customer, now),
        "troubled": [
            (each, webhook_state(each, now))
            for each in store.webhooks_of(customer)
            if not each.is_enabled or each.failing_since is not None
        ],
    }
    return page(request, "portal/overview.html", context)


def _works(key: ApiKey, now: datetime) -> bool:
    return state_of(key, now=now) in (KeyState.ACTIVE, KeyState.EXPIRING)


def _expiring(keys: list[ApiKey], now: datetime) -> list[dict[str, Any]]:
    """Keys that expire soon, except rotated ones, which are meant to."""
    found = [
        key
        for key in keys
        if state_of(key, now=now) is KeyState.EXPIRING and getattr(key, "rotated_to", None) is None
    ]
    found.sort(key=lambda key: key.expires_at or now)
    return [{"key": key, "expires": ago(key.expires_at, now)} for key in found[:_NAMED]]


def _month(customer: int, keys: list[ApiKey], now: datetime) -> dict[str, Any]:
    """Calls of this month, and the keys that are near their limit or over it."""
    named = {key.pk: key for key in keys}
    usages = monthly_quotas.usages_of_customer(customer, now)
    start, end = month_of(now)
    counted = usage_queries.counted_by_customer([customer], start.date(), end.date())
    limited = [each for each in usages if each.limit and named[each.key_id].revoked_at is None]
    has_limits = bool(limited)
    limited = [each for each in limited if each.used]
    limited.sort(key=lambda each: each.used / (each.limit or 1), reverse=True)
    return {
        "name": f"{start:%B}",
        # Keys of one rotation share their month: their sum would count it twice.
        "used": grouped(counted.get(customer, 0)),
        "has_limits": has_limits,
        "resets": ago(end, now),
        "keys": [
            {"key": named[each.key_id], **(formatting.quota_of(each) or {})}
            for each in limited[:_NAMED]
        ],
    }


def _submissions(keys: list[int], now: datetime) -> dict[str, Any]:
    """All of the last day, and those that did not land; counted within the last minute."""
    counts = key_states.states_of_day(keys, now)
    lost = {state: counts[state] for state in _LOST}
    return {
        "total": grouped(sum(counts.values())),
        "lost": [
            {"state": state.value, "count": grouped(count)}
            for state, count in lost.items()
            if count or state is not State.REFUSED
        ]
        if any(lost.values())
        else [],
    }


def _refusals(customer: int, now: datetime) -> list[dict[str, Any]]:
    rows = store.refused_calls(customer, now - timedelta(hours=24), _REASONS)
    return [
        {
            "reason": reason,
            "meaning": refusal_advice.meaning(reason),
            "advice": refusal_advice.advice(reason),
            "calls": grouped(calls),
            "kind": kind_of("", reason).value,
            "last": ago(last, now),
        }
        for reason, calls, last in rows
    ]
