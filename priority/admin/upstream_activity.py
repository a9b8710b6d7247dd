"""Recent activity of one upstream, and the history of its circuit breaker."""

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse

from priority.admin.landing import percent
from priority.models import Attempt, Upstream
from priority.reports.landing import SPANS, all_figures
from priority.store.upstreams import openings
from staff.formatting import ago, duration, grouped, milliseconds

_OPENINGS_SHOWN = 20
# The last failed attempt is looked for among these newest ones.
_NEWEST_ATTEMPTS = 20_000


def upstream_activity(upstream: Upstream, *, now: datetime) -> dict[str, Any]:
    """For admin/priority/upstream/activity.html."""
    return {
        "activity": [_figures(upstream, span, now) for span in SPANS[:3]],
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
        return {"label": span.label, "attempts": ""}
    attempts = sum(found.tries.values())
    return {
        "label": span.label,
        "attempts": grouped(attempts),
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
    attempts = Attempt.objects.filter(pk__gt=newest - _NEWEST_ATTEMPTS, upstream=upstream.name)
    bad = attempts.exclude(outcome=Attempt.Outcome.SENT).order_by("-pk").first()
    if bad is None or bad.started_at < now - timedelta(days=30):
        return None
    return {
        "at": ago(bad.started_at, now),
        "outcome": bad.outcome,
        "answer": bad.answer or "no response",
        "target": bad.target,
        "link": reverse("admin:priority_submission_change", args=[bad.submission_id]),
    }
