"""What one upstream did lately, and when its circuit breaker was open."""

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse

from priority.admin.landing import percent
from priority.models import Attempt, Upstream
from priority.services.landing_report import SPANS, all_figures
from priority.store.upstreams import openings
from staff.formatting import ago, duration, grouped, milliseconds

_OPENINGS_SHOWN = 20
# Of these newest tries the last one that failed is looked for.
_NEWEST_TRIES = 20_000


def upstream_lately(upstream: Upstream, *, now: datetime) -> dict[str, Any]:
    """For admin/priority/upstream/activity.html."""
    return {
        "lately": [_figures(upstream, span, now) for span in SPANS[:3]],
        "last_error": _last_error(upstream, now),
        "openings": [
            {
                "opened": ago(each.opened_at, now),
                "length": duration((each.closed_at or now) - each.opened_at),
                "is_open": each.closed_at is None,
                "by": each.closed_by,
                "times": each.times,
                "reason": each.reason,
            }
            for each in openings(upstream.pk)[:_OPENINGS_SHOWN]
        ],
        "landing_link": f"{reverse('admin:priority_landing')}?upstream={upstream.name}",
    }


def _figures(upstream: Upstream, span: Any, now: datetime) -> dict[str, Any]:
    found = next(
        (each for each in all_figures(now=now, span=span) if each.name == upstream.name), None
    )
    if found is None:
        return {"label": span.label, "tries": ""}
    tries = sum(found.tries.values())
    return {
        "label": span.label,
        "tries": grouped(tries),
        "took": grouped(sum(found.took.values())),
        "first": grouped(found.first),
        "rate": percent(found.rate),
        "refused": grouped(found.tries["refused"]),
        "failed": grouped(found.tries["failed"]),
        "byte": "-" if found.byte is None else milliseconds(found.byte.p50 / 1e3),
        "answer": "-"
        if found.answer is None
        else f"{milliseconds(found.answer.p50 / 1e3)}, {milliseconds(found.answer.p90 / 1e3)}",
    }


def _last_error(upstream: Upstream, now: datetime) -> dict[str, Any] | None:
    newest = Attempt.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    tries = Attempt.objects.filter(pk__gt=newest - _NEWEST_TRIES, upstream=upstream.name)
    bad = tries.exclude(outcome=Attempt.Outcome.SENT).order_by("-pk").first()
    if bad is None or bad.started_at < now - timedelta(days=30):
        return None
    return {
        "at": ago(bad.started_at, now),
        "outcome": bad.outcome,
        "answer": bad.answer or "no answer",
        "target": bad.target,
        "link": reverse("admin:priority_submission_change", args=[bad.submission_id]),
    }
