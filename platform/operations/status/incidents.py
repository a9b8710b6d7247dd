"""Alarms as incidents: what customers noticed, without names of hosts, keys or customers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from operations.models import Alarm
from operations.rules.rule import CRITICAL, Area
from operations.rules.table import BY_NAME

# Alarms of one rule that follow within this time are one incident.
_BETWEEN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Incident:
    """`number` is that of its first alarm, None until that can be stored; `ended_at` is None while
    it lasts.
    """

    number: int | None
    lights: tuple[Area, ...]
    is_outage: bool
    text: str
    began_at: datetime
    ended_at: datetime | None


def incidents_of(alarms: Iterable[Alarm]) -> list[Incident]:
    """Newest first. Alarms of one rule, such as those of two tip classes, are one incident if they
    overlap or follow shortly.
    """
    found: list[Incident] = []
    places: dict[str, int] = {}
    for alarm in sorted(alarms, key=lambda each: each.began_at):
        incident = _incident(alarm)
        if incident is None:
            continue
        place = places.get(alarm.name)
        if place is not None and _follows(found[place], incident):
            found[place] = _joined(found[place], incident)
        else:
            places[alarm.name] = len(found)
            found.append(incident)
    return found[::-1]


def text_of(alarm: Alarm) -> str:
    """What customers notice of it; empty for nothing."""
    rule = BY_NAME.get(alarm.name)
    return "" if rule is None else rule.incident


def lights_of(alarm: Alarm) -> tuple[Area, ...]:
    rule = BY_NAME.get(alarm.name)
    return () if rule is None else rule.place_of(alarm.subject).lights


def _incident(alarm: Alarm) -> Incident | None:
    text, lights = text_of(alarm), lights_of(alarm)
    if not text or not lights:
        return None
    ended_at = None if alarm.closed_at is None else alarm.well_since or alarm.closed_at
    is_outage = alarm.severity == CRITICAL
    return Incident(alarm.pk, lights, is_outage, text, alarm.began_at, ended_at)


def _follows(before: Incident, after: Incident) -> bool:
    return before.ended_at is None or after.began_at - before.ended_at <= _BETWEEN


def _joined(before: Incident, after: Incident) -> Incident:
    ended_at = None
    if before.ended_at is not None and after.ended_at is not None:
        ended_at = max(before.ended_at, after.ended_at)
    lights = {*before.lights, *after.lights}
    return replace(before, lights=tuple(each for each in Area if each in lights), ended_at=ended_at)
