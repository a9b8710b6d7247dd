"""The home page's cards on tipping and landing."""

from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db.models import Count, Max
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from access.admin import words
from access.redis_client import client
from priority.admin.fates import HUES
from priority.admin.upstreams import breaker_word
from priority.models import Submission, Upstream
from priority.services.landing.names import landers
from priority.submissions import ACCEPTED_STREAM, State
from tipping.admin.ladder import class_word
from tipping.models import TipBatch, TipSweep
from tipping.services import batches
from tipping.store.days import days_of_tips

# Looked at for the last hour's states: of more than these an hour may hold, the newest.
_NEWEST = 200_000
# Entries that wait longer than moments mean that no lander keeps up.
_MANY_WAITING = 1_000


def landing_cards(request: HttpRequest) -> list[dict[str, Any]]:
    """Those that the user may see."""
    may = request.user.has_perm
    cards = (
        (_submissions, "priority.view_submission"),
        (_landers, "priority.view_upstream"),
        (_addresses, "tipping.view_ttlclass"),
        (_tips, "tipping.view_tipentry"),
    )
    return [card() for card, permission in cards if may(permission)]


def _submissions() -> dict[str, Any]:
    newest = Submission.objects.aggregate(newest=Max("pk"))["newest"] or 0
    rows = Submission.objects.filter(
        pk__gt=newest - _NEWEST, accepted_at__gte=timezone.now() - timedelta(hours=1)
    )
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    total = sum(counts.values())
    most = "at least " if total >= _NEWEST else ""
    return {
        "title": "Submissions in the last hour",
        "link": reverse("admin:priority_submission_changelist"),
        "link_text": "Submissions",
        "figure": most + words.grouped(total),
        "hint": "By how far they have come; what a lander has not read yet is not counted.",
        "rows": [
            (words.coloured(state, HUES[state]), words.grouped(counts[state]))
            for state in State
            if state in counts
        ],
    }


def _landers() -> dict[str, Any]:
    try:
        alive = landers()
        waiting: int | None = int(client().xlen(ACCEPTED_STREAM))
    except redis.RedisError:
        alive, waiting = {}, None
    rows: list[tuple[Any, Any]] = []
    if waiting is not None:
        hue = "good" if waiting < _MANY_WAITING else "bad"
        rows.append(("Accepted, not done yet", words.coloured(words.grouped(waiting), hue)))
    for name, state in alive.items():
        word = words.coloured("alive", "good", str(state.get("lastError") or ""))
        rows.append((f"{name}: {words.grouped(state.get('inFlight', 0))} in flight", word))
    now = timezone.now()
    for upstream in Upstream.objects.filter(is_enabled=True, broken_until__isnull=False):
        rows.append((f"Upstream {upstream.name}", breaker_word(upstream, now)))
    if not Upstream.objects.filter(is_enabled=True).exists():
        rows.append(("Upstreams", words.coloured("none enabled", "bad")))
    return {
        "title": "Landers",
        "link": reverse("admin:priority_upstream_changelist"),
        "link_text": "Upstreams",
        "figure": f"{len(alive)} alive" if alive else "none alive",
        "hint": "They send what was accepted until its fate is known."
        if alive
        else "What is accepted waits until one runs: manage.py land.",
        "rows": rows,
    }


def _addresses() -> dict[str, Any]:
    states = batches.overview()
    available = sum(state.is_available for state in states)
    waiting = TipBatch.objects.filter(
        state=TipBatch.State.CLOSED,
        swept_at__isnull=True,
        expires_at__lte=timezone.now() - timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS + 60),
    ).count()
    noted = TipBatch.objects.filter(swept_at__isnull=True).exclude(sweep_note="").count()
    rows: list[tuple[Any, Any]] = [
        (f"Class of {state.ttl_class.ttl_seconds:,} s", class_word(state)) for state in states
    ]
    rows.append(
        ("Expired batches not swept", words.coloured(words.grouped(waiting), _if_any(waiting)))
    )
    if noted:
        rows.append(("Batches with a note", words.coloured(words.grouped(noted), "warning")))
    return {
        "title": "Tip addresses",
        "link": reverse("admin:tipping_ttlclass_changelist"),
        "link_text": "TTL classes",
        "figure": f"{available} of {len(states)} classes",
        "hint": "Classes of which an address can be fetched now.",
        "rows": rows,
    }


def _tips() -> dict[str, Any]:
    days, _ = days_of_tips(days=1)
    today = days[0] if days and days[0].day == timezone.now().date() else None
    received = 0 if today is None else today.static + sum(today.by_class.values())
    planned = TipSweep.objects.filter(state=TipSweep.State.PLANNED).count()
    return {
        "title": "Tips today",
        "link": reverse("admin:tipping_tipentry_changelist"),
        "link_text": "Tip ledger",
        "figure": f"{words.grouped(received)} lamports",
        "hint": "What finalized transactions brought to our addresses since 00:00 UTC.",
        "rows": [
            ("Tips", words.grouped(0 if today is None else today.tips)),
            ("Swept to the treasury", words.grouped(0 if today is None else today.swept)),
            ("Sweeps under way", words.grouped(planned)),
            ("Treasury", words.short(str(settings.TREASURY_ADDRESS))),
        ],
    }


def _if_any(count: int) -> str:
    return "warning" if count else "good"
