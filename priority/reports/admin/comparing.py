"""The page that shows keys beside each other, for the admin; its context is the portal's, too."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from access.admin.key_panel import month_of_calls
from access.models import ApiKey
from access.services import monthly_quotas
from access.spans import SPANS, span_or_why
from priority.reports.services.comparing import MEASURES, MOST_KEYS, Comparison, comparison
from staff.charts import Chart, Series
from staff.formatting import ago, grouped
from staff.parsing import id_in
from staff.time_ranges import picker_of

_TITLES = {
    "counted": "Counted calls",
    "refused": "Refused",
    "failed": "Failed",
    "landed": "Landed",
}
_REASONS = 2


def compare_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """Any keys, for staff that may read usage."""
    if not request.user.has_perm("access.view_usageminute"):
        raise PermissionDenied
    moved = redirected(request)
    if moved is not None:
        return moved
    keys = chosen(request, ApiKey.objects.select_related("customer", "tier").defer("digest"))
    context = {
        "title": "Compare keys",
        **compared(request, keys, lambda key: reverse("admin:access_apikey_change", args=[key.pk])),
    }
    page: HttpResponse = admin.page(request, "admin/priority/compare.html", context)
    return page


def redirected(request: HttpRequest) -> HttpResponse | None:
    """A form's `key=1&key=2` → the address `keys=1,2`, which links to other spans keep."""
    ticked = request.GET.getlist("key")
    if not ticked:
        return None
    kept = {name: value for name, value in request.GET.dict().items() if name != "key"}
    query = urlencode({**kept, "keys": ",".join(ticked[: 2 * MOST_KEYS])}, safe=",")
    return HttpResponseRedirect(f"{request.path}?{query}")


def chosen(request: HttpRequest, keys: Any) -> list[ApiKey]:
    """The keys that the URL names and that are among `keys`, in the URL's order."""
    named = [id_in(part) for part in request.GET.get("keys", "").split(",")[: 2 * MOST_KEYS]]
    wanted = list(dict.fromkeys(number for number in named if number is not None))
    found = keys.filter(pk__in=wanted).in_bulk()
    return [found[number] for number in wanted if number in found][:MOST_KEYS]


def compared(
    request: HttpRequest, keys: Sequence[ApiKey], page_of: Callable[[ApiKey], str]
) -> dict[str, Any]:
    """Context of admin/compare_keys.html."""
    now = timezone.now()
    span, error = span_or_why(request.GET.dict(), now=now)
    measure = request.GET.get("measure", "")
    measure = measure if measure in MEASURES else MEASURES[0]
    found = comparison(keys, span, measure=measure, now=now)
    query = {name: value for name, value in request.GET.dict().items() if name != "compare"}
    months = {each.key_id: each for each in monthly_quotas.usages_of(_listed(keys), now)}
    return {
        "keys": keys,
        "chart": _chart(found, measure),
        "span": span,
        "measures": [
            (_TITLES[name], "?" + urlencode({**query, "measure": name}), name == measure)
            for name in MEASURES
        ],
        "rows": [
            {
                "swatch": f"k{number}",
                "figures": each,
                "page": page_of(each.key),
                "counted": grouped(each.counts.counted),
                "refused": grouped(each.counts.refused),
                "failed": grouped(each.counts.failed),
                "share": _percent(
                    each.counts.not_answered / each.counts.calls if each.counts.calls else None
                ),
                "reasons": [
                    (reason, grouped(count)) for reason, count in each.reasons.most_common(_REASONS)
                ],
                "landed": grouped(each.landed),
                "land_rate": _percent(each.land_rate),
                "month": month_of_calls(months[each.key.pk]) if each.key.pk in months else "-",
                "used": ago(each.key.last_used_at, now),
            }
            for number, each in enumerate(found.keys)
        ],
        "most_keys": MOST_KEYS,
        "picker": picker_of(
            query,
            [(each.name, each.label) for each in SPANS],
            chosen=span.name,
            bounds=span.bounds(now),
            error=error,
        ),
    }


def _listed(keys: Sequence[ApiKey]) -> Any:
    return ApiKey.objects.filter(pk__in=[key.pk for key in keys])


def _chart(found: Comparison, measure: str) -> Chart:
    series = [
        Series(f"k{number}", _label(each.key, found), each.values, (), grouped(sum(each.values)))
        for number, each in enumerate(found.keys)
    ]
    return Chart(_TITLES[measure], found.starts, found.step, series, stacked=False, ranged=True)


def _label(key: ApiKey, found: Comparison) -> str:
    """The name, with the characters of the key where two have the same."""
    names = [each.key.name for each in found.keys]
    short = key.name if len(key.name) <= 40 else f"{key.name[:39]}…"
    return short if names.count(key.name) == 1 else f"{short} …{key.last_four}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
