"""The queries on samples and alarms."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from columns.queries import all_rows
from operations.models import Alarm, Sample


def newest_sample(resolution: int, *, now: datetime) -> Sample | None:
    """Without those of a clock that was ahead."""
    return Sample.objects.filter(resolution=resolution, at__lte=now).order_by("-at").first()


def newest_samples(resolution: int, *, now: datetime, limit: int) -> list[Sample]:
    """Newest first, with their totals alone."""
    found = Sample.objects.filter(resolution=resolution, at__lte=now).order_by("-at")
    return list(found.defer("values")[:limit])


def add_sample(sample: Sample) -> bool:
    """False if there was one of this resolution and time."""
    before = Sample.objects.filter(resolution=sample.resolution, at=sample.at).exists()
    Sample.objects.bulk_create([sample], ignore_conflicts=True)
    return not before


def take_over(sample: Sample, mark: str) -> bool:
    """Replaces the sample of this resolution and time, if its totals have the mark."""
    found = Sample.objects.filter(
        resolution=sample.resolution, at=sample.at, **{f"totals__{mark}": 1}
    )
    return found.update(values=sample.values, totals=sample.totals) == 1


def delete_samples(resolution: int, *, before: datetime) -> None:
    Sample.objects.filter(resolution=resolution, at__lt=before).delete()


def delete_samples_ahead(resolution: int, *, of: datetime) -> None:
    """Those of a clock that was ahead: they would stand in the way of the ones that come."""
    Sample.objects.filter(resolution=resolution, at__gt=of).delete()


def daily_means(
    names: Sequence[str], *, since: datetime, steps: str, day: int, mean: int
) -> dict[datetime, dict[str, float]]:
    """For each day of UTC the means of these figures, without unknown ones, and under `steps` how
    many samples of `mean` seconds there are: from samples of a day, and from shorter ones of days
    that have none yet.
    """
    means = ", ".join(["avg((values->>%s)::float8)"] * len(names))
    length: Any = timedelta(seconds=day)
    rows = all_rows(
        f"SELECT date_trunc('day', at, 'UTC'), sum(CASE WHEN resolution = %s"
        f" THEN (totals->>%s)::int ELSE 1 END), {means} FROM operations_sample"
        " WHERE at >= %s AND (resolution = %s OR (resolution = %s AND at >= coalesce("
        "(SELECT max(at) + %s FROM operations_sample WHERE resolution = %s), %s)))"
        " GROUP BY 1",
        [day, steps, *names, since, day, mean, length, day, since],
    )
    found = {}
    for at, count, *values in rows:
        known = {
            name: value for name, value in zip(names, values, strict=True) if value is not None
        }
        found[at] = {**known, steps: float(count)}
    return found


def lock_unclosed(name: str | None = None) -> dict[tuple[str, str], Alarm]:
    """Alarms that are not closed, of one rule or of all, by rule and subject."""
    found = Alarm.objects.filter(closed_at__isnull=True)
    if name is not None:
        found = found.filter(name=name)
    return {(alarm.name, alarm.subject): alarm for alarm in found.select_for_update()}


def unclosed() -> QuerySet[Alarm]:
    """Open alarms, and conditions that have not held for long enough."""
    return Alarm.objects.filter(closed_at__isnull=True)


def alarm_of(name: str, subject: str, *, began_at: datetime, or_unclosed: bool) -> Alarm | None:
    """The one that began then; else, if wanted, the one that is not closed."""
    found = Alarm.objects.filter(name=name, subject=subject)
    row = found.filter(began_at=began_at).first()
    return row or (found.filter(closed_at__isnull=True).first() if or_unclosed else None)


def open_alarms() -> QuerySet[Alarm]:
    return Alarm.objects.filter(opened_at__isnull=False, closed_at__isnull=True)


def opened_since(moment: datetime, *, limit: int) -> list[Alarm]:
    """Opened alarms that were open at the moment or later: open ones, then the last that closed."""
    found = Alarm.objects.filter(opened_at__isnull=False)
    found = found.filter(Q(closed_at__isnull=True) | Q(closed_at__gte=moment))
    return list(found.order_by(F("closed_at").desc(nulls_first=True))[:limit])


def unopened() -> list[Alarm]:
    """Conditions that have not held for long enough to be alarms."""
    return list(Alarm.objects.filter(opened_at__isnull=True).order_by("severity", "began_at")[:100])


def delete_closed(*, before: datetime) -> None:
    Alarm.objects.filter(closed_at__lt=before).delete()
