"""The public status: each light now and over 90 days, and the incidents of that time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from columns.kept import Kept
from operations import store
from operations.models import Alarm, Sample
from operations.readings.present import MOMENT_SECONDS
from operations.rules.processes import CLOCK_PATIENCE
from operations.rules.rule import CRITICAL, Area
from operations.services import held_alarms
from operations.status.history import Day, first_day, history
from operations.status.incidents import Incident, incidents_of, lights_of, text_of
from operations.status.states import BAD, WARNING, figure_of
from shared_state import clock
from shared_state.outages import AWAY

# Each web process reads for itself: for so long two of them may say different things.
KEPT_SECONDS = 3.0
OPERATIONAL, DEGRADED, OUTAGE, UNKNOWN = "operational", "degraded", "outage", "unknown"
# So many alarms are read: all that are open, and the last that closed.
_MOST_ALARMS = 2_000
_JUST_NOTICED = "A problem was just noticed."
_NOT_KNOWN = "The current state is not known."
_ABOUT = {
    Area.FOLLOWING: ("Chain data", "New slots arrive and can be read."),
    Area.LANDING: ("Landing", "Submitted transactions are sent and followed to their fate."),
    Area.CALLING: ("API", "Calls are answered."),
    Area.ROOM: ("Background work", "Processes, queues and storage keep up."),
}


@dataclass(frozen=True, slots=True)
class Light:
    """`state` is operational, degraded, outage or unknown; `days` has the oldest first."""

    area: Area
    state: str
    text: str
    days: Sequence[Day]

    @property
    def title(self) -> str:
        return _ABOUT[self.area][0]

    @property
    def percent(self) -> float | None:
        """The share of the measured time without an outage; None if nothing was measured."""
        measured = sum(each.measured for each in self.days)
        outage = sum(each.outage for each in self.days)
        return 100 * (1 - outage / measured) if measured else None


@dataclass(frozen=True, slots=True)
class Status:
    """At one moment. Lights that are off in this installation are not among them."""

    at: datetime
    lights: Sequence[Light]
    incidents: Sequence[Incident]

    @property
    def state(self) -> str:
        """The worst of the lights."""
        states = {each.state for each in self.lights}
        order = (OUTAGE, DEGRADED, UNKNOWN)
        return next((each for each in order if each in states), OPERATIONAL)


def status() -> Status:
    """The status as it was within the last 3 s."""
    return _kept.value()


def _read(before: Status | None) -> Status:
    """Read now; while the database is away, what was known before."""
    now = clock.now()
    held = held_alarms.open_alarms()
    try:
        stored = store.opened_since(first_day(now), limit=_MOST_ALARMS)
        pending = store.unopened()
        newest = store.newest_sample(MOMENT_SECONDS, now=now)
        incidents = incidents_of([*stored, *held])
        days = history(incidents, now=now)
    except AWAY:
        return _without_database(now, before, held)
    unclosed = [
        each
        for each in (*stored, *held, *pending)
        if each.closed_at is None and each.well_since is None
    ]
    sample = newest if newest is not None and now - newest.at < CLOCK_PATIENCE else None
    lights = [_light(area, sample, unclosed, days[area]) for area in Area]
    if sample is not None:
        on = [each for each in lights if each.state != UNKNOWN]
        lights = on or lights
    return Status(now, lights, incidents)


def _light(
    area: Area, sample: Sample | None, unclosed: Sequence[Alarm], days: Sequence[Day]
) -> Light:
    """The worse of the newest sample and of what is open."""
    here = [each for each in unclosed if area in lights_of(each) and text_of(each)]
    values = {} if sample is None else sample.values
    bad, weak = (bool(values.get(figure_of(area, hue))) for hue in (BAD, WARNING))
    state = OUTAGE if bad else DEGRADED if weak else OPERATIONAL
    if figure_of(area, BAD) not in values:
        state = UNKNOWN
    critical = [each for each in here if each.severity == CRITICAL]
    if here:
        state = OUTAGE if bad or critical else DEGRADED
        return Light(area, state, text_of((critical or here)[0]), days)
    about = _ABOUT[area][1]
    text = {OPERATIONAL: about, UNKNOWN: _NOT_KNOWN}.get(state, _JUST_NOTICED)
    return Light(area, state, text, days)


def _without_database(now: datetime, before: Status | None, held: Sequence[Alarm]) -> Status:
    known = {each.area: each.days for each in before.lights} if before is not None else {}
    areas = list(known) or list(Area)
    lights = [_light(area, None, held, known.get(area, ())) for area in areas]
    open_now = incidents_of(held)
    past = () if before is None else [each for each in before.incidents if each.number is not None]
    return Status(now, lights, [*open_now, *past])


_kept = Kept(KEPT_SECONDS, _read)
