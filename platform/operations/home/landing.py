"""Is it landing? Outcomes of submissions, landers, upstreams and tip addresses."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from operations.home import figures
from operations.home.cards import Shown, zero_badge
from operations.readings.landing import WINDOW, Triple, UpstreamReading
from operations.readings.present import Readings
from operations.readings.tips import ClassReading, TipsReading
from priority.fates.admin.fates import HUES
from priority.submissions import State
from staff.formatting import (
    badge,
    counted,
    grouped,
    in_units,
    milliseconds,
    shortened,
    sol,
    utc,
)

_TIPS = '{}{} lamports <span class="tm-sol">{}</span>'
MINUTES = int(WINDOW.total_seconds()) // 60
# Where the share that landed is defined.
MEANING = "/docs/landing/#what-landed-means"


def rate(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    rows: list[tuple[Any, Any]] = [
        (badge(state, HUES[state]), grouped(found.states[state]))
        for state in State
        if state in found.states
    ]
    return Shown(
        "none settled" if found.rate is None else f"{figures.percent(100 * found.rate)} landed",
        "landing" if found.rate is not None else "",
        f"In a block without an error, of {grouped(found.settled)} that settled.",
        rows,
        empty="Nothing was submitted.",
        meaning=MEANING,
    )


def latency(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    rows: list[tuple[Any, Any]] = []
    if found.first_send is not None:
        rows.append(("First attempt sent after", spread(found.first_send, milliseconds)))
    rows += [(f"By {each.name}", _by(each)) for each in found.upstreams if each.sent or each.failed]
    return Shown(
        "not known yet" if found.slots is None else spread(found.slots, figures.count, " slots"),
        hint="p50, p95 and p99: from acceptance to the block. By upstream: of an attempt's time,"
        " and the share landed of what was sent to it.",
        rows=rows,
        empty=f"Nothing was sent in the last {MINUTES} minutes.",
    )


def spread(values: Triple, write: Callable[[float], str], unit: str = "") -> SafeString | str:
    """p50, p95 and p99 beside each other, and the unit that they have in common."""
    if values is None:
        return "-"
    p50, p95, p99 = map(write, values)
    title = f"p50 {p50}, p95 {p95}, p99 {p99}"
    return format_html(
        '<span class="tm-triple" title="{}">{} · {} · {}{}</span>', title, p50, p95, p99, unit
    )


def _by(each: UpstreamReading) -> Any:
    landed = ""
    if each.settled:
        landed = f", {figures.percent(100 * each.landed / each.settled)}"
    hint = f"{each.sent:,} sent, {each.refused:,} refused, {each.failed:,} without a response"
    times = spread(each.milliseconds, milliseconds)
    return format_html('<span title="{}">{}{}</span>', hint, times, landed)


def landers(request: HttpRequest, now: Readings) -> Shown:
    found = now.landing
    trouble = next((each.trouble for each in now.processes or () if each.kind == "lander"), "")
    rows: list[tuple[Any, Any]] = []
    if found.waiting is not None:
        hue = "bad" if trouble else "good"
        rows.append(("Accepted, not settled yet", badge(grouped(found.waiting), hue)))
    if found.queue is not None:
        hue = "good" if found.queue.age_ms <= found.refused_from_ms else "bad"
        waited = badge(milliseconds(found.queue.age_ms), hue)
        rows.append(("Not sent yet", grouped(found.queue.unsent)))
        rows.append(("The oldest of them waits for", waited))
    for lander in found.landers or []:
        label = badge(trouble or "alive", "bad" if trouble else "good", lander.last_error)
        rows.append((f"{lander.name}: {grouped(lander.unsettled)} in progress", label))
    for each in found.upstreams:
        if each.is_enabled and each.broken_until is not None and each.broken_until > now.at:
            until = utc(each.broken_until, seconds=True)
            label = badge("broken", "warning", f"{each.broken_reason}, until {until}")
            rows.append((f"Upstream {each.name}", label))
    if not any(each.is_enabled for each in found.upstreams):
        rows.append(("Upstreams", badge("none enabled", "bad")))
    alive = 0 if trouble else len(found.landers or [])
    return Shown(
        f"{alive} alive" if alive else "none alive",
        "alive" if alive else "",
        "They send accepted submissions until these settle."
        if alive
        else "Accepted submissions wait until one runs.",
        rows,
    )


def addresses(request: HttpRequest, now: Readings) -> Shown:
    found = now.tips
    available = sum(each.is_available for each in found.classes)
    rows: list[tuple[Any, Any]] = [
        (f"Class of {in_units(each.ttl_seconds)}", _class_badge(each)) for each in found.classes
    ]
    if request.user.has_perm("tipping.view_tipentry"):
        rows += _tips(found)
    rows.append(("Expired batches not swept", zero_badge(found.unswept)))
    if found.noted:
        rows.append(("Batches with a sweep note", badge(grouped(found.noted), "warning")))
    return Shown(
        f"{available} of {counted(len(found.classes), 'class', 'classes')}",
        "available" if found.classes else "",
        "Classes from which an address can be fetched now.",
        rows,
    )


def _class_badge(each: ClassReading) -> Any:
    if not each.is_available:
        since = each.unavailable_since
        hint = "no batch was opened yet" if since is None else f"since {utc(since)}"
        return badge("unavailable", "bad", hint)
    more = counted(each.prepared, "more batch", "more batches")
    left = f"{each.left:,} of {each.size:,} left, {more} prepared"
    if not each.prepared:
        return badge("running dry", "warning", f"no batch is prepared; {left}")
    return badge("available", "good", left)


def _tips(found: TipsReading) -> list[tuple[Any, Any]]:
    link = format_html(
        '<a class="tm-link" href="{}" title="{}">Tips today</a>',
        reverse("admin:tipping_tipentry_changelist"),
        f"{counted(found.tips_today, 'tip')} to our addresses since 00:00 UTC, in finalized"
        " transactions",
    )
    in_sol = sol(found.lamports_today)
    at_least = "at least " if found.today_is_cut else ""
    return [
        (link, format_html(_TIPS, at_least, grouped(found.lamports_today), in_sol)),
        ("Treasury", shortened(str(settings.TREASURY_ADDRESS))),
        ("Sweeps in progress", grouped(found.sweeps)),
    ]
