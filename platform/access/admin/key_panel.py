"""What a key's page begins with, in the admin and in the portal: its quota as a bar, the overlap of
its rotation, its last refused calls.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from access import refusal_advice, refused_calls
from access.models import ApiKey
from access.refused_calls import RefusedCall
from access.services import quota_forecast
from access.services.monthly_quotas import MonthlyUsage
from access.services.overlaps import overlap_of
from access.services.quota_forecast import PACE_DAYS, QuotaForecast
from staff.formatting import ago, counted, duration, grouped, moment, utc

_ENOUGH, _NEARLY = 0.8, 0.95


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """A month's bar: widths in percent, the hue of what is used, and the sentences beside it.
    `limit` and `left` are empty without a limit.
    """

    used: str
    limit: str
    left: str
    percent: str
    used_width: float
    projected_width: float
    hue: str
    sentence: str
    resets: Any
    resets_at: str


def percent_of(used: int, limit: int | None) -> str:
    """8.8 %, 25 %; empty without a limit. 100 % is a limit that is reached."""
    if not limit:
        return "" if limit is None else "100 %"
    if 0 < used / limit < _NEARLY / 10:
        return f"{100 * used / limit:.1f} %"
    return f"{100 * used // limit} %"


def month_of_calls(usage: MonthlyUsage) -> str:
    """1,200 of 10,000 (12 %)"""
    if not usage.limit:
        return f"{usage.used:,}; no limit"
    return f"{usage.used:,} of {usage.limit:,} ({percent_of(usage.used, usage.limit)})"


def quota_bar(key: ApiKey, now: datetime) -> QuotaBar | None:
    """None if the key does not exist."""
    found = quota_forecast.forecast(key.pk, now)
    if found is None:
        return None
    share = found.used / found.limit if found.limit else 0.0
    led_to = found.projected / found.limit if found.limit else 0.0
    hue = "bad" if share >= 1 else "warning" if share >= _ENOUGH or led_to >= 1 else "good"
    return QuotaBar(
        used=grouped(found.used),
        limit="" if found.limit is None else grouped(found.limit),
        left="" if found.limit is None else counted(max(0, found.limit - found.used), "call"),
        percent=percent_of(found.used, found.limit),
        used_width=round(min(100.0, 100 * share), 2),
        projected_width=round(min(100.0, 100 * led_to), 2),
        hue=hue,
        sentence=_sentence(found, key, now),
        resets=ago(found.resets_at, now),
        resets_at=moment(found.resets_at),
    )


def _sentence(found: QuotaForecast, key: ApiKey, now: datetime) -> str:
    if found.is_reached:
        return f"The limit is reached: calls are answered 429 until {utc(found.resets_at)}."
    if found.since is None:
        return f"No counted call in the last {PACE_DAYS} days."
    if found.is_too_early:
        return (
            "It is too early for a forecast of this month: "
            + (_issued(key, found.since, now) if found.since_issue else "the day has just begun")
            + "."
        )
    pace = f"At the pace {_span(found, key, now)} (about {_about(found.per_day)} a day)"
    if found.reaches_at is not None:
        when = f"{found.reaches_at.astimezone(UTC):%Y-%m-%d}"
        return f"{pace} the limit is reached about {when}, before the month ends."
    led_to = f"{pace} the month ends at about {_about(found.projected)} calls"
    return f"{led_to}." if found.limit is None else f"{led_to} ({found.projected_percent} %)."


def _span(found: QuotaForecast, key: ApiKey, now: datetime) -> str:
    """What the pace was measured over."""
    since = found.since or now
    if found.since_issue:
        return f"since {_issued(key, since, now)}"
    if (now.astimezone(UTC).date() - since.date()).days < PACE_DAYS - 1:
        return f"since {since:%Y-%m-%d}"
    return f"of the last {PACE_DAYS} days"


def _issued(key: ApiKey, at: datetime, now: datetime) -> str:
    whose = "the key" if key.rotated_from_id is None else "the first key of this rotation"
    return f"{whose} was issued {duration(now - at)} ago"


def _about(number: float) -> str:
    """Two digits that count: 1,234 is about 1,200."""
    return grouped(int(float(f"{number:.2g}"))) if number >= 1 else "1"


@dataclass(frozen=True, slots=True)
class ShownRefusal:
    """One refused call: `response` is its HTTP status and code, `meaning` what its reason means."""

    call: RefusedCall
    at: str
    ago: Any
    response: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ShownRefusals:
    """The last refused calls, newest first, and what to do about each of their reasons."""

    calls: list[ShownRefusal]
    advice: list[tuple[str, str]]


def refusals_of(key: ApiKey, now: datetime) -> ShownRefusals | None:
    """None while Redis is unavailable."""
    found = refused_calls.last(key.pk)
    if found is None:
        return None
    reasons = dict.fromkeys(call.reason for call in found)
    return ShownRefusals(
        [
            ShownRefusal(
                call,
                utc(call.at, seconds=True),
                ago(call.at, now),
                _response(call),
                refusal_advice.meaning(call.reason),
            )
            for call in found
        ],
        [(reason, refusal_advice.advice(reason)) for reason in reasons],
    )


def _response(call: RefusedCall) -> str:
    parts = [str(part) for part in (call.status, call.code) if part]
    return " · ".join(parts) or "closed"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A rotation whose old key still works: `of_this` where the page is the old key's."""

    old: ApiKey
    new: ApiKey
    ends_at: datetime
    ends: Any
    used: Any
    of_this: bool


def overlap(key: ApiKey, now: datetime) -> Overlap | None:
    """The overlap that the key is in, as the old or as the new one."""
    new = getattr(key, "rotated_to", None)
    ends_at = overlap_of(key, now=now)
    if new is not None and ends_at is not None:
        used = ago(key.last_used_at, now)
        return Overlap(key, new, ends_at, ago(ends_at, now), used, of_this=True)
    old = key.rotated_from
    ends_at = None if old is None else overlap_of(old, now=now)
    if old is None or ends_at is None:
        return None
    used = ago(old.last_used_at, now)
    return Overlap(old, key, ends_at, ago(ends_at, now), used, of_this=False)


def panel(key: ApiKey, now: datetime) -> dict[str, Any]:
    """Context of admin/key_quota.html, admin/key_overlap.html and admin/refused_calls.html."""
    return {
        "quota": quota_bar(key, now),
        "refusals": refusals_of(key, now),
        "overlap": overlap(key, now),
        "most_refusals": refused_calls.MOST,
        "refusals_kept_days": refused_calls.KEPT_SECONDS // 86_400,
    }
