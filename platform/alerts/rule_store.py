"""Queries on rules, their events and deliveries."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery

from access.models import ApiKey, Customer
from alerts.models import Attempt, Delivery, Event, Rule, Webhook
from columns.queries import execute

_AT_ONCE = 1_000


def create_rule(**values: Any) -> Rule:
    return Rule.objects.create(**values)


def rules_of(customer_id: int) -> QuerySet[Rule]:
    return Rule.objects.filter(customer=customer_id).select_related("webhook")


def count_rules(customer_id: int) -> int:
    """The number of rules of the customer. Locks the customer, so that no other transaction adds a
    rule meanwhile.
    """
    Customer.objects.select_for_update(no_key=True).get(pk=customer_id)
    return Rule.objects.filter(customer=customer_id).count()


def lock_rule(rule_id: int) -> Rule:
    return Rule.objects.select_for_update(no_key=True).get(pk=rule_id)


def rules_posting_to(webhook_id: int) -> list[str]:
    return list(Rule.objects.filter(webhook=webhook_id).values_list("name", flat=True))


def webhook_of(customer_id: int, webhook_id: int) -> Webhook | None:
    return Webhook.objects.filter(pk=webhook_id, customer=customer_id).first()


def keys_among(customer_id: int, key_ids: Collection[int]) -> set[int]:
    """Those of the keys that are the customer's."""
    found = ApiKey.objects.filter(pk__in=key_ids, customer=customer_id)
    return set(found.values_list("pk", flat=True))


def delete_rule(rule: Rule) -> None:
    """Deletes the rule with its events and deliveries, without reading them."""
    Attempt.objects.filter(delivery__rule=rule).delete()
    execute("DELETE FROM alerts_delivery WHERE rule_id = %s", [rule.pk])
    execute("DELETE FROM alerts_event WHERE rule_id = %s", [rule.pk])
    rule.delete()


def enabled_rules(*triggers: str) -> list[Rule]:
    return list(Rule.objects.filter(trigger__in=triggers, is_enabled=True).order_by("pk"))


def rules_of_keys(trigger: str, key_ids: Collection[int]) -> list[Rule]:
    """Enabled rules of the keys' customers."""
    customers = ApiKey.objects.filter(pk__in=key_ids).values("customer")
    found = Rule.objects.filter(trigger=trigger, is_enabled=True, customer__in=customers)
    return list(found.order_by("pk"))


def lock_enabled(rule_id: int) -> Rule | None:
    """None if it is off, gone, or another worker has it."""
    rows = Rule.objects.select_for_update(no_key=True, skip_locked=True)
    return rows.filter(pk=rule_id, is_enabled=True).first()


def set_low_since(rule: Rule, moment: datetime | None) -> None:
    Rule.objects.filter(pk=rule.pk).update(low_since=moment)


def write_events(events: Sequence[Event]) -> None:
    """Writes those whose `once` has no event yet."""
    Event.objects.bulk_create(events, ignore_conflicts=True, batch_size=_AT_ONCE)


def rules_by_id(rule_ids: Collection[int]) -> dict[int, Rule]:
    """The rules with their webhooks."""
    return Rule.objects.select_related("webhook").in_bulk(list(rule_ids))


def waiting_by_rule(rule_ids: Collection[int]) -> dict[int, int]:
    """How many deliveries of each rule wait."""
    waiting = Delivery.objects.filter(rule__in=rule_ids, state=Delivery.State.WAITING)
    return dict(waiting.order_by().values_list("rule").annotate(Count("pk")))


def to_replay(rule: Rule, since: datetime, until: datetime, states: Collection[str]) -> list[int]:
    """The rule's deliveries of events from then on and before then, in these states."""
    # Not a join: if its statistics are older than a burst, PostgreSQL compares each event of the
    # time with each delivery of the rule.
    event_at = Subquery(Event.objects.filter(pk=OuterRef("event")).values("at"))
    chosen = Delivery.objects.filter(rule=rule, state__in=states).annotate(event_at=event_at)
    within = chosen.filter(event_at__gte=since, event_at__lt=until)
    return list(within.order_by("pk").values_list("pk", flat=True))


def queue_again(delivery_ids: Sequence[int], now: datetime) -> None:
    Delivery.objects.filter(pk__in=delivery_ids).update(
        state=Delivery.State.WAITING, tries=0, due_at=now, delivered_at=None
    )
