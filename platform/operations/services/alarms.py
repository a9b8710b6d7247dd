"""Alarms: opened when a rule's condition has held for its time, closed once it is over."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F

from alerts.services.events import publish
from operations import store
from operations.models import Alarm
from operations.readings.present import Readings
from operations.rules.rule import CATALOGUE, Finding, Rule
from operations.rules.table import BY_NAME, RULES
from staff.formatting import duration

# Alarms on one page.
_SHOWN = 200
CLOSED_KEPT = timedelta(days=90)


class AlarmStorage(Protocol):
    """Where alarms are kept, and how their events are published."""

    def save(self, alarm: Alarm) -> None: ...

    def remove(self, alarm: Alarm) -> None: ...

    def publish(
        self, kind: str, alarm: Alarm, *, about: str, text: str, data: dict[str, Any], now: datetime
    ) -> None: ...


class _Database:
    """Rows, and events that the worker delivers."""

    def save(self, alarm: Alarm) -> None:
        alarm.save()

    def remove(self, alarm: Alarm) -> None:
        alarm.delete()

    def publish(
        self, kind: str, alarm: Alarm, *, about: str, text: str, data: dict[str, Any], now: datetime
    ) -> None:
        data = {"alarmId": alarm.pk, **data}
        publish(kind, about=about, text=text, data=data, now=now, once=once_of(kind, alarm))


_DATABASE = _Database()


@transaction.atomic
def evaluate(readings: Readings, *, now: datetime) -> None:
    """Every rule against the readings. One caller at a time."""
    follow(readings, store.lock_unclosed(), _DATABASE, now)


def follow(
    readings: Readings,
    unclosed: Mapping[tuple[str, str], Alarm],
    storage: AlarmStorage,
    now: datetime,
) -> None:
    """Every rule against the readings, with the alarms that are not closed."""
    unclosed = dict(unclosed)
    for rule in RULES:
        findings = rule.check(readings)
        if findings is None:  # not known now: its alarms stay as they are
            unclosed = {key: alarm for key, alarm in unclosed.items() if key[0] != rule.name}
            continue
        _hold(rule, findings, unclosed, storage, now)
    for alarm in unclosed.values():
        _resolve(alarm, storage, now)


@transaction.atomic
def evaluate_rule(rule: Rule, findings: Iterable[Finding], *, now: datetime) -> None:
    """One rule alone. One caller at a time."""
    follow_rule(rule, findings, store.lock_unclosed(rule.name), _DATABASE, now)


def follow_rule(
    rule: Rule,
    findings: Iterable[Finding],
    unclosed: Mapping[tuple[str, str], Alarm],
    storage: AlarmStorage,
    now: datetime,
) -> None:
    """One rule alone, with its alarms that are not closed."""
    unclosed = dict(unclosed)
    _hold(rule, findings, unclosed, storage, now)
    for alarm in unclosed.values():
        _resolve(alarm, storage, now)


def once_of(kind: str, alarm: Alarm) -> str:
    """The name of the alarm's only event of the kind."""
    return f"{kind}:{alarm.pk}"


def acknowledge(alarm_id: int, *, user_id: int | None, now: datetime) -> bool:
    """By a user, or (None) by a program with a root key. False if it was acknowledged before, or is
    closed.
    """
    waiting = store.open_alarms().filter(pk=alarm_id, acknowledged_at__isnull=True)
    return waiting.update(acknowledged_at=now, acknowledged_by=user_id) == 1


def runbook_url(name: str) -> str:
    """The public address of the rule's paragraph in the docs; of their page for an unknown rule."""
    rule = BY_NAME.get(name)
    return f"{settings.PUBLIC_URL}{CATALOGUE if rule is None else rule.paragraph}"


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
    rule: Rule,
    findings: Iterable[Finding],
    unclosed: dict[tuple[str, str], Alarm],
    storage: AlarmStorage,
    now: datetime,
) -> None:
    """Creates or updates an alarm for each subject, and removes it from the unclosed ones."""
    # Customers name some subjects: two alike must not end the watch over everything else.
    by_subject = {finding.subject[:200]: finding for finding in findings}
    for subject, finding in by_subject.items():
        alarm = unclosed.pop((rule.name, subject), None)
        _holds(rule, finding, alarm, storage, now)


def _holds(
    rule: Rule, finding: Finding, alarm: Alarm | None, storage: AlarmStorage, now: datetime
) -> None:
    if alarm is None:
        alarm = Alarm(
            name=rule.name, subject=finding.subject[:200], severity=rule.severity, began_at=now
        )
    if alarm.opened_at is None:
        alarm.began_at = min(alarm.began_at, now)  # the clock may have been set back
    alarm.text, alarm.well_since = finding.text, None
    opens = alarm.opened_at is None and now - alarm.began_at >= timedelta(seconds=rule.holds)
    if opens:
        alarm.opened_at = now
    storage.save(alarm)
    if opens:
        _publish("alarm.opened", alarm, f"{alarm.text} {rule.advice}", storage, now)


def _resolve(alarm: Alarm, storage: AlarmStorage, now: datetime) -> None:
    if alarm.opened_at is None:
        storage.remove(alarm)
        return
    alarm.well_since = min(alarm.well_since or now, now)
    rule = BY_NAME.get(alarm.name)
    if rule is None or now - alarm.well_since >= timedelta(seconds=rule.calm):
        alarm.closed_at = now
        lasted = duration(max(alarm.well_since - alarm.began_at, timedelta()))
        text = f"Resolved after {lasted}. It was: {alarm.text}"
        _publish("alarm.closed", alarm, text, storage, now)
    storage.save(alarm)


def _publish(kind: str, alarm: Alarm, text: str, storage: AlarmStorage, now: datetime) -> None:
    rule = BY_NAME.get(alarm.name)
    title = alarm.name if rule is None else rule.title
    data: dict[str, Any] = {
        "name": alarm.name,
        "subject": alarm.subject,
        "severity": alarm.severity,
        "since": alarm.began_at.isoformat(),
        "runbookUrl": runbook_url(alarm.name),
    }
    about = f"{title}: {alarm.subject}" if alarm.subject else title
    storage.publish(kind, alarm, about=about, text=text, data=data, now=now)
