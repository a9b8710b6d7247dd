"""What customers notice of each light at one moment, as samples keep it."""

from operations.readings.chain import NOT_FOLLOWED
from operations.readings.present import Readings
from operations.rules.rule import CRITICAL, Area
from operations.services.findings import findings

BAD, WARNING = "bad", "warning"


def sampled_states(readings: Readings) -> dict[str, float]:
    """`{light}_bad` and `{light}_warning`, 1 or 0, for each light that is on. Findings without an
    incident for customers do not count.
    """
    here: dict[Area, set[str]] = {area: set() for area in Area}
    for found in findings(readings):
        if found.rule.incident:
            for area in found.place.lights:
                here[area].add(BAD if found.rule.severity == CRITICAL else WARNING)
    states: dict[str, float] = {}
    for area, hues in here.items():
        if hues or not is_off(area, readings):
            states[figure_of(area, BAD)] = float(BAD in hues)
            states[figure_of(area, WARNING)] = float(WARNING in hues and BAD not in hues)
    return states


def figure_of(area: Area, hue: str) -> str:
    """The name of the sample's figure."""
    return f"{area}_{hue}"


def is_off(area: Area, readings: Readings) -> bool:
    """Whether this installation does not do what the light is about."""
    match area:
        case Area.FOLLOWING:
            return readings.chain.stream == NOT_FOLLOWED
        case Area.LANDING:
            return all(each.kind != "lander" for each in readings.processes or ())
        case _:
            return False
