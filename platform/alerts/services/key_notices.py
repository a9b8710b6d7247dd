"""Publishes notices of keys that expire or run out of monthly calls."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from access.models import ApiKey
from access.months import month_of
from access.services.monthly_quotas import MonthlyUsage, usages
from alerts import store
from alerts.services.events import publish
from alerts.services.key_events import iso, key_data
from staff.formatting import utc

# A notice is published this many days before a key expires, nearest first.
NOTICES_DAYS = (1, 7)
WARNING_PERCENT = 80
# No notice of keys that expired longer ago: after a first start, or a long pause.
_STALE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Notice:
    """An event to publish; `once` identifies it, so that it is published one time."""

    once: str
    kind: str
    key: ApiKey
    text: str
    data: dict[str, Any]


def publish_notices(*, now: datetime) -> int:
    """Publishes notices of keys that expire within seven days or one, that have expired, or that
    have used 80 % or all of their monthly calls, each once. Returns how many events were written.
    """
    due = [*_expiries(now), *_quotas(now)]
    names = [notice.once for notice in due]
    written_before = store.written_once(names)
    written = 0
    for notice in due:
        if notice.once in written_before:
            continue
        event = publish(
            notice.kind,
            about=f"key {notice.key}",
            text=notice.text,
            data={**key_data(notice.key), **notice.data},
            now=now,
            customer_id=notice.key.customer_id,
            once=notice.once,
        )
        written += event is not None
    return written


def _expiries(now: datetime) -> Iterable[_Notice]:
    last = now + timedelta(days=max(NOTICES_DAYS))
    for key in store.keys_expiring(now - _STALE, last):
        expiry = key.expires_at
        if expiry is None:
            continue
        if expiry <= now:
            yield _expired(key, expiry)
            continue
        days = next(days for days in NOTICES_DAYS if expiry - now <= timedelta(days=days))
        # The customer set this expiry within the notice period, and knows of it.
        if _set_at(key) < expiry - timedelta(days=days):
            yield _expiring(key, expiry, days)


def _set_at(key: ApiKey) -> datetime:
    successor = getattr(key, "rotated_to", None)
    return key.created_at if successor is None else successor.created_at


def _expired(key: ApiKey, expiry: datetime) -> _Notice:
    successor = getattr(key, "rotated_to", None)
    instead = "issue a new key" if successor is None else f"use its successor, {successor}"
    return _Notice(
        once=f"key.expired:{key.pk}:{iso(expiry)}",
        kind="key.expired",
        key=key,
        text=f"The key {key} expired at {utc(expiry)}. Calls with it are answered 401: {instead}.",
        data={"expiresAt": iso(expiry)},
    )


def _expiring(key: ApiKey, expiry: datetime, days: int) -> _Notice:
    successor = getattr(key, "rotated_to", None)
    instead = (
        "Rotate it, or ask for a later expiry, to go on without a break."
        if successor is None
        else f"Its successor {successor} works already: use that one."
    )
    return _Notice(
        once=f"key.expiring:{key.pk}:{iso(expiry)}:{days}",
        kind="key.expiring",
        key=key,
        text=f"The key {key} expires at {utc(expiry)}. {instead}",
        data={"expiresAt": iso(expiry), "daysLeft": days},
    )


def _quotas(now: datetime) -> Iterable[_Notice]:
    month, _next = month_of(now)
    high = {
        usage.key_id: usage
        for usage in usages(now)
        if usage.limit is not None and 100 * usage.used >= WARNING_PERCENT * usage.limit
    }
    for key in store.keys_of(high):
        usage = high[key.pk]
        reached = usage.limit is not None and usage.used >= usage.limit
        kind = "quota.reached" if reached else "quota.warning"
        yield _Notice(
            # A limit that was raised, and is used up again, gets another notice.
            once=f"{kind}:{key.pk}:{month:%Y-%m}:{usage.limit}",
            kind=kind,
            key=key,
            text=_quota_text(key, usage, reached=reached),
            data={
                "used": usage.used,
                "limit": usage.limit,
                "resetsAt": iso(usage.resets_at),
            },
        )


def _quota_text(key: ApiKey, usage: MonthlyUsage, *, reached: bool) -> str:
    resets = utc(usage.resets_at)
    of = f"{usage.used:,} of {usage.limit:,} calls of this month"
    if reached:
        return (
            f"The key {key} has used {of}. Further calls are answered 429 until {resets}, or until"
            " its limit is raised."
        )
    return f"The key {key} has used {of}. The next month begins at {resets}."
