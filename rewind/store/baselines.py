"""The slots of baselines: all that can be read while no slot is archived."""

from typing import NamedTuple

from columns.raw_queries import fetch_one


class Around(NamedTuple):
    """The lowest and the highest baseline, and the nearest ones at or below a slot and above it;
    None where there is none.
    """

    lowest: int | None
    highest: int | None
    below: int | None
    above: int | None


_AROUND = """
SELECT min(slot), max(slot), max(slot) FILTER (WHERE slot <= $1), min(slot) FILTER (WHERE slot > $1)
FROM rewind_baseline
"""


def around(slot: int) -> Around:
    row = fetch_one(_AROUND, slot)
    assert row is not None
    return Around(*row)
