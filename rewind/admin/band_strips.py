"""How the slots of archive and ledger are stored, as strips of bands."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from columns.slot_bands import Band, Stretch
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


def strip(area: str, bands: Sequence[Stretch]) -> dict[str, Any]:
    """An area's strip and its lines, newest first."""
    lines: list[dict[str, Any]] = [
        {
            "band": each.band,
            "look": _LOOKS[each.band].square,
            "hint": _LOOKS[each.band].hint,
            "slots": each.range,
            "size": each.range.size,
            "title": f"{each.band}: slots {slot_range(each.first, each.last)},"
            f" {counted(each.range.size, 'slot')}",
        }
        for each in bands
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
