"""Events of submissions: final fates, the share that lands, and spending on tips."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from access.models import ApiKey
from access.store import key_ids_of_customer, keys_by_id
from alerts import rule_store
from alerts.conditions import (
    LandingShareCondition,
    OfKeys,
    SubmissionCondition,
    TipSpendCondition,
    Trigger,
    read_condition,
)
from alerts.models import Rule
from alerts.services.key_events import iso, key_data
from alerts.services.rule_events import RuleEvent, publish
from staff.formatting import counted, utc

TRIGGER = Trigger.SUBMISSION


class Fate(NamedTuple):
    """A final fate: `state` is landed, failed, expired or refused."""

    key_id: int
    signature: str
    state: str
    slot: int | None
    transaction_index: int | None
    err: Any
    reason: str
    bundle_id: str


def publish_fates(fates: Sequence[Fate], *, now: datetime) -> None:
    """Publishes the fates as their customers' rules say: call it in the transaction that stores
    them. Two queries and a statement for any number; one query without rules.
    """
    key_ids = {fate.key_id for fate in fates}
    rules = rule_store.rules_of_keys(TRIGGER, key_ids) if key_ids else []
    if not rules:
        return
    keys = {key.pk: key for key in keys_by_id(key_ids)}
    wanted: dict[int, list[tuple[Rule, SubmissionCondition]]] = defaultdict(list)
    for rule in rules:
        condition = read_condition(rule.trigger, rule.condition)
        assert isinstance(condition, SubmissionCondition)
        wanted[rule.customer_id].append((rule, condition))
    publish(
        [
            (rule, fate_event(fate, keys[fate.key_id]))
            for fate in fates
            if fate.key_id in keys
            for rule, condition in wanted[keys[fate.key_id].customer_id]
            if fate.state in condition.states and condition.concerns(fate.key_id)
        ],
        now=now,
    )


def subject_of(signature: str) -> str:
    """The subject of a transaction's events: each recipient gets these in order."""
    return f"transaction {signature}"


_TEXTS = {
    "landed": "{} is in slot {}, finalized, without an error.",
    "failed": "{} is in slot {}, finalized, and failed.",
    "expired": "{} is in no block, and can never be in one: {}.",
    "refused": "{} was not sent, since no upstream took it, and can never be in a block: {}.",
}


def fate_event(fate: Fate, key: ApiKey) -> RuleEvent:
    which = fate.slot if fate.slot is not None else fate.reason
    return RuleEvent(
        f"submission.{fate.state}",
        about=f"transaction {fate.signature}",
        text=_TEXTS[fate.state].format(f"Transaction {fate.signature}", which),
        data={
            **key_data(key),
            "signature": fate.signature,
            "bundleId": fate.bundle_id or None,
            "slot": fate.slot,
            "transactionIndex": fate.transaction_index,
            "err": fate.err,
            "reason": fate.reason or None,
        },
        subject=subject_of(fate.signature),
        once=f"{fate.signature} {fate.state}",
    )


def keys_of(rule: Rule, condition: OfKeys) -> list[int]:
    """The keys whose submissions the rule counts."""
    return condition.keys or key_ids_of_customer(rule.customer_id)


def share_event(
    condition: LandingShareCondition, landed: int, settled: int, *, now: datetime, is_low: bool
) -> RuleEvent:
    percent = round(100 * landed / settled, 1)
    verb = "below" if is_low else "no longer below"
    return RuleEvent(
        f"landing_share.{'low' if is_low else 'recovered'}",
        about=f"{percent:g} % landed",
        text=f"{landed:,} of {settled:,} settled transactions landed, {percent:g} %: {verb} the"
        f" threshold of {condition.below_percent} %.",
        data={
            "landed": landed,
            "settled": settled,
            "percent": percent,
            "belowPercent": condition.below_percent,
            "minutes": condition.minutes,
        },
        subject="landing share",
        once=f"{'low' if is_low else 'recovered'} {now.isoformat()}",
    )


def tips_event(condition: TipSpendCondition, lamports: int, *, since: datetime) -> RuleEvent:
    return RuleEvent(
        "tips.above",
        about=f"{counted(lamports, 'lamport')} of tips",
        text=f"Tips since {utc(since)} are {counted(lamports, 'lamport')}, above the"
        f" threshold of {counted(condition.above_lamports, 'lamport')} a {condition.period}.",
        data={
            "lamports": lamports,
            "aboveLamports": condition.above_lamports,
            "period": condition.period,
            "since": iso(since),
        },
        subject="tip spend",
        once=f"{condition.period} {since:%Y-%m-%d %H} {condition.above_lamports}",
    )
