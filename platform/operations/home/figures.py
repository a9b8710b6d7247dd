"""How each figure of the samples is formatted and drawn."""

from operations.home.charts import Figure
from staff.formatting import grouped, milliseconds, size_of


def count(value: float) -> str:
    """A whole number; small means have one decimal."""
    return grouped(round(value)) if value >= 10 or value == int(value) else f"{value:.1f}"


def percent(value: float) -> str:
    return f"{value:.0f}%" if value in (0, 100) or 1 <= value < 99 else f"{value:.2f}%"


def size(value: float) -> str:
    return size_of(int(value))


def per_second(value: float) -> str:
    return f"{count(value) if value >= 10 else f'{value:.1f}'}/s"


BEHIND = Figure("behind", "Slots behind", count, top=4)
GAP_SLOTS = Figure("gap_slots", "Slots in open gaps", count)
SLOTS = Figure("slots_per_second", "Slots stored per second", per_second, top=1)
LANDED = Figure("landed_percent", "Landed, of the settled ones", percent, top=100)
SLOTS_TO_LAND = Figure("slots_to_land_p95", "p95 of the slots to land", count, top=2)
ACCEPTED = Figure("accepted_waiting", "Accepted, not settled yet", count, top=4)
TIPS_LEFT = Figure("tips_left_percent", "Lowest share of addresses left", percent, top=100)
CALLS = Figure("calls_per_second", "Calls per second", per_second, top=1)
CALL_TIME = Figure("call_ms_p95", "p95 of the time of a call", milliseconds, top=1)
FAILED = Figure("failed_percent", "Calls that fail", percent, top=1)
DISK = Figure("disk_free_bytes", "Free on the disk", size, floats=True)
DATABASE_TIME = Figure("database_ms", "Time of an empty query", milliseconds, top=1)
QUEUED = Figure("queued", "Tasks waiting", count, top=4)
