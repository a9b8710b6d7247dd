"""Event rules with a threshold: the share of transactions that land, and spending on tips."""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from alerts import rule_store
from alerts.conditions import (
    LandingShareCondition,
    TipSpendCondition,
    Trigger,
    read_condition,
)
from alerts.models import Rule
from alerts.services.rule_events import publish
from alerts.services.submission_rules import keys_of, share_event, tips_event
from priority.reports.store.counts import DAY, HOUR, STEP, floor
from priority.reports.store.key_landings import states_and_tips
from priority.submissions import SETTLED, State

TRIGGERS = (Trigger.LANDING_SHARE, Trigger.TIP_SPEND)
_COUNTED_IN = {"hour": HOUR, "day": DAY, "month": DAY}


def watch(*, now: datetime) -> None:
    """Compares each rule's threshold with what was counted last. What crossed it is written with
    the event, so that each crossing is published once.
    """
    for each in rule_store.enabled_rules(*TRIGGERS):
        with transaction.atomic():
            rule = rule_store.lock_enabled(each.pk)
            if rule is None:
                continue
            match read_condition(rule.trigger, rule.condition):
                case LandingShareCondition() as condition:
                    _watch_share(rule, condition, now)
                case TipSpendCondition() as condition:
                    _watch_tips(rule, condition, now)


def _watch_share(rule: Rule, condition: LandingShareCondition, now: datetime) -> None:
    since = floor(now - timedelta(minutes=condition.minutes), STEP)
    found = states_and_tips(keys_of(rule, condition), seconds=STEP, since=since)
    counts = {state: count for state, count, _tips in found if state in SETTLED}
    settled, landed = sum(counts.values()), counts.get(State.LANDED, 0)
    if settled < condition.least_submissions:
        return
    is_low = 100 * landed < condition.below_percent * settled
    if is_low != (rule.low_since is not None):
        rule_store.set_low_since(rule, now if is_low else None)
        publish([(rule, share_event(condition, landed, settled, now=now, is_low=is_low))], now=now)


def _watch_tips(rule: Rule, condition: TipSpendCondition, now: datetime) -> None:
    since = _began(condition.period, now)
    keys = keys_of(rule, condition)
    found = states_and_tips(keys, seconds=_COUNTED_IN[condition.period], since=since)
    lamports = sum(tips for state, _count, tips in found if state == State.LANDED)
    if lamports > condition.above_lamports:
        publish([(rule, tips_event(condition, lamports, since=since))], now=now)


def _began(period: str, now: datetime) -> datetime:
    """When the period began: an hour, day or month of UTC."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if period == "hour":
        return hour
    day = hour.replace(hour=0)
    return day if period == "day" else day.replace(day=1)
