"""Publishes events of rules."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from alerts import rule_store
from alerts.kinds import KINDS
from alerts.models import Event, Rule


class RuleEvent(NamedTuple):
    """What a rule publishes. `once` distinguishes it from all others of the rule; each
    recipient gets those of one `subject` in order.
    """

    kind: str
    about: str
    text: str
    data: dict[str, Any]
    subject: str
    once: str


def publish(rule_events: Sequence[tuple[Rule, RuleEvent]], *, now: datetime) -> None:
    """Writes an event for each, in one statement for a thousand; one that was written before stays
    the only one. Call it in the transaction of what happened.
    """
    if rule_events:
        rule_store.write_events([event(rule, each, now=now) for rule, each in rule_events])


def event(rule: Rule, rule_event: RuleEvent, *, now: datetime, test: bool = False) -> Event:
    """The event, not stored. A test is of no subject, and may be repeated."""
    assert KINDS[rule_event.kind].of_rules, f"{rule_event.kind} is not published by rules"
    return Event(
        kind=rule_event.kind,
        customer_id=rule.customer_id,
        rule=rule,
        about=rule_event.about[:200],
        text=rule_event.text,
        data={**rule_data(rule), **rule_event.data, "test": test},
        subject="" if test else rule_event.subject,
        once=None if test else f"rule {rule.pk}: {rule_event.once}",
        at=now,
    )


def rule_data(rule: Rule) -> dict[str, Any]:
    """The members of an event's data that identify its rule."""
    return {"ruleId": rule.pk, "ruleName": rule.name}
