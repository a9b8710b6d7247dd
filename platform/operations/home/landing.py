"""Is it landing? Outcomes of submissions, landers, upstreams and tip addresses."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from operations.home import figures
from operations.home.cards import Shown, zero_badge
from operations.readings.landing import WINDOW, UpstreamReading
from operations.readings.present import Readings
from operations.readings.tips import ClassReading, TipsReading
from priority.admin.fates import HUES
from priority.submissions import State
from staff.formatting import badge, grouped, milliseconds, shortened, utc

MINUTES = int(WINDOW.total_seconds()) // 60
# Land rates below are shown as warning and bad, if so many submissions settled.
_GOOD_SHARE, _POOR_SHARE, _ENOUGH = 0.8, 0.5, 10
_MANY_WAITING = 1_000


def rate(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    rows: list[tuple[Any, Any]] = [
        (badge(state, HUES[state]), grouped(found.states[state]))
        for state in State
        if state in found.states
    ]
    state = None
    if found.rate is not None and found.settled >= _ENOUGH:
        state = ("landing", "good", "")
        if found.rate < _GOOD_SHARE:
            state = ("some land", "warning", "")
        if found.rate < _POOR_SHARE:
            state = ("few land", "bad", "")
    return Shown(
        "none settled" if found.rate is None else f"{figures.percent(100 * found.rate)} landed",
        state,
        f"Of {grouped(found.settled)} settled ones; the others are in progress.",
        rows,
        empty="Nothing was submitted.",
    )


def latency(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    rows: list[tuple[Any, Any]] = []
    if found.first_send_milliseconds is not None:
        rows.append(("First attempt sent after", milliseconds(found.first_send_milliseconds)))
    rows += [(f"By {each.name}", _by(each)) for each in found.upstreams if each.sent or each.failed]
    slots = found.slots_to_land
    return Shown(
        "not known yet" if slots is None else f"{slots:.1f} slots",
        None,
        "From acceptance to the block, on average. By upstream: the mean time of an attempt, and"
        " the share landed of what was sent to it.",
        rows,
        empty=f"Nothing was sent in the last {MINUTES} minutes.",
    )


def _by(each: UpstreamReading) -> Any:
    took = "-" if each.milliseconds is None else milliseconds(each.milliseconds)
    landed = ""
    if each.settled:
        landed = f", {figures.percent(100 * each.landed / each.settled)}"
    hint = f"{each.sent:,} sent, {each.refused:,} refused, {each.failed:,} without a response"
    return format_html('<span title="{}">{}{}</span>', hint, took, landed)


def landers(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    rows: list[tuple[Any, Any]] = []
    if found.waiting is not None:
        hue = "good" if found.waiting < _MANY_WAITING else "bad"
        rows.append(("Accepted, not settled yet", badge(grouped(found.waiting), hue)))
    if found.queue is not None:
        hue = "good" if found.queue.age_ms <= found.refused_from_ms else "bad"
        waited = badge(milliseconds(found.queue.age_ms), hue)
        rows.append(("Not sent yet", grouped(found.queue.unsent)))
        rows.append(("The oldest of them waits for", waited))
    for lander in found.landers or []:
        label = badge("alive", "good", lander.last_error)
        rows.append((f"{lander.name}: {grouped(lander.unsettled)} in progress", label))
    broken = [
        each
        for each in found.upstreams
        if each.is_enabled and each.broken_until is not None and each.broken_until > now.at
    ]
    for each in broken:
        until = utc(each.broken_until, seconds=True) if each.broken_until else ""
        label = badge("broken", "bad", f"{each.broken_reason}, until {until}")
        rows.append((f"Upstream {each.name}", label))
    enabled = any(each.is_enabled for each in found.upstreams)
    if not enabled:
        rows.append(("Upstreams", badge("none enabled", "bad")))
    alive = len(found.landers or [])
    state = ("alive", "good", "") if alive else ("missing", "bad", "")
    if alive and (broken or not enabled):
        state = ("an upstream is broken", "warning", "") if enabled else ("no upstream", "bad", "")
    return Shown(
        f"{alive} alive" if alive else "none alive",
        state,
        "They send accepted submissions until these settle."
        if alive
        else "Accepted submissions wait until one runs: manage.py land.",
        rows,
    )


def addresses(request: HttpRequest, now: Readings) -> Shown:
    found = now.tips
    available = sum(each.is_available for each in found.classes)
    rows: list[tuple[Any, Any]] = [
        (f"Class of {each.ttl_seconds:,} s", _class_badge(each)) for each in found.classes
    ]
    if request.user.has_perm("tipping.view_tipentry"):
        rows += _tips(found)
    rows.append(("Expired batches not swept", zero_badge(found.unswept)))
    if found.noted:
        rows.append(("Batches with a sweep note", badge(grouped(found.noted), "warning")))
    state = ("available", "good", "")
    if any(each.is_available and not each.prepared for each in found.classes) or found.unswept:
        state = ("needs attention", "warning", "")
    if available < len(found.classes):
        state = ("unavailable", "bad", f"{len(found.classes) - available} classes")
    return Shown(
        f"{available} of {len(found.classes)} classes",
        state,
        "Classes from which an address can be fetched now.",
        rows,
    )


def _class_badge(each: ClassReading) -> Any:
    if not each.is_available:
        since = each.unavailable_since
        hint = "no batch was opened yet" if since is None else f"since {utc(since)}"
        return badge("unavailable", "bad", hint)
    left = f"{each.left:,} of {each.size:,} left, {each.prepared} more batches prepared"
    if not each.prepared:
        return badge("running dry", "warning", f"no batch is prepared; {left}")
    return badge("available", "good", left)


def _tips(found: TipsReading) -> list[tuple[Any, Any]]:
    link = format_html(
        '<a class="tm-link" href="{}" title="{}">Tips today</a>',
        reverse("admin:tipping_tipentry_changelist"),
        f"{found.tips_today:,} tips to our addresses since 00:00 UTC, in finalized transactions",
    )
    at_least = "at least " if found.today_is_cut else ""
    return [
        (link, f"{at_least}{grouped(found.lamports_today)} lamports"),
        ("Treasury", shortened(str(settings.TREASURY_ADDRESS))),
        ("Sweeps in progress", grouped(found.sweeps)),
    ]
