"""Coverage pages: which slots the archive and the ledger hold, which are missing, and why."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from chain.slot_ranges import SlotRange
from chain.units import I64_MAX
from gaps.admin import counts_of_area, gaps_of_area, order_links
from historical.coverage.services import overview as ledger_overview
from historical.coverage.services import storage as ledger_storage
from historical.models import Gap as LedgerGap
from rewind.coverage.admin import band_strips, coverage_maps
from rewind.coverage.admin.shares import percent_of
from rewind.coverage.services import coverage_map, overview, storage
from rewind.coverage.services.coverage_map import EpochRow
from rewind.coverage.services.epochs import Epochs, epochs
from rewind.coverage.services.slot_states import MOST_SLOTS, slot_states
from rewind.models import Gap, SlotTally
from rewind.proof.admin import proof_maps
from rewind.proof.services import slot_proofs
from rewind.recording.services import filters
from rewind.replay.admin.audit import chart_of_days, rate
from rewind.replay.services.audit_overview import audited_days, audited_today, sum_of
from rewind.replay.store.audits import open_divergences
from staff.formatting import grouped
from staff.own_pages import OwnPage, PagesAdmin
from staff.parsing import slot_in
from staff.read_only import OnePageAdmin

_EPOCHS = 16
# Of either kind.
_FILTERS = 6
_DEFAULT_SLOTS = 1_000


@admin.register(SlotTally)
class CoverageAdmin(PagesAdmin, OnePageAdmin):
    """The counts are shown on pages of their own; recording keeps them."""

    def one_page(self, request: HttpRequest) -> HttpResponse:
        ranges = coverage_map.ranges()
        newest = slot_in(request.GET.get("newest", ""))
        rows, known = coverage_map.epoch_rows(ranges, newest=newest, limit=_EPOCHS + 1)
        archive_sum, ledger_sum = coverage_map.totals(ranges)
        context = {
            "title": "Coverage",
            "archive": _archive(archive_sum),
            "ledger": _ledger(ledger_sum),
            "epochs": _epoch_lines(rows[:_EPOCHS]),
            "older": f"?newest={rows[_EPOCHS].epoch}" if len(rows) > _EPOCHS else "",
            "is_newest": newest is None,
            "epoch_words": _epoch_words(known),
            "legend": coverage_maps.LEGEND,
            "strips": [
                band_strips.strip("archive", storage.all_bands()),
                band_strips.strip("ledger", ledger_storage.all_bands()),
            ],
            "proof": band_strips.proof_strip(slot_proofs.newest_runs()),
            "proof_legend": proof_maps.LEGEND,
            "may_see_sealed": request.user.has_perm("rewind.view_sealedsegment"),
            "band_legend": band_strips.BAND_LEGEND,
            "audit": _audit() if request.user.has_perm("rewind.view_auditedday") else None,
            **_filters(),
            **order_links(request),
        }
        return self._page(request, "coverage", context)

    def epoch_view(self, request: HttpRequest) -> HttpResponse:
        """One epoch in some hundred cells; the newest without a number."""
        ranges = coverage_map.ranges()
        schedule, both = epochs().schedule, ranges.both
        epoch = slot_in(request.GET.get("epoch", ""))
        if both is None:
            return self._page(request, "epoch", {"title": "Epoch", "areas": None})
        lowest, highest = schedule.epoch_of(both.first), schedule.epoch_of(both.last)
        epoch = highest if epoch is None else max(lowest, min(epoch, highest))
        whole = SlotRange(*schedule.slots_of(epoch))
        archived, stored = coverage_map.epoch_cells(ranges, whole)

        context = {
            "title": f"Epoch {epoch}",
            "range": whole,
            "cell_slots": archived[len(archived) // 2].range.size,
            "areas": [
                coverage_maps.area_cells("archive", archived) | counts_of_area(Gap, within=whole),
                coverage_maps.area_cells("ledger", stored)
                | counts_of_area(LedgerGap, within=whole),
                proof_maps.row(archived, slot_proofs.runs(*whole)),
            ],
            "proof_legend": proof_maps.LEGEND,
            "older": coverage_maps.epoch_link(epoch - 1) if epoch > lowest else "",
            "newer": coverage_maps.epoch_link(epoch + 1) if epoch < highest else "",
            "legend": coverage_maps.LEGEND,
            **order_links(request, whole, at_once=MOST_SLOTS),
        }
        return self._page(request, "epoch", context)

    def slots_view(self, request: HttpRequest) -> HttpResponse:
        """Slots one by one: from `first` to `last`, or the thousand around `slot`."""
        ranges = coverage_map.ranges()
        slot = slot_in(request.GET.get("slot", "").strip())
        first, last = (slot_in(request.GET.get(name, "")) for name in ("first", "last"))
        if slot is not None:
            return HttpResponseRedirect(_around(slot))
        if first is None:
            first = 0 if ranges.both is None else ranges.both.last // _DEFAULT_SLOTS * 1_000
        last = first + _DEFAULT_SLOTS - 1 if last is None else max(first, last)
        window = SlotRange(first, min(last, first + MOST_SLOTS - 1, I64_MAX - 1))
        states, runs = slot_states(ranges, window), slot_proofs.runs(*window)
        context = {
            "title": f"Slots {window.first} to {window.last}",
            "epoch": (epoch := epochs().schedule.epoch_of(window.first)),
            "epoch_link": coverage_maps.epoch_link(epoch),
            "cut": last > window.last,
            "most": MOST_SLOTS,
            "areas": [
                {"area": area, "cells": coverage_maps.slot_cells(states, area)}
                for area in ("archive", "ledger")
            ]
            + [{"area": "proof", "cells": proof_maps.slot_cells(states, runs)}],
            "runs": coverage_maps.slot_runs(states, runs),
            "proof_legend": proof_maps.LEGEND,
            "legend": coverage_maps.STATE_LEGEND,
            "older": coverage_maps.slots_link(max(0, window.first - window.size), window.first - 1)
            if window.first
            else "",
            "newer": coverage_maps.slots_link(window.last + 1, window.last + window.size),
            **order_links(request, window, at_once=MOST_SLOTS),
        }
        return self._page(request, "slots", context)

    own_pages = (
        OwnPage("epoch/", "rewind_slottally_epoch", epoch_view),
        OwnPage("slots/", "rewind_slottally_slots", slots_view),
    )

    def _page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        return self.page(request, f"admin/rewind/slottally/{name}.html", context)


def _around(slot: int) -> str:
    first = slot - slot % _DEFAULT_SLOTS
    return coverage_maps.slots_link(first, min(first + _DEFAULT_SLOTS, I64_MAX) - 1)


def _filters() -> dict[str, Any]:
    owners, accounts = filters.filtered_owners(), filters.filtered_pubkeys()
    more = max(0, len(owners) - _FILTERS) + max(0, len(accounts) - _FILTERS)
    return {
        "filtered_owners": owners[:_FILTERS],
        "filtered_accounts": accounts[:_FILTERS],
        "more_filters": more,
    }


def _epoch_lines(rows: Sequence[EpochRow]) -> list[dict[str, Any]]:
    if not rows:
        return []
    runs = slot_proofs.runs(rows[-1].first, rows[0].last)
    lines = [coverage_maps.epoch_line(row) for row in rows]
    for row, line in zip(rows, lines, strict=True):
        line["areas"].append(proof_maps.row(row.archive, runs))
    return lines


def _epoch_words(known: Epochs) -> str:
    length = grouped(known.schedule.slots_per_epoch)
    if known.is_known:
        return f"An epoch of this chain has {length} slots."
    return f"This chain's epoch schedule is not known yet: mainnet's is used, of {length} slots."


def _archive(whole: coverage_map.Cell | None) -> dict[str, Any] | None:
    found = overview.archive_overview()
    if found is None or whole is None:
        return None
    fine = found.archived - found.coarse
    return {
        "whole": whole,
        "percent": percent_of(found.gap_percent),
        "fine": fine,
        "fine_percent": percent_of(100 * fine / max(1, found.archived)),
        "coarse": found.coarse,
        "baselines": found.baselines,
        **gaps_of_area(found.causes, found.newest_gaps, found.open_gaps),
        **counts_of_area(Gap),
    }


def _ledger(whole: coverage_map.Cell | None) -> dict[str, Any] | None:
    if whole is None:
        return None
    found = ledger_overview.ledger_gaps()
    share = whole.share_missing
    return {
        "whole": whole,
        "percent": percent_of(None if share is None else 100 * share),
        **gaps_of_area(found.causes, found.newest, found.open),
        **counts_of_area(LedgerGap),
    }


def _audit() -> dict[str, Any]:
    now = timezone.now()
    days = audited_days(now)
    today = audited_today(now)
    total = sum_of(day.count for day in days)
    return {
        "today": rate(today),
        "replayed": today.replayed,
        "month": rate(total),
        "open": open_divergences().count(),
        "chart": chart_of_days(days),
        "counted": bool(total.replayed),
    }
