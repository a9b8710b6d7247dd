"""Cells of slots, and single slots, as the coverage map shows them."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from chain.slot_ranges import SlotRange
from rewind.coverage.admin.shares import percent_of
from rewind.coverage.services.coverage_map import Cell, EpochRow
from rewind.coverage.services.slot_states import SlotStates, State
from rewind.proof.admin import proof_maps
from rewind.proof.store.proof_runs import Run
from staff.formatting import grouped, slot_range

# The CSS class (admin.css) of a share of missing slots below each bound.
_LEVELS = ((0.01, "tm-h1"), (0.1, "tm-h2"), (0.5, "tm-h3"))
_ARCHIVE, _LEDGER = "archived", "stored"

LEGEND = [
    ("tm-h0", "complete", "Every slot that had a block is there"),
    ("tm-h1", "below 1% missing", "Of the slots that had, or may have had, a block"),
    ("tm-h2", "below 10%", "Of the slots that had, or may have had, a block"),
    ("tm-h3", "below 50%", "Of the slots that had, or may have had, a block"),
    ("tm-h4", "50% or more", "Of the slots that had, or may have had, a block"),
    ("tm-skip", "skipped", "The leader made no block: the lower part of a cell, by its share"),
    ("tm-out", "outside", "Not in the range that is kept"),
]


class _Look(NamedTuple):
    """How a state is shown: the CSS class of its square, the hue of its label, and its hint."""

    square: str
    hue: str
    hint: str


_LOOKS = {
    State.HELD: _Look("tm-h0", "good", "All of it is there"),
    State.COARSE: _Look(
        "tm-coarse",
        "warning",
        "At least the last write of each account; earlier ones may be missing",
    ),
    State.FILTERED: _Look(
        "tm-filtered", "quiet", "It is archived, and filters dropped every write of it"
    ),
    State.SKIPPED: _Look(
        "tm-skip", "quiet", "The leader made no block, which a parent link or a node proves"
    ),
    State.MISSING: _Look("tm-h4", "bad", "The leader made a block, and it is not stored here"),
    State.UNKNOWN: _Look("tm-h3", "warning", "Whether a block was made is not known yet"),
    State.GIVEN_UP: _Look(
        "tm-gone", "quiet", "It is not stored here, and is not retried: no source has it any more"
    ),
    State.NOT_COVERED: _Look(
        "tm-h2",
        "warning",
        "Between two imports, not checked yet. Re-ingest the range to fetch it",
    ),
    State.OUTSIDE: _Look("tm-out", "quiet", "Not in the range that is kept"),
}
STATE_LEGEND = [(_LOOKS[state].square, str(state), _LOOKS[state].hint) for state in State]


def epoch_line(row: EpochRow) -> dict[str, Any]:
    """A line of the list of epochs."""
    return {
        "epoch": row.epoch,
        "slots": SlotRange(row.first, row.last),
        "link": epoch_link(row.epoch),
        "areas": [area_cells("archive", row.archive), area_cells("ledger", row.ledger)],
    }


def summed(cells: Sequence[Cell]) -> Cell:
    """Cells that touch, as one."""
    names = ("slots", "held", "coarse", "skipped", "missing", "unknown", "not_covered")
    return Cell(
        cells[0].first,
        cells[-1].last,
        **{name: sum(getattr(cell, name) for cell in cells) for name in names},
    )


def area_cells(area: str, cells: Sequence[Cell]) -> dict[str, Any]:
    """An area's cells, and its sum."""
    held = _ARCHIVE if area == "archive" else _LEDGER
    whole = summed(cells)
    return {
        "area": area,
        "summary": summary(whole, held),
        "share": share_of(whole),
        "hue": _hue(whole),
        "cells": [_drawn(cell, held) for cell in cells],
    }


def _drawn(cell: Cell, held: str) -> dict[str, Any]:
    share = cell.share_missing
    if not cell.slots:
        look = "tm-out"
    elif share is None:
        look = "tm-skip"
    elif not share:
        look = "tm-h0"
    else:
        look = next((name for bound, name in _LEVELS if share < bound), "tm-h4")
    span = f"Slot{'s'[: cell.last > cell.first]} {slot_range(cell.first, cell.last)}"
    skipped = round(100 * cell.skipped / cell.slots) if cell.slots and share is not None else 0
    title = f"{span}: {summary(cell, held)}"
    return {"cell": cell, "look": look, "skipped": skipped, "title": title}


