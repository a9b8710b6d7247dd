"""The kinds of events that webhooks and mails deliver."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Audience(enum.Enum):
    """Who receives a kind of event."""

    CUSTOMER = "customer"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: `name` is stable, `title` begins a mail's subject, `meaning` says when it
    is sent, `page` is the name of the URL to act at with the member of `data` that it takes,
    `fields` are the members of `data` except COMMON_FIELDS, each with its meaning. Those
    `of_rules` go where a customer's rule says, and to no one else.
    """

    name: str
    audience: Audience
    title: str
    meaning: str
    page: tuple[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)
    of_rules: bool = False


# Members of `data` in every event.
COMMON_FIELDS: Mapping[str, str] = {
    "about": "what the event is about",
    "text": "a description in one or two sentences",
}

_KEY = {
    "keyId": "number of the key, as in the portal's address",
    "name": "the key's name",
    "prefix": "the first characters of its secret",
    "lastFour": "the last four characters of its secret",
    "environment": "the key's environment, as its owner wrote it; may be empty",
}
_EXPIRY = {"expiresAt": "when the key expires, UTC (ISO 8601)"}
_QUOTA = {
    "used": "calls of this month",
    "limit": "calls that the month has",
    "resetsAt": "when the next month begins, UTC (ISO 8601)",
}
_WEBHOOK = {
    "webhookId": "number of the webhook",
    "name": "the webhook's name",
    "host": "the host that it posts to",
}
_ALARM = {
    "alarmId": "number of the alarm",
    "name": "the rule that opened it",
    "subject": "what it concerns; may be empty",
    "severity": "its severity",
    "since": "when it began, UTC (ISO 8601)",
    "runbookUrl": "the paragraph of the docs on the rule: when it opens, and what to do",
}
_SUBMISSION = {
    **_KEY,
    "signature": "the transaction's signature, base58",
    "bundleId": "the bundle that it was submitted in; null if it was submitted alone",
    "reason": "why, as in the fate's `sendingStopped`",
}
_RULE = {
    "ruleId": "number of the rule",
    "ruleName": "the rule's name",
}
_TEST = {"test": "true in a test of the rule, whose other members are examples"}
_FATE = {
    **_RULE,
    **_KEY,
    "signature": "the transaction's signature, base58",
    "bundleId": "the bundle that it was submitted in; null if it was submitted alone, or by another"
    " customer first",
    "slot": "the slot of its block; null if it is in none",
    "transactionIndex": "its index in the block; null if unknown",
    "err": "the error, as in `getTransaction`; null without one",
    "reason": "why it is in no block; null otherwise",
    **_TEST,
}
_SHARE = {
    **_RULE,
    "landed": "landed transactions",
    "settled": "settled transactions",
    "percent": "their share, in percent",
    "belowPercent": "the rule's threshold",
    "minutes": "the time that was counted",
    **_TEST,
}
_WRITE = {
    **_RULE,
    "address": "the account that was written",
    "slot": "the slot, finalized",
    "blockTime": "the block's time in Unix seconds; null if unknown",
    "signature": "the transaction that wrote last; null for a write outside transactions",
    "lamports": "the balance after the slot",
    "owner": "the owning program after the slot",
    "dataSize": "bytes of the account's data after the slot",
    **_TEST,
}
_FATES = ("portal:fate", "signature")
_RULES = ("portal:rule", "ruleId")
_KEYS, _HOOKS = ("portal:key", "keyId"), ("portal:webhook", "webhookId")
_ALARMS = ("admin:operations_alarm_change", "alarmId")

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "key.expiring",
            Audience.CUSTOMER,
            "API key expires soon",
            "a key expires within seven days, and again within one",
            _KEYS,
            {**_KEY, **_EXPIRY, "daysLeft": "7 or 1: which of the two notices this is"},
        ),
        Kind(
            "key.expired",
            Audience.CUSTOMER,
            "API key has expired",
            "a key has expired: calls with it are answered 401",
            _KEYS,
            {**_KEY, **_EXPIRY},
        ),
        Kind(
            "key.rotated",
            Audience.CUSTOMER,
            "API key was rotated",
            "a key was rotated: the old one works as well until it expires",
            _KEYS,
            {**_KEY, **_EXPIRY, "successorId": "number of the new key"},
        ),
        Kind(
            "key.suspended",
            Audience.CUSTOMER,
            "API key was suspended",
            "a key was suspended: calls with it are answered 403 until it is resumed",
            _KEYS,
            _KEY,
        ),
        Kind(
            "key.resumed",
            Audience.CUSTOMER,
            "API key works again",
            "a suspended key works again",
            _KEYS,
            _KEY,
        ),
        Kind(
            "key.revoked",
            Audience.CUSTOMER,
            "API key was revoked",
            "a key was revoked for good: calls with it are answered 401",
            _KEYS,
            _KEY,
        ),
        Kind(
            "quota.warning",
            Audience.CUSTOMER,
            "80 % of the month's calls are used",
            "80 % of a key's monthly calls are used",
            _KEYS,
            {**_KEY, **_QUOTA},
        ),
        Kind(
            "quota.reached",
            Audience.CUSTOMER,
            "The month's calls are used up",
            "all of a key's monthly calls are used: calls are answered 429 until the next month",
            _KEYS,
            {**_KEY, **_QUOTA},
        ),
        Kind(
            "submission.stopped",
            Audience.CUSTOMER,
            "Transaction is not sent any more",
            "a transaction on a durable nonce was sent for long enough: it can still land, and its"
            " nonce is watched",
            _FATES,
            _SUBMISSION,
        ),
        Kind(
            "submission.watch_ended",
            Audience.CUSTOMER,
            "Transaction's fate stays unknown",
            "the nonce of a transaction is not watched any more, and could still take it",
            _FATES,
            _SUBMISSION,
        ),
        Kind(
            "submission.landed",
            Audience.CUSTOMER,
            "Transaction landed",
            "a transaction is in a finalized block, without an error",
            _FATES,
            _FATE,
            of_rules=True,
        ),
        Kind(
            "submission.failed",
            Audience.CUSTOMER,
            "Transaction failed on chain",
            "a transaction is in a finalized block, with an error",
            _FATES,
            _FATE,
            of_rules=True,
        ),
        Kind(
            "submission.expired",
            Audience.CUSTOMER,
            "Transaction expired",
            "a transaction is lost: it was sent, is in no block and can never be in one",
            _FATES,
            _FATE,
            of_rules=True,
        ),
        Kind(
            "submission.refused",
            Audience.CUSTOMER,
            "Transaction was refused",
            "a transaction is lost: no upstream took it, and it can never be in a block",
            _FATES,
            _FATE,
            of_rules=True,
        ),
        Kind(
            "landing_share.low",
            Audience.CUSTOMER,
            "Fewer transactions land",
            "the share of landed transactions fell below a rule's threshold",
            _RULES,
            _SHARE,
            of_rules=True,
        ),
        Kind(
            "landing_share.recovered",
            Audience.CUSTOMER,
            "Transactions land again",
            "the share of landed transactions is no longer below a rule's threshold",
            _RULES,
            _SHARE,
            of_rules=True,
        ),
        Kind(
            "tips.above",
            Audience.CUSTOMER,
            "Spending on tips exceeds its threshold",
            "the tips of landed transactions exceed a rule's threshold, once for each period",
            _RULES,
            {
                **_RULE,
                "lamports": "tips of the period so far",
                "aboveLamports": "the rule's threshold",
                "period": "hour, day or month",
                "since": "when the period began, UTC (ISO 8601)",
                **_TEST,
            },
            of_rules=True,
        ),
        Kind(
            "account.written",
            Audience.CUSTOMER,
            "Account was written",
            "an account was written, once for each slot that wrote it",
            _RULES,
            _WRITE,
            of_rules=True,
        ),
        Kind(
            "program_account.written",
            Audience.CUSTOMER,
            "Account of a program was written",
            "an account of a program was written, once for each slot that wrote it",
            _RULES,
            {**_WRITE, "program": "the rule's program"},
            of_rules=True,
        ),
        Kind(
            "address.mentioned",
            Audience.CUSTOMER,
            "Transaction mentions an address",
            "a transaction in a finalized block mentions an address",
            _RULES,
            {
                **_RULE,
                "address": "the rule's address",
                "signature": "the transaction's signature, base58",
                "slot": "the slot, finalized",
                "transactionIndex": "its index in the block",
                "blockTime": "the block's time in Unix seconds; null if unknown",
                "outcome": "`landed`, `failed`, or `unknown`: its block came without its status",
                "err": "the error, as in `getTransaction`; null without one",
                **_TEST,
            },
            of_rules=True,
        ),
        Kind(
            "rule.disabled",
            Audience.CUSTOMER,
            "Event rule was switched off",
            "a rule published more events than its recipients accepted, and is off",
            _RULES,
            {**_RULE, "reason": "why it is off"},
        ),
        Kind(
            "webhook.disabled",
            Audience.CUSTOMER,
            "Webhook was switched off",
            "a webhook failed for three days, or answered 410 Gone, and is off",
            _HOOKS,
            {**_WEBHOOK, "reason": "why it is off"},
        ),
        Kind(
            "test",
            Audience.CUSTOMER,
            "Test",
            "a test of the webhook was requested",
            _HOOKS,
            _WEBHOOK,
        ),
        Kind(
            "alarm.opened",
            Audience.STAFF,
            "Alarm",
            "an alarm of the service was opened",
            _ALARMS,
            _ALARM,
        ),
        Kind(
            "alarm.closed",
            Audience.STAFF,
            "Alarm is over",
            "an alarm of the service was closed",
            _ALARMS,
            _ALARM,
        ),
    )
}

# Kinds about a webhook itself: the staff has webhooks too.
OF_BOTH = frozenset({"test", "webhook.disabled"})


def kinds_for(*, staff: bool) -> list[Kind]:
    """The kinds that a webhook of this audience can choose; tests are always delivered, and events
    of rules as the rules say.
    """
    audience = Audience.STAFF if staff else Audience.CUSTOMER
    return [
        kind
        for kind in KINDS.values()
        if kind.name != "test"
        and not kind.of_rules
        and (kind.audience is audience or kind.name in OF_BOTH)
    ]
