"""Daily sums of the tip ledger for pages."""

from dataclasses import dataclass, field
from datetime import date, timedelta

from tipping.models import TipDay, TipEntry


@dataclass(slots=True)
class DayOfTips:
    """The number of tips, the lamports received by static addresses and by those of each class (by
    its TTL in seconds), and the lamports swept.
    """

    day: date
    tips: int = 0
    static: int = 0
    by_class: dict[int, int] = field(default_factory=dict)
    swept: int = 0


def days_of_tips(*, days: int) -> tuple[list[DayOfTips], list[int]]:
    """The last days with entries, newest first, as counted by tip_days; and the TTLs of the classes
    among them.
    """
    newest = TipDay.objects.order_by("-day").values_list("day", flat=True).first()
    if newest is None:
        return [], []
    found: dict[date, DayOfTips] = {}
    # With gaps between days, fewer days are shown than requested.
    for row in TipDay.objects.filter(day__gt=newest - timedelta(days=2 * days)):
        of_day = found.setdefault(row.day, DayOfTips(row.day))
        if row.kind == TipEntry.Kind.TIP:
            of_day.tips += row.count
        if row.kind == TipEntry.Kind.SWEEP:
            of_day.swept += row.paid
        if row.kind == TipEntry.Kind.TIP and row.is_static:
            of_day.static += row.received
        elif row.kind == TipEntry.Kind.TIP and row.ttl_seconds is not None:
            before = of_day.by_class.get(row.ttl_seconds, 0)
            of_day.by_class[row.ttl_seconds] = before + row.received
    shown = sorted(found.values(), key=lambda each: each.day, reverse=True)[:days]
    return shown, sorted({each for day in shown for each in day.by_class})
