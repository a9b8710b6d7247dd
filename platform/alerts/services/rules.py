"""Managing a customer's event rules."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from alerts import rule_store, store
from alerts.conditions import OfKeys, Trigger, read_condition, stored
from alerts.errors import (
    ConditionInvalid,
    NoRecipient,
    ReplayTooLarge,
    RuleIsOff,
    TooManyRules,
)
from alerts.models import Delivery, Rule, Webhook
from alerts.services import rule_samples
from alerts.services.rule_events import event
from alerts.services.webhooks import named

MOST_REPLAYED = 10_000
OFF_BY_HAND = "switched off by hand"


def most_rules() -> int:
    """How many rules a customer can have."""
    return int(settings.EVENT_RULES)


@transaction.atomic
def create(
    customer_id: int,
    *,
    name: str,
    trigger: str,
    condition: Mapping[str, Any],
    now: datetime,
    webhook: Webhook | None = None,
    mails: bool = False,
) -> Rule:
    """Creates an enabled rule, about what happens from now on. Raises NameMissing,
    ConditionInvalid, NoRecipient and TooManyRules.
    """
    most = most_rules()
    if rule_store.count_rules(customer_id) >= most:
        rules = "rule" if most == 1 else "rules"
        raise TooManyRules(f"A customer can have {most} event {rules}: delete one first")
    _check_recipient(customer_id, webhook, mails=mails)
    return rule_store.create_rule(
        customer_id=customer_id,
        name=named(name, "A rule"),
        trigger=Trigger(trigger).value,
        condition=_condition(customer_id, trigger, condition),
        webhook=webhook,
        mails=mails,
        enabled_at=now,
    )


@transaction.atomic
def edit(rule_id: int, **changes: Any) -> Rule:
    """Changes `name`, `condition`, `webhook` or `mails`; the trigger stays. Raises as `create`."""
    rule = rule_store.lock_rule(rule_id)
    for name in changes:
        assert name in ("name", "condition", "webhook", "mails"), name
    if "name" in changes:
        rule.name = named(changes["name"], "A rule")
    if "condition" in changes:
        rule.condition = _condition(rule.customer_id, rule.trigger, changes["condition"])
        rule.low_since = None
    if "webhook" in changes:
        rule.webhook = changes["webhook"]
    if "mails" in changes:
        rule.mails = changes["mails"]
    _check_recipient(rule.customer_id, rule.webhook, mails=rule.mails)
    rule.save(update_fields=["name", "condition", "low_since", "webhook", "mails"])
    return rule


@transaction.atomic
def enable(rule_id: int, *, now: datetime) -> Rule:
    """Enables the rule, for what happens from now on."""
    rule = rule_store.lock_rule(rule_id)
    if not rule.is_enabled:
        rule.is_enabled, rule.enabled_at = True, now
        rule.disabled_reason, rule.low_since = "", None
        rule.save(update_fields=["is_enabled", "enabled_at", "disabled_reason", "low_since"])
    return rule


@transaction.atomic
def disable(rule_id: int, *, reason: str = OFF_BY_HAND) -> Rule:
    """Disables the rule: it publishes nothing more. What was published is still delivered."""
    rule = rule_store.lock_rule(rule_id)
    if rule.is_enabled:
        rule.is_enabled, rule.disabled_reason = False, reason[:200]
        rule.save(update_fields=["is_enabled", "disabled_reason"])
    return rule


@transaction.atomic
def delete(rule_id: int) -> None:
    """Deletes the rule with its events and the record of their deliveries."""
    rule_store.delete_rule(rule_store.lock_rule(rule_id))


@transaction.atomic
def send_test(rule_id: int, *, now: datetime) -> list[Delivery]:
    """Delivers an example of the rule's events, with `test` set, to its recipients. Raises
    RuleIsOff and NoRecipient.
    """
    rule = rule_store.lock_rule(rule_id)
    if not rule.is_enabled:
        raise RuleIsOff(f"{rule} is off: enable it first")
    deliveries = recipients(rule)
    if not deliveries:
        raise NoRecipient(
            f"{rule} has no recipient: its webhook is off, or there is no mail address"
        )
    example = event(rule, rule_samples.example(rule, now=now), now=now, test=True)
    example.text = f"This is a test. No action is needed. {example.text}"
    example.spread_at = now
    example.save()
    for each in deliveries:
        each.event, each.due_at = example, now
    store.write_deliveries(deliveries, [example], now)
    return store.newest_deliveries(rule, len(deliveries))


def recipients(rule: Rule) -> list[Delivery]:
    """A delivery to each recipient of the rule, without its event: to its webhook if that is
    enabled, and to the customer's mail addresses.
    """
    found = []
    if rule.webhook is not None and rule.webhook.is_enabled:
        found.append(Delivery(rule=rule, webhook=rule.webhook))
    if rule.mails:
        addresses = store.addresses_of(rule.customer_id)
        found += [Delivery(rule=rule, mail_to=each) for each in addresses]
    return found


@transaction.atomic
def replay(
    rule_id: int,
    *,
    since: datetime,
    until: datetime,
    now: datetime,
    states: Sequence[str] = (Delivery.State.DELIVERED, Delivery.State.FAILED),
) -> int:
    """Queues the rule's deliveries of that time again, in these states, each with its webhook-id;
    how many. They are delivered in order again. Raises ReplayTooLarge.
    """
    rule = rule_store.lock_rule(rule_id)
    chosen = rule_store.to_replay(rule, since, until, states)
    if len(chosen) > MOST_REPLAYED:
        raise ReplayTooLarge(
            f"{len(chosen):,} deliveries are of that time; one replay queues at most"
            f" {MOST_REPLAYED:,}: choose a shorter time"
        )
    rule_store.queue_again(chosen, now)
    return len(chosen)


def _condition(customer_id: int, trigger: str, given: Mapping[str, Any]) -> dict[str, Any]:
    condition = read_condition(trigger, given)
    if isinstance(condition, OfKeys):
        unknown = set(condition.keys) - rule_store.keys_among(customer_id, condition.keys)
        if unknown:
            named = ", ".join(map(str, sorted(unknown)))
            raise ConditionInvalid(f"`keys`: the customer has no API key {named}")
    return stored(condition)


def _check_recipient(customer_id: int, webhook: Webhook | None, *, mails: bool) -> None:
    if webhook is None and not mails:
        raise NoRecipient("A rule needs a webhook, or mails: choose one of them")
    if webhook is not None and rule_store.webhook_of(customer_id, webhook.pk) is None:
        raise NoRecipient("The webhook is not the customer's")