def summary(cell: Cell, held: str) -> str:
    """The cell's counts in a line."""
    if not cell.slots:
        return "outside the range that is kept"
    parts = [(cell.held, held), (cell.skipped, "skipped"), (cell.missing, "missing")]
    parts += [(cell.unknown, "unknown"), (cell.not_covered, "not covered")]
    text = ", ".join(
        f"{count:,} {word}" for place, (count, word) in enumerate(parts) if count or place < 3
    )
    if cell.coarse:
        text += f"; of {cell.coarse:,} the last writes alone"
    return text


def share_of(cell: Cell) -> str:
    if not cell.slots:
        return "outside"
    if cell.share_missing is None:
        return "skipped"
    return f"{percent_of(100 * cell.share_missing)} missing" if cell.not_held else "complete"


def _hue(cell: Cell) -> str:
    share = cell.share_missing
    if not cell.slots or share is None:
        return "quiet"
    return "good" if not share else "warning" if share < 0.01 else "bad"


def epoch_link(epoch: int) -> str:
    return f"{reverse('admin:rewind_slottally_epoch')}?{urlencode({'epoch': epoch})}"


def slots_link(first: int, last: int) -> str:
    query = urlencode({"first": first, "last": last})
    return f"{reverse('admin:rewind_slottally_slots')}?{query}"


def slot_cells(states: Sequence[SlotStates], area: str) -> list[dict[str, Any]]:
    """A small square for each slot, with a link where there is something to open."""
    cells = []
    for each in states:
        state: State = getattr(each, area)
        cells.append(
            {
                "look": _LOOKS[state].square,
                "title": f"Slot {each.slot}: {state}",
                "link": _link_of(each, area),
            }
        )
    return cells


def _link_of(each: SlotStates, area: str) -> str:
    state: State = getattr(each, area)
    gap = getattr(each, f"{area}_gap")
    app, model = ("rewind", "archivedslot") if area == "archive" else ("historical", "block")
    if state in (State.HELD, State.COARSE, State.FILTERED):
        return _page(f"admin:{app}_{model}_change").format(each.slot)
    return "" if gap is None else _page(f"admin:{app}_gap_change").format(gap)


@cache
def _page(name: str) -> str:
    """A row's page with {} for its number: two thousand are wanted at once."""
    return reverse(name, args=["0"]).replace("/0/", "/{}/")


def slot_runs(states: Sequence[SlotStates], proof: Sequence[Run]) -> list[dict[str, Any]]:
    """Runs of neighbouring slots in the same state, as lines of a table; where nothing is missing,
    skipped slots are grouped with their neighbours.
    """
    lines = []
    for _, run in groupby(states, key=partial(_alike, proof=proof)):
        members = list(run)
        first, last = members[0], members[-1]
        lines.append(
            {
                "slots": slot_range(first.slot, last.slot),
                "size": grouped(len(members)),
                "areas": [
                    *(_in_words(members, area) for area in ("archive", "ledger")),
                    proof_maps.of_slots(members, proof),
                ],
            }
        )
    return lines


_FINE = {State.HELD, State.SKIPPED}


def _alike(each: SlotStates, *, proof: Sequence[Run]) -> tuple[Any, ...]:
    archive, ledger = (None if state in _FINE else state for state in (each.archive, each.ledger))
    state = proof_maps.of_slots([each], proof)["state"]
    return archive, ledger, each.archive_gap, each.ledger_gap, state


def _in_words(members: Sequence[SlotStates], area: str) -> dict[str, str]:
    found = sorted({getattr(each, area) for each in members})
    first: State = found[0]
    return {
        "state": " or ".join(found),
        "hue": _LOOKS[first].hue,
        "hint": "; ".join(_LOOKS[state].hint for state in found),
        "link": _link_of(members[0], area) if len(members) == 1 or first not in _FINE else "",
    }
