"""Calendar months of UTC."""

from datetime import UTC, datetime


def month_of(now: datetime) -> tuple[datetime, datetime]:
    """The first moment of the month, and that of the next."""
    start = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return start, start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
