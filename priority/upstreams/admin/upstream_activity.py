"""Recent activity of one upstream, and the history of its circuit breaker."""

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse

from access.spans import Span
from priority.models import Attempt
from priority.reports.services.landing import UpstreamFigures, all_figures
from priority.reports.services.landing_spans import SPANS
from priority.upstreams.models import Upstream
from priority.upstreams.store import openings

_OPENINGS_SHOWN = 20
# The last failed attempt is looked for among these newest ones.
_NEWEST_ATTEMPTS = 20_000


def upstream_activity(upstream: Upstream, *, now: datetime) -> dict[str, Any]:
    """For admin/priority/upstream/activity.html."""
    return {
        "activity": [_figures(upstream, span, now) for span in SPANS[:3]],
        "last_error": _last_error(upstream, now),
        "openings": openings(upstream.pk)[:_OPENINGS_SHOWN],
        "landing_link": f"{reverse('admin:priority_landing')}?upstream={upstream.name}",
    }


def _figures(upstream: Upstream, span: Span, now: datetime) -> tuple[str, UpstreamFigures | None]:
    found = all_figures(now=now, span=span)
    return span.label, next((each for each in found if each.name == upstream.name), None)


def _last_error(upstream: Upstream, now: datetime) -> Attempt | None:
    newest = Attempt.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    attempts = Attempt.objects.filter(pk__gt=newest - _NEWEST_ATTEMPTS, upstream=upstream.name)
    bad = attempts.exclude(outcome=Attempt.Outcome.SENT).order_by("-pk").first()
    return None if bad is None or bad.started_at < now - timedelta(days=30) else bad
