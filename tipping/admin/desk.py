"""The page TTL classes: each class, rotations, sums, the treasury."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from staff.formatting import (
    ago,
    badge,
    duration,
    in_units,
    timed,
    utc,
)
from tipping.models import TipBatch
from tipping.services import desk
from tipping.services.batches import ClassState
from tipping.services.desk import ClassRow, TreasuryState

# A batch whose window ended is rotated within this time while the worker runs.
_ROTATION = timedelta(seconds=5)


def desk_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """The whole page; actions only for users who may change batches."""
    if not admin.has_view_permission(request):
        raise PermissionDenied
    now = timezone.now()
    may_see_ledger = request.user.has_perm("tipping.view_tipentry")
    found = desk.desk(treasury=settings.TREASURY_ADDRESS, static=settings.TIP_ADDRESSES, now=now)
    context = {
        "title": "TTL classes",
        "has_add_permission": admin.has_add_permission(request),
        "may_act": may_act(request),
        "classes": [_class(each, now) for each in found.classes],
        "strips": [strip for each in found.classes if (strip := _strip(each, now))],
        "sums": found.sums,
        "treasury": found.treasury if may_see_ledger else None,
        "why": _why(found.treasury),
        "named": found.named,
        "sweep_after": duration(timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS)),
    }
    page: HttpResponse = admin.page(request, "admin/tipping/ttlclass/desk.html", context)
    return page


def may_act(request: HttpRequest) -> bool:
    """May the user rotate, prepare and sweep?"""
    return request.user.has_perm("tipping.change_tipbatch")


def class_badge(state: ClassState | None) -> SafeString:
    """Whether addresses of the class can be fetched."""
    if state is None or not state.is_available:
        since = None if state is None else state.unavailable_since
        hint = "no batch was opened yet" if since is None else f"since {utc(since)}"
        return badge("unavailable", "bad", hint)
    if state.is_nearly_dry:
        hint = "no batch is prepared" if not state.prepared else "few addresses are left"
        return badge("running dry", "warning", hint)
    return badge("available", "good")


def _class(row: ClassRow, now: datetime) -> dict[str, Any]:
    batch, ttl_class = row.state.batch, row.state.ttl_class
    return {
        "row": row,
        "batch": batch,
        "ttl_class": ttl_class,
        "name": in_units(ttl_class.ttl_seconds),
        "window": duration(timedelta(seconds=ttl_class.window_seconds)),
        "badge": class_badge(row.state),
        "overdue": _overdue(batch, now),
        "dry": _dry(row, now),
    }


def _overdue(batch: TipBatch | None, now: datetime) -> SafeString | str:
    """Since when the batch should have rotated; empty within the time that a rotation takes."""
    ended = None if batch is None else batch.window_ends_at
    if ended is None or now - ended < _ROTATION:
        return ""
    hint = "The worker rotates it within a second, or the next fetch does: see if the worker runs."
    return badge(timed(f"overdue since {utc(ended, seconds=True)}"), "bad", hint)


def _dry(row: ClassRow, now: datetime) -> SafeString | str:
    if not row.state.is_available:
        return badge("nothing to issue", "bad")
    if row.dry_at is None:
        return "not before it rotates"
    hue = "warning" if row.state.prepared else "bad"
    behind = "the next batch opens then" if row.state.prepared else "no batch is prepared"
    return badge(f"in {duration(row.dry_at - now)}", hue, behind)


def _strip(row: ClassRow, now: datetime) -> dict[str, Any] | None:
    """The newest batches on a timeline from the first one's opening until now."""
    shown = [(batch, issued) for batch, issued in row.batches if batch.opened_at is not None]
    if not shown:
        return None
    start = shown[0][0].opened_at
    assert start is not None
    length = max((now - start).total_seconds(), 1.0)
    cells = []
    for number, (batch, issued) in enumerate(shown):
        opened = batch.opened_at or now
        closed = min(batch.closed_at or now, now)
        is_open = batch.state == TipBatch.State.OPEN
        ended = "is open" if is_open else f"closed {utc(closed, seconds=True)}"
        width = max(1_000 * (closed - opened).total_seconds() / length, 2)
        cells.append(
            {
                "x": round(1_000 * (opened - start).total_seconds() / length, 1),
                "width": round(max(width - 1.5, 1), 1),
                "height": round(max(100 * issued / batch.size, 4), 1) if batch.size else 4,
                "shade": number % 2,
                "title": f"batch {batch.number}: opened {utc(opened, seconds=True)}, {ended};"
                f" {issued:,} of {batch.size:,} issued",
                "link": reverse("admin:tipping_tipbatch_change", args=[batch.pk]),
            }
        )
    return {
        "name": in_units(row.state.ttl_class.ttl_seconds),
        "cells": cells,
        "count": len(cells),
        "from": ago(start, now),
    }


def _why(each: TreasuryState) -> str:
    if not each.difference:
        return ""
    if each.difference > 0:
        return (
            "The balance on chain is higher: it is older than the ledger, or from blocks not"
            " stored yet."
        )
    return (
        "The balance by the ledger is higher: payments are in blocks that are not stored yet, or"
        " in a gap of the ledger."
    )
