"""Publishes events of rules."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from alerts import rule_store
from alerts.kinds import KINDS
from alerts.models import Event, Rule


class Happening(NamedTuple):
    """What a rule publishes. `once` distinguishes it from all others of the rule; each
    recipient gets those of one `subject` in order.
    """

    kind: str
    about: str
    text: str
    data: dict[str, Any]
    subject: str
    once: str


def publish(happenings: Sequence[tuple[Rule, Happening]], *, now: datetime) -> None:
    """Writes an event for each, in one statement for a thousand; one that was written before stays
    the only one. Call it in the transaction of what happened.
    """
    if happenings:
        rule_store.write_events([event(rule, each, now=now) for rule, each in happenings])


def event(rule: Rule, happening: Happening, *, now: datetime, test: bool = False) -> Event:
    """The event, not stored. A test is of no subject, and may be repeated."""
    assert KINDS[happening.kind].of_rules, f"{happening.kind} is not published by rules"
    return Event(
        kind=happening.kind,
        customer_id=rule.customer_id,
        rule=rule,
        about=happening.about[:200],
        text=happening.text,
        data={**rule_data(rule), **happening.data, "test": test},
        subject="" if test else happening.subject,
        once=None if test else f"rule {rule.pk}: {happening.once}",
        at=now,
    )


def rule_data(rule: Rule) -> dict[str, Any]:
    """The members of an event's data that identify its rule."""
    return {"ruleId": rule.pk, "ruleName": rule.name}
