"""The proof's row of the coverage map: what the cluster's votes say of the archive's slots."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from django.urls import reverse

from rewind.coverage.services.coverage_map import Cell
from rewind.coverage.services.slot_states import SlotStates, State
from rewind.proof.store.proof_runs import CONSISTENT, PROVEN, REFUTED, SETTLED, UNPROVEN, Run
from staff.formatting import slot_range

# A run's CSS class (admin.css), its hue, and what it means.
LOOKS = {
    PROVEN: ("tm-p-proven", "good", "More than two thirds of the stake signed it"),
    CONSISTENT: (
        "tm-p-consistent",
        "quiet",
        "Signed, by stakes or voters that are not vouched for",
    ),
    REFUTED: ("tm-p-refuted", "bad", "The cluster voted for another state"),
    UNPROVEN: ("tm-p-unproven", "warning", "Not proven, or not yet; its page says why"),
}
LEGEND = [(square, name, hint) for name, (square, _, hint) in LOOKS.items()]
_OUTSIDE = "tm-out"
_NOT_COMPUTED = {"look": _OUTSIDE, "state": "not computed", "hue": "quiet", "link": ""}


def row(cells: Sequence[Cell], runs: Sequence[Run]) -> dict[str, Any]:
    """The row below the archive's cells; runs of their slots are ascending, and each is counted in
    every cell that it reaches into.
    """
    drawn, proven, slots = [], 0, 0
    refuted = False
    for cell in cells:
        counts = _counts(cell, runs) if cell.slots else {}
        proven += counts.get(PROVEN, 0)
        slots += cell.slots
        refuted = refuted or REFUTED in counts
        span = f"Slot{'s'[: cell.last > cell.first]} {slot_range(cell.first, cell.last)}"
        title = f"{span}: {_in_words(counts)}"
        drawn.append({"cell": cell, "look": _look(cell, counts), "skipped": 0, "title": title})
    return {
        "area": "proof",
        "summary": f"{proven:,} of {slots:,} slots proven",
        "share": _share(proven, slots, refuted=refuted),
        "hue": "bad" if refuted else "good" if slots and proven == slots else "quiet",
        "cells": drawn,
    }


def _counts(cell: Cell, runs: Sequence[Run]) -> dict[str, int]:
    """Slots of the cell by state."""
    found: dict[str, int] = {}
    at = bisect_left(runs, cell.first, key=attrgetter("last"))
    while at < len(runs) and runs[at].first <= cell.last:
        run = runs[at]
        size = min(run.last, cell.last) - max(run.first, cell.first) + 1
        found[run.state] = found.get(run.state, 0) + size
        at += 1
    return found


def _look(cell: Cell, counts: dict[str, int]) -> str:
    if not counts:
        return _OUTSIDE
    if REFUTED in counts:
        return LOOKS[REFUTED][0]
    if counts.get(PROVEN, 0) >= cell.slots:
        return LOOKS[PROVEN][0]
    settled = sum(counts.get(state, 0) for state in SETTLED)
    return LOOKS[CONSISTENT if settled >= cell.slots else UNPROVEN][0]


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in counts.items()) or "not computed"


def _share(proven: int, slots: int, *, refuted: bool) -> str:
    if refuted:
        return "refuted"
    if not proven:
        return "unproven"
    # 100% is said of all alone.
    return "proven" if proven >= slots else f"{min(99, 100 * proven // slots)}% proven"


def slot_cells(states: Sequence[SlotStates], runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A small square for each slot, which opens its run."""
    cells = []
    for each in states:
        found = of_slots([each], runs)
        shown = {**found, "title": f"Slot {each.slot}: {found['state']}"}
        cells.append(shown)
    return cells


def of_slots(states: Iterable[SlotStates], runs: Sequence[Run]) -> dict[str, str]:
    """What is said of neighbouring slots together: of the worst of them, with all in words."""
    found: dict[str, Run] = {}
    for each in states:
        run = _run_of(each.slot, runs)
        if run is not None and each.archive is not State.OUTSIDE:
            found.setdefault(run.state, run)
    for state in (REFUTED, UNPROVEN, CONSISTENT, PROVEN):
        if state in found:
            look, hue, hint = LOOKS[state]
            link = _page().format(found[state].first)
            named = " or ".join(sorted(found))
            return {"look": look, "state": named, "hue": hue, "hint": hint, "link": link}
    return {**_NOT_COMPUTED, "hint": "No bank of it follows from what is archived"}


@cache
def _page() -> str:
    """A run's page with {} for its first slot."""
    return reverse("admin:rewind_proofrun_change", args=["0"]).replace("/0/", "/{}/")


def _run_of(slot: int, runs: Sequence[Run]) -> Run | None:
    at = bisect_left(runs, slot, key=attrgetter("last"))
    return runs[at] if at < len(runs) and runs[at].first <= slot else None
