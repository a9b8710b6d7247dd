"""Can customers call? How many do, how fast they are answered, and what is refused."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.key_formatting import key_badge
from access.counted_calls import FAILED
from access.key_states import KeyState, condition
from access.models import ApiKey
from access.services import usage_reports
from operations.home import figures
from operations.home.cards import Shown
from operations.readings.present import Readings
from operations.services.sampling import PERCENTILES
from staff.formatting import badge, grouped, link, milliseconds, plain

_LISTED = 5
_OUTCOMES = 8
_NOT_KNOWN = "not known yet"


def calls(request: HttpRequest, now: Readings) -> Shown:
    counted = usage_reports.calls_by_status(since=now.at - timedelta(hours=1), now=now.at)
    most = len(counted) if len(counted) <= _OUTCOMES else _OUTCOMES - 1
    rows: list[tuple[Any, Any]] = [("Calls in the last hour", _total(counted))]
    rows += [
        (badge(plain(status), _hue(status), status), grouped(n)) for status, n in counted[:most]
    ]
    if others := counted[most:]:
        label = badge("other", "quiet", ", ".join(status for status, _ in others))
        rows.append((label, _total(others)))
    speed = None if now.calls is None else now.calls.per_second
    return Shown(
        _NOT_KNOWN if speed is None else figures.per_second(speed),
        hint="Over the last minute. By outcome: ok, or the reason of the refusal.",
        rows=rows,
    )


def _total(counted: list[tuple[str, int]]) -> str:
    return grouped(sum(number for _, number in counted))


def _hue(status: str) -> str:
    if status in FAILED:
        return "bad"
    return "good" if status == "ok" else "warning"


def failures(request: HttpRequest, now: Readings) -> Shown:
    found = now.calls
    figure, well = _NOT_KNOWN, ""
    if found is not None and found.per_second is not None:
        share = found.failed_share or 0.0
        figure = f"{figures.percent(100 * share)} fail" if share else "none fail"
        well = "some fail" if share else "answering"
    rows = []
    if found is not None and found.refused_share is not None:
        rows.append(("Refused to callers", figures.percent(100 * found.refused_share)))
    return Shown(
        figure, well, "Calls of the last minute that failed because of the service itself.", rows
    )


def speed(request: HttpRequest, now: Readings) -> Shown:
    found = None if now.calls is None else now.calls.milliseconds
    rows = []
    if found is not None:
        rows = [(name, milliseconds(each)) for name, each in zip(PERCENTILES, found, strict=True)]
    return Shown(
        "no calls now" if found is None else f"{milliseconds(found[1])}",
        hint="p95 of the last minute: in this service, from reading the call to its response.",
        rows=rows,
    )


def expiring(request: HttpRequest, now: Readings) -> Shown:
    soon = ApiKey.objects.filter(condition(KeyState.EXPIRING, now=now.at)).defer("digest")
    keys = list(soon.select_related("customer").order_by("expires_at")[: _LISTED + 1])
    rows: list[tuple[Any, Any]] = [
        (link(_with_customer(key), "access_apikey_change", key.pk), key_badge(key, now.at))
        for key in keys[:_LISTED]
    ]
    if len(keys) > _LISTED:
        rows.append((link("and more", "access_apikey_changelist", state="expiring"), ""))
    return Shown(rows=rows, query="?state=expiring" if rows else "", empty="None.")


def _with_customer(key: ApiKey) -> SafeString:
    """The key's name, with its customer as a hint."""
    return format_html('<span title="{}">{}</span>', key.customer, key)
