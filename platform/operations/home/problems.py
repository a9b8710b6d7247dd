"""What is wrong now: open alarms, and what is about to be one, with what to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.http import HttpRequest

from operations.home import fixes
from operations.home.cards import link_to
from operations.home.fixes import Button
from operations.models import Alarm
from operations.readings.present import Readings
from operations.rules.commands import Command
from operations.rules.rule import Rule
from operations.rules.table import BY_NAME
from operations.services import alarms, held_alarms
from operations.services.findings import Found


@dataclass(frozen=True, slots=True)
class Item:
    """One subject of a rule. `since` is None where it was just found; `alarm` where it has not held
    for long enough to be one, or cannot be stored. `is_over`: nothing is found any more, the alarm
    closes in a moment.
    """

    subject: str
    text: str
    since: datetime | None
    alarm: Alarm | None
    is_over: bool
    page: str
    buttons: list[Button]
    commands: Sequence[Command]


@dataclass(slots=True)
class Problem:
    """What one rule found, with its advice once; `rule` is None for one of another version."""

    name: str
    title: str
    hue: str
    severity: str
    advice: str
    rule: Rule | None = None
    items: list[Item] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return all(each.is_over for each in self.items)


def problems(
    request: HttpRequest, readings: Readings, found: Sequence[Found]
) -> tuple[list[Problem], int]:
    """By rule, critical ones first, what is over last; and the number of subjects."""
    held = {(each.name, each.subject): each for each in held_alarms.open_alarms()}
    items = list(_items(request, readings, found, held | alarms.unclosed()))
    by_rule: dict[str, Problem] = {}
    for name, item in items:
        by_rule.setdefault(name, _problem(name, item)).items.append(item)
    ordered = sorted(by_rule.values(), key=lambda each: (each.is_over, each.hue != "bad"))
    return ordered, len(items)


def _items(
    request: HttpRequest,
    readings: Readings,
    found: Sequence[Found],
    unclosed: dict[tuple[str, str], Alarm],
) -> Iterable[tuple[str, Item]]:
    for each in found:
        alarm = unclosed.pop(each.key, None)
        yield each.rule.name, _item(request, readings, each.key, each.finding.text, alarm)
    for key, alarm in unclosed.items():
        if alarm.opened_at is not None:
            yield alarm.name, _item(request, readings, key, alarm.text, alarm, is_over=True)


def _item(
    request: HttpRequest,
    readings: Readings,
    key: tuple[str, str],
    text: str,
    alarm: Alarm | None,
    *,
    is_over: bool = False,
) -> Item:
    rule = None if is_over else BY_NAME.get(key[0])
    may_run = request.user.has_perm("operations.change_alarm")
    return Item(
        subject=key[1],
        text=text,
        since=None if alarm is None else alarm.began_at,
        alarm=None if alarm is None or alarm.opened_at is None or alarm.pk is None else alarm,
        is_over=is_over,
        page=page_to_act(request, *key),
        buttons=[] if rule is None else fixes.buttons(request, rule.buttons(key[1], readings)),
        commands=rule.commands(key[1], readings) if rule is not None and may_run else [],
    )


def _problem(name: str, item: Item) -> Problem:
    rule = BY_NAME.get(name)
    if rule is None:  # of another version
        severity = "warning" if item.alarm is None else item.alarm.severity
        return Problem(name, name, "bad" if severity == "critical" else "warning", severity, "")
    return Problem(name, rule.title, rule.hue, str(rule.severity), rule.advice, rule)


def page_to_act(request: HttpRequest, name: str, subject: str) -> str:
    """The page to act on an alarm; empty if there is none, or the user may not see it."""
    rule = BY_NAME.get(name)
    page = rule.place_of(subject).page if rule is not None else ""
    if rule is None or not page:
        return ""
    app, _, rest = page.partition("_")
    model = rest.removesuffix("_changelist")
    address = link_to(request, page, _PERMISSIONS.get(page) or f"{app}.view_{model}")
    return f"{address}?{rule.query}" if address and rule.query else address


# The permission for pages that are no model's list.
_PERMISSIONS = {"priority_landing": "priority.view_submission"}
