"""Queries on upstreams and their circuit breakers."""

from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from columns.queries import all_rows
from priority.models import Submission
from priority.upstreams.models import BreakerOpening, Upstream

# Openings of one upstream that are kept.
_OPENINGS = 50


class UpstreamRow(NamedTuple):
    """An enabled upstream; `tiers` empty: it serves all. `draining_since`: what was accepted from
    then on does not go there.
    """

    id: int
    name: str
    kind: str
    url: str
    tiers: frozenset[str]
    weight: int
    own_tip_lamports: int
    timeout_ms: int
    broken_until: datetime | None
    draining_since: datetime | None = None


def enabled_upstreams() -> list[UpstreamRow]:
    """By name; a lander reads them every other second, so in one statement."""
    rows = all_rows(
        "SELECT id, name, kind, url, ARRAY(SELECT tier.name::text"
        " FROM priority_upstream_tiers AS serves"
        " JOIN access_tier AS tier ON tier.id = serves.tier_id"
        " WHERE serves.upstream_id = upstream.id), weight, own_tip_lamports, timeout_ms,"
        " broken_until, draining_since"
        " FROM priority_upstream AS upstream WHERE is_enabled ORDER BY name"
    )
    return [
        UpstreamRow(key, name, kind, url.strip(), frozenset(tiers), *rest)
        for key, name, kind, url, tiers, *rest in rows
    ]


def kinds_by_name() -> dict[str, str]:
    """The kind of every upstream."""
    return dict(Upstream.objects.values_list("name", "kind"))


def mark_broken(upstream_id: int, *, until: datetime | None, reason: str, now: datetime) -> None:
    """The circuit breaker's state, for people: open until then, or closed; and its history."""
    Upstream.objects.filter(pk=upstream_id).update(broken_until=until, broken_reason=reason[:300])
    if until is None:
        close_opening([upstream_id], by="a try", now=now)
        return
    again = {"times": F("times") + 1, "reason": reason[:300]}
    if BreakerOpening.objects.filter(upstream=upstream_id, closed_at__isnull=True).update(**again):
        return
    try:
        with transaction.atomic():
            BreakerOpening.objects.create(
                upstream_id=upstream_id, opened_at=now, reason=reason[:300]
            )
    except IntegrityError:
        return  # another lander was first, or the upstream was just deleted
    kept = openings(upstream_id).values_list("pk", flat=True)[:_OPENINGS]
    BreakerOpening.objects.filter(upstream=upstream_id).exclude(pk__in=list(kept)).delete()


def close_opening(upstream_ids: list[int], *, by: str, now: datetime) -> None:
    """Whose breakers are open no more, and by what: a successful attempt, or staff."""
    still = BreakerOpening.objects.filter(upstream__in=upstream_ids, closed_at__isnull=True)
    still.update(closed_at=now, closed_by=by[:20])


def openings(upstream_id: int) -> QuerySet[BreakerOpening]:
    """The times in which its breaker was open, the newest first."""
    return BreakerOpening.objects.filter(upstream=upstream_id).order_by("-pk")


def unsettled_since_before(moment: datetime, *, most: int) -> int:
    """How many submissions of before then have no fate yet, counted up to so many."""
    waiting = Submission.objects.filter(settled_at__isnull=True, accepted_at__lt=moment, stopped="")
    return waiting.order_by()[:most].count()


def is_taken(name: str, *, but: int | None) -> bool:
    """Whether another upstream has the name, in either case."""
    others = Upstream.objects.all() if but is None else Upstream.objects.exclude(pk=but)
    return others.filter(name__iexact=name).exists()


def locked(upstream_id: int) -> Upstream | None:
    """The row, kept as it is until the transaction ends."""
    return Upstream.objects.select_for_update().filter(pk=upstream_id).first()
