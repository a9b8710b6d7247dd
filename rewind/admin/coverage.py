"""The page of coverage: what the archive holds, and what it lacks and why."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from access.admin import words
from access.admin.read_only import ReadOnlyAdmin
from historical.admin.gaps import event_in_words, in_words
from rewind.models import SlotTally
from rewind.services import filters, overview

# Of the height 100 of the strip: a single lacking slot among thousands is still to be seen.
_LEAST_HEIGHT = 8


@admin.register(SlotTally)
class CoverageAdmin(ReadOnlyAdmin):
    """Counts are kept by the writer; they are shown as one page alone."""

    def change_view(self, *_args: Any, **_kwargs: Any) -> HttpResponse:
        raise PermissionDenied

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = overview.archive_overview()
        context = {
            **self.admin_site.each_context(request),
            "title": "Coverage",
            "archive": None if found is None else _shown(found),
            "filtered_owners": filters.filtered_owners(),
            "filtered_accounts": filters.filtered_pubkeys(),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/rewind/slottally/coverage.html", context)


def _shown(found: overview.ArchiveOverview) -> dict[str, Any]:
    now = timezone.now()
    lacking = found.missing + found.unknown
    fine = found.archived - found.coarse
    return {
        "range": f"{found.first_slot} to {found.last_slot}",
        "slots": words.grouped(found.last_slot - found.first_slot + 1),
        "archived": words.grouped(found.archived),
        "skipped": words.grouped(found.skipped),
        "missing": words.grouped(found.missing),
        "unknown": words.grouped(found.unknown),
        "lacking": words.grouped(lacking) if lacking else "",
        "percent": percent_of(found.gap_percent),
        "every_write": f"{words.grouped(fine)} ({percent_of(100 * fine / max(1, found.archived))})",
        "coarse": words.grouped(found.coarse) if found.coarse else "",
        "causes": [(in_words(cause), words.grouped(slots)) for cause, slots in found.causes],
        "gaps": [
            {
                "gap": gap,
                "slots": words.grouped(gap.to_slot - gap.from_slot + 1),
                "hue": "bad" if gap.status == "missing" else "warning",
                "next_try": words.moment(gap.next_try_at, now, "at once"),
                "opened": words.moment(gap.opened_at, now),
                "cause": in_words(gap.cause),
                "last": event_in_words(gap.history[-1]) if gap.history else "-",
            }
            for gap in found.newest_gaps
        ],
        "more_gaps": words.grouped(found.open_gaps)
        if found.open_gaps > len(found.newest_gaps)
        else "",
        "width": 10 * len(found.cells),
        "cells": [_cell(number, cell) for number, cell in enumerate(found.cells)],
        "baselines": [
            (each, words.grouped(each.accounts), words.moment(each.recorded_at, now))
            for each in found.baselines
        ],
    }


def _cell(number: int, cell: overview.Cell) -> dict[str, Any]:
    slots = cell.last - cell.first + 1
    height = 100 * cell.lacking / slots
    if cell.lacking:
        height = max(height, _LEAST_HEIGHT)
    span = f"slot {cell.first}" if slots == 1 else f"slots {cell.first} to {cell.last}"
    skipped = slots - cell.archived - cell.lacking
    told = f"{cell.archived:,} archived, {skipped:,} skipped, {cell.lacking:,} in gaps"
    return {
        "x": 10 * number,
        "good_height": round(100 - height, 2),
        "bad_y": round(100 - height, 2),
        "bad_height": round(height, 2),
        "title": f"{span}: {told}",
    }


def percent_of(share: float | None) -> str:
    if share is None:
        return "-"
    if 0 < share < 0.001:
        return "below 0.001%"
    # Never rounded up to all, nor down to none.
    shown = f"{share:.3f}".rstrip("0").rstrip(".")
    return "above 99.999%" if shown == "100" and share < 100 else f"{shown}%"
