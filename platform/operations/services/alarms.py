"""Alarms: opened when a rule's condition has held for its time, closed once it is over."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from alerts.services.events import publish
from operations import store
from operations.alarm_rule import Finding, Rule
from operations.models import Alarm
from operations.readings.present import Readings
from operations.rules import BY_NAME, RULES
from staff.formatting import duration

# Alarms on one page.
_SHOWN = 200
CLOSED_KEPT = timedelta(days=90)


@transaction.atomic
def evaluate(readings: Readings, *, now: datetime) -> None:
    """Every rule against the readings. One caller at a time."""
    unclosed = store.lock_unclosed()
    for rule in RULES:
        findings = rule.check(readings)
        if findings is None:  # not known now: its alarms stay as they are
            unclosed = {key: alarm for key, alarm in unclosed.items() if key[0] != rule.name}
            continue
        _hold(rule, findings, unclosed, now)
    for alarm in unclosed.values():
        _resolve(alarm, now)


@transaction.atomic
def evaluate_rule(rule: Rule, findings: Iterable[Finding], *, now: datetime) -> None:
    """One rule alone. One caller at a time."""
    unclosed = store.lock_unclosed(rule.name)
    _hold(rule, findings, unclosed, now)
    for alarm in unclosed.values():
        _resolve(alarm, now)


def acknowledge(alarm_id: int, *, user_id: int, now: datetime) -> bool:
    """False if it was acknowledged before, or is closed."""
    waiting = store.open_alarms().filter(pk=alarm_id, acknowledged_at__isnull=True)
    return waiting.update(acknowledged_at=now, acknowledged_by=user_id) == 1


def open_alarms() -> list[Alarm]:
    """Critical ones first, then the oldest."""
    found = store.open_alarms().select_related("acknowledged_by")
    return list(found.order_by("severity", "opened_at")[:100])


def unclosed() -> dict[tuple[str, str], Alarm]:
    """By rule and subject: open alarms, the most severe and oldest of them, and what has not held
    for long enough to be one (`opened_at` is None).
    """
    found = store.unclosed().select_related("acknowledged_by")
    ordered = found.order_by("severity", F("opened_at").asc(nulls_last=True))[:_SHOWN]
    return {(each.name, each.subject): each for each in ordered}


def forget_closed(*, now: datetime) -> None:
    store.delete_closed(before=now - CLOSED_KEPT)


def _hold(
    rule: Rule, findings: Iterable[Finding], unclosed: dict[tuple[str, str], Alarm], now: datetime
) -> None:
    """Creates or updates an alarm for each finding, and removes it from the unclosed ones."""
    for finding in findings:
        alarm = unclosed.pop((rule.name, finding.subject[:200]), None)
        _holds(rule, finding, alarm, now)


def _holds(rule: Rule, finding: Finding, alarm: Alarm | None, now: datetime) -> None:
    if alarm is None:
        alarm = Alarm(
            name=rule.name, subject=finding.subject[:200], severity=rule.severity, began_at=now
        )
    alarm.text, alarm.well_since = finding.text, None
    opens = alarm.opened_at is None and now - alarm.began_at >= timedelta(seconds=rule.holds)
    if opens:
        alarm.opened_at = now
    alarm.save()
    if opens:
        _publish("alarm.opened", alarm, f"{alarm.text} {rule.advice}", now)


def _resolve(alarm: Alarm, now: datetime) -> None:
    if alarm.opened_at is None:
        alarm.delete()
        return
    alarm.well_since = alarm.well_since or now
    rule = BY_NAME.get(alarm.name)
    if rule is None or now - alarm.well_since >= timedelta(seconds=rule.calm):
        alarm.closed_at = now
        lasted = duration(alarm.well_since - alarm.began_at)
        _publish("alarm.closed", alarm, f"Resolved after {lasted}. It was: {alarm.text}", now)
    alarm.save(update_fields=["well_since", "closed_at"])


def _publish(kind: str, alarm: Alarm, text: str, now: datetime) -> None:
    rule = BY_NAME.get(alarm.name)
    title = alarm.name if rule is None else rule.title
    data: dict[str, Any] = {
        "alarmId": alarm.pk,
        "name": alarm.name,
        "subject": alarm.subject,
        "severity": alarm.severity,
        "since": alarm.began_at.isoformat(),
    }
    about = f"{title}: {alarm.subject}" if alarm.subject else title
    publish(kind, about=about, text=text, data=data, now=now, once=f"{kind}:{alarm.pk}")
