"""Each light's last 90 days, from samples and incidents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from operations import store
from operations.rules.rule import Area
from operations.services.sampling import DAY_SECONDS, MEAN_SECONDS, STEPS
from operations.status.incidents import Incident
from operations.status.states import BAD, WARNING, figure_of

DAYS = 90
_DAY = timedelta(days=1)
_FIGURES = tuple(figure_of(area, hue) for area in Area for hue in (BAD, WARNING))


@dataclass(frozen=True, slots=True)
class Day:
    """Seconds of one day of UTC, today's until now; without samples and incidents nothing is
    `measured`.
    """

    day: date
    length: float
    measured: float
    outage: float
    degraded: float

    @property
    def operational(self) -> float:
        return self.measured - self.outage - self.degraded


def first_day(now: datetime) -> datetime:
    """Where the first of the days begins."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - (DAYS - 1) * _DAY


def history(incidents: Sequence[Incident], *, now: datetime) -> dict[Area, list[Day]]:
    """The days of each light, oldest first, from one query."""
    start = first_day(now)
    sampled = store.daily_means(
        _FIGURES, since=start, steps=STEPS, day=DAY_SECONDS, mean=MEAN_SECONDS
    )
    days = [start + number * _DAY for number in range(DAYS)]
    return {
        area: [_day(area, at, sampled.get(at, {}), incidents, now) for at in days] for area in Area
    }


def _day(
    area: Area,
    at: datetime,
    sampled: Mapping[str, float],
    incidents: Sequence[Incident],
    now: datetime,
) -> Day:
    """What samples and incidents say, whichever is longer: an outage of seconds can lie between two
    samples, and while the database is away there are none.
    """
    end = min(at + _DAY, now)
    length = (end - at).total_seconds()
    here = [each for each in incidents if area in each.lights]
    bad = _covered([each for each in here if each.is_outage], at, end)
    weak = _covered([each for each in here if not each.is_outage], at, end)
    measured = 0.0
    if figure_of(area, BAD) in sampled:
        measured = min(length, sampled[STEPS] * MEAN_SECONDS)
        bad = max(bad, sampled[figure_of(area, BAD)] * measured)
        weak = max(weak, sampled[figure_of(area, WARNING)] * measured)
    weak = min(weak, length - bad)
    return Day(at.date(), length, max(measured, bad + weak), bad, weak)


def _covered(incidents: Sequence[Incident], start: datetime, end: datetime) -> float:
    """Seconds between the two that lie in at least one of the incidents."""
    seconds, until = 0.0, start
    for each in sorted(incidents, key=lambda each: each.began_at):
        ended = min(each.ended_at or end, end)
        seconds += max(0.0, (ended - max(each.began_at, until)).total_seconds())
        until = max(until, ended)
    return seconds
