"""The public status page, for people, programs and feed readers; 404 unless STATUS_PAGE is on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from config.pages.content_policy import ContentPolicyMiddleware
from operations.status.history import DAYS, Day
from operations.status.incidents import Incident
from operations.status.present import (
    DEGRADED,
    KEPT_SECONDS,
    OPERATIONAL,
    OUTAGE,
    UNKNOWN,
    Light,
    status,
)
from reference.framing import limited
from staff.formatting import duration

_SHOWN = 50
_WORDS = {
    OPERATIONAL: ("Operational", "good", "All systems are operational."),
    DEGRADED: ("Degraded", "warning", "Some parts are degraded."),
    OUTAGE: ("Outage", "bad", "There is an outage."),
    UNKNOWN: ("Unknown", "quiet", "The current state is not known."),
}
# Of a bar, in the picture's units. Any time that is not operational is seen.
_WIDTH, _HEIGHT, _LEAST = 8, 32, 3


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a day's bar, from the bottom."""

    hue: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A day in the picture, and in words."""

    x: int
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Row:
    """A light on the page. `percent` is empty if nothing was measured; `noted` are the days that
    were not all operational, the newest first.
    """

    light: Light
    word: str
    hue: str
    percent: str
    about: str
    bars: Sequence[Bar]
    noted: Sequence[str]


def _public(view: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """404 while the page is off, 429 for an address that reads too often; else kept for a while."""

    read = limited(view)

    @require_safe
    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponseBase:
        if not settings.STATUS_PAGE:
            raise Http404
        response = read(request)
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return response
        response["Cache-Control"] = f"public, max-age={KEPT_SECONDS:.0f}"
        return response

    return wrapped


@ContentPolicyMiddleware
@_public
def status_page(request: HttpRequest) -> HttpResponse:
    found = status()
    word, hue, text = _WORDS[found.state]
    context = {
        "word": word,
        "hue": hue,
        "text": text,
        "at": found.at,
        "rows": [_row(light) for light in found.lights],
        "days": DAYS,
        "width": DAYS * _WIDTH,
        "height": _HEIGHT,
        "incidents": [_shown(each, found.at) for each in found.incidents[:_SHOWN]],
        "more": max(0, len(found.incidents) - _SHOWN),
    }
    return render(request, "status.html", context)


@_public
def status_json(request: HttpRequest) -> JsonResponse:
    found = status()
    answer = {
        "state": found.state,
        "at": _iso(found.at),
        "lights": [_light_json(light) for light in found.lights],
        "incidents": [
            {
                "id": each.number,
                "lights": list(each.lights),
                "state": _state_of(each),
                "text": each.text,
                "beganAt": _iso(each.began_at),
                "endedAt": None if each.ended_at is None else _iso(each.ended_at),
            }
            for each in found.incidents
        ],
    }
    return JsonResponse(answer, headers={"Access-Control-Allow-Origin": "*"})


@_public
def status_feed(request: HttpRequest) -> HttpResponse:
    return IncidentFeed()(request)


class IncidentFeed(Feed):  # type: ignore[type-arg]
    """Incidents as Atom. An entry is updated when its incident ends."""

    feed_type = Atom1Feed
    title = "Tidemark status"
    subtitle = "Incidents of this service."

    def link(self) -> str:
        return reverse("status")

    def feed_url(self) -> str:
        return reverse("status_feed")

    def items(self) -> list[Incident]:
        return [each for each in status().incidents if each.number is not None][:_SHOWN]

    def item_title(self, item: Incident) -> str:
        word = _WORDS[_state_of(item)][0]
        return f"{word}: {item.text}" if item.ended_at is None else f"Resolved: {item.text}"

    def item_description(self, item: Incident) -> str:
        if item.ended_at is None:
            return item.text
        return f"{item.text} It lasted {duration(item.ended_at - item.began_at)}."

    def item_link(self, item: Incident) -> str:
        return f"{reverse('status')}#incident-{item.number}"

    def item_pubdate(self, item: Incident) -> datetime:
        return item.began_at

    def item_updateddate(self, item: Incident) -> datetime:
        return item.ended_at or item.began_at


def _light_json(light: Light) -> dict[str, Any]:
    percent = light.percent
    return {
        "name": light.area,
        "title": light.title,
        "state": light.state,
        "text": light.text,
        "availablePercent": None if percent is None else round(percent, 4),
        "days": [
            {
                "day": each.day.isoformat(),
                "measuredSeconds": round(each.measured),
                "outageSeconds": round(each.outage),
                "degradedSeconds": round(each.degraded),
            }
            for each in light.days
        ],
    }


def _row(light: Light) -> Row:
    word, hue, _ = _WORDS[light.state]
    share = "" if light.percent is None else _percent(light.percent)
    noted = [_in_words(each) for each in reversed(light.days) if each.outage or each.degraded]
    measured = sum(bool(each.measured) for each in light.days)
    about = f"{light.title}, the last {len(light.days)} days: {measured} measured"
    about += f", {len(noted)} with an outage or degraded" if noted else ", all operational"
    if share:
        about += f"; {share} of the measured time without an outage"
    bars = [_bar(number, each) for number, each in enumerate(light.days)]
    return Row(light, word, hue, share, f"{about}.", bars, noted)


def _percent(share: float) -> str:
    """100% is said of time without any outage alone."""
    return "100%" if share == 100 else f"{min(share, 99.99):.2f}%"


def _bar(number: int, day: Day) -> Bar:
    """From the bottom: outage, degraded, operational; what was not measured is left empty."""
    seconds = {"bad": day.outage, "warning": day.degraded, "good": day.operational}
    heights = {
        hue: max(_LEAST if hue != "good" else 0, _HEIGHT * each / day.length)
        for hue, each in seconds.items()
        if each > 0
    }
    over = max(0.0, sum(heights.values()) - _HEIGHT)
    parts, above = [], float(_HEIGHT)
    for hue, height in heights.items():
        height -= over if hue == max(heights, key=lambda each: heights[each]) else 0
        above -= height
        parts.append(Part(hue, round(above, 2), round(height, 2)))
    return Bar(number * _WIDTH, _in_words(day), parts)


def _in_words(day: Day) -> str:
    if not day.measured:
        return f"{day.day}: not measured"
    parts = [
        f"{duration(timedelta(seconds=seconds))} {what}"
        for seconds, what in ((day.outage, "outage"), (day.degraded, "degraded"))
        if seconds
    ]
    return f"{day.day}: {', '.join(parts) or 'operational'}"


def _shown(incident: Incident, now: datetime) -> dict[str, Any]:
    word, hue, _ = _WORDS[_state_of(incident)]
    lasted = duration((incident.ended_at or now) - incident.began_at)
    return {"incident": incident, "word": word, "hue": hue, "lasted": lasted}


def _state_of(incident: Incident) -> str:
    return OUTAGE if incident.is_outage else DEGRADED


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
