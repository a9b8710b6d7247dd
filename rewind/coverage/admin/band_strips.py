"""How the slots of archive and ledger are stored, as strips of bands."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chain.slot_ranges import SlotRange
from columns.slot_bands import Band, Stretch
from rewind.proof.admin import proof_maps
from rewind.proof.store.proof_runs import Run
from staff.formatting import counted, slot_range

# Lines of one area; the strip has all.
_LISTED = 8


class _Look(NamedTuple):
    """A band's CSS class (admin.css), and what it means."""

    square: str
    hint: str


_LOOKS = {
    Band.HOT: _Look("tm-b-hot", "Rows, as they were written"),
    Band.SEALED: _Look("tm-b-sealed", "Packed blocks in the database"),
    Band.COLD: _Look("tm-b-cold", "Packed blocks in the object store"),
    Band.REMOTE: _Look("tm-b-remote", "Not stored here: read from an archive when asked for"),
}
BAND_LEGEND = [(look.square, str(band), look.hint) for band, look in _LOOKS.items()]


def proof_strip(runs: Sequence[Run]) -> dict[str, Any]:
    """The same of what the cluster's votes say of the archive."""
    return _strip(
        "proof",
        [(run.state, _look_of(run.state), SlotRange(run.first, run.last)) for run in runs],
    )


def _look_of(state: str) -> _Look:
    square, _, hint = proof_maps.LOOKS[state]
    return _Look(square, hint)


def strip(area: str, bands: Sequence[Stretch]) -> dict[str, Any]:
    """An area's strip and its lines, newest first."""
    return _strip(area, [(str(each.band), _LOOKS[each.band], each.range) for each in bands])


def _strip(area: str, bands: Sequence[tuple[str, _Look, SlotRange]]) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [
        {
            "band": band,
            "look": look.square,
            "hint": look.hint,
            "slots": slots,
            "size": slots.size,
            "title": f"{band}: slots {slot_range(slots.first, slots.last)},"
            f" {counted(slots.size, 'slot')}",
        }
        for band, look, slots in bands
    ]
    summary = ", ".join(
        f"{line['band']} {slot_range(line['slots'].first, line['slots'].last)}"
        for line in lines[:_LISTED]
    )
    return {
        "area": area,
        "cells": lines,
        "lines": lines[::-1][:_LISTED],
        "more": max(0, len(lines) - _LISTED),
        "label": f"{area}: {summary}",
    }
