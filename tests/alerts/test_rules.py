"""Event rules on fates: who gets which events, once each, whatever fails."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature
from standardwebhooks import Webhook as Verifier

from access.models import Customer
from access.services import keys
from alerts.errors import (
    ConditionInvalid,
    NoRecipient,
    ReplayTooLarge,
    RuleIsOff,
    TooManyRules,
    WebhookInUse,
)
from alerts.kinds import KINDS
from alerts.models import Delivery, Event, Rule, Webhook
from alerts.services import retention, routing, rules, webhooks
from alerts.store import newest_deliveries
from priority.fates.services import settling
from priority.fates.services.announcing import FateChange
from priority.fates.services.notices import publish_stopped
from priority.fates.store.settling import FoundRow
from priority.models import Submission
from priority.submissions import State
from tests.ingest.made_chain import FAILURE, block, signature, store

pytestmark = pytest.mark.django_db
ADDRESS = str(Pubkey([7] * 32))
CONDITIONS: dict[str, dict[str, Any]] = {
    "submission": {},
    "landing_share": {"below_percent": 80},
    "tip_spend": {"above_lamports": 1},
    "account": {"address": ADDRESS},
    "program": {"program": ADDRESS, "filters": [{"dataSize": 165}]},
    "mention": {"address": ADDRESS},
}


@pytest.fixture
def rule(hook: Any, clock: Any) -> Callable[..., Rule]:
    """`rule(condition={…})`: a rule of Ada's that posts to her webhook."""

    def make(**values: Any) -> Rule:
        trigger = values.pop("trigger", "submission")
        given = {"name": "fates", "condition": CONDITIONS[trigger], "webhook": hook, **values}
        owner = given.pop("customer_id", hook.customer_id)
        return rules.create(owner, trigger=trigger, now=clock.now, **given)

    return make


@pytest.fixture
def submit(issue: Any) -> Callable[..., Submission]:
    """`submit(key)`: a submission that was sent."""

    def make(key: Any = None, **values: Any) -> Submission:
        now = timezone.now()
        return Submission.objects.create(
            signature=Signature.new_unique(),
            kind="transaction",
            key=key or issue().key,
            blockhash=bytes(32),
            accepted_at=now,
            **{"state": "sent", "sent_at": now, **values},
        )

    return make


def land(*submissions: Submission, err: str | None = None) -> None:
    found = [
        FoundRow(bytes(each.signature), 100 + number, number, err)
        for number, each in enumerate(submissions)
    ]
    settling.settle_found(found, now=timezone.now())


def lose(*submissions: Submission) -> None:
    settling.settle_lost({each.pk: "blockhash_expired" for each in submissions}, now=timezone.now())


def contents(receiver: Any) -> list[dict[str, Any]]:
    return [json.loads(body) for _path, _headers, body in receiver.got]


def test_each_fate_is_posted_signed_and_once(
    hook: Any, receiver: Any, rule: Any, submit: Any, work: Any
) -> None:
    made = rule()
    landed, failed, expired = submit(), submit(), submit()
    refused = submit(state="received", sent_at=None)
    land(landed)
    land(failed, err='{"InstructionError": [0, "InvalidArgument"]}')
    lose(expired, refused)
    land(landed, failed)  # the same blocks again
    lose(expired)
    work()
    Verifier(webhooks.secret_of(hook)).verify(receiver.got[0][2], receiver.got[0][1])
    found = {each["data"]["signature"]: each for each in contents(receiver)}
    assert len(receiver.got) == len(found) == 4
    by_fate = {"landed": landed, "failed": failed, "expired": expired, "refused": refused}
    for fate, submission in by_fate.items():
        event = found[str(submission.signature)]
        kind = KINDS[f"submission.{fate}"]
        assert event["type"] == kind.name
        assert event["data"].keys() == {*kind.fields, "about", "text"}
        assert event["data"]["ruleId"] == made.pk and event["data"]["test"] is False
        assert event["data"]["keyId"] == submission.key_id
    data = found[str(failed.signature)]["data"]
    assert (data["slot"], data["err"]) == (100, {"InstructionError": [0, "InvalidArgument"]})
    assert found[str(refused.signature)]["data"]["reason"] == "never_sent"


def test_a_rule_is_about_its_states_its_keys_and_its_customer(
    receiver: Any, rule: Any, submit: Any, issue: Any, tier: Any, work: Any
) -> None:
    one, other = issue().key, issue().key
    eves = keys.issue_key(Customer.objects.create(name="Eve"), tier=tier(), name="eve").key
    rule(condition={"states": ["landed"], "keys": [one.pk]})
    wanted = submit(one)
    land(wanted, submit(other), submit(eves))
    lose(submit(one))
    work()
    (event,) = contents(receiver)
    assert event["data"]["signature"] == str(wanted.signature)


def test_a_receiver_that_fails_at_first_gets_every_fate_in_order(
    receiver: Any, rule: Any, submit: Any, work: Any, clock: Any
) -> None:
    """What a nonce had expired as, and then landed as, comes in this order; nothing twice by id."""
    rule()
    first, second = submit(), submit()
    receiver.fails = {1, 2}
    lose(first)
    work()
    work()
    land(first, second)  # it landed after all
    clock.move(seconds=1)
    work()
    clock.move(seconds=10)
    work()
    assert [(each["type"], each["data"]["signature"]) for each in contents(receiver)[2:]] == [
        ("submission.landed", str(second.signature)),
        ("submission.expired", str(first.signature)),
        ("submission.landed", str(first.signature)),
    ]
    ids = [headers["webhook-id"] for _path, headers, _body in receiver.got]
    assert len(set(ids)) == 3 and len(ids) == 5


def test_the_end_of_sending_comes_before_the_fate(
    receiver: Any, rule: Any, submit: Any, work: Any, clock: Any
) -> None:
    """Events that are not a rule's are of the same subject."""
    rule()
    submission = submit()
    publish_stopped([_stopped(submission, clock.now)])
    receiver.fails = {1, 2}
    work()
    work()
    land(submission)
    clock.move(seconds=1)
    work()
    assert len(receiver.got) == 2
    clock.move(seconds=10)
    work()
    assert [each["type"] for each in contents(receiver)][2:] == [
        "submission.stopped",
        "submission.landed",
    ]


def _stopped(submission: Submission, at: datetime) -> FateChange:
    return FateChange(
        key_id=submission.key_id,
        signature=bytes(submission.signature),
        state=State.SENT,
        commitment="",
        slot=None,
        transaction_index=None,
        err=None,
        reason="",
        settled=False,
        at=at,
        stopped="patience_over",
    )


def test_events_go_where_the_rule_says_and_nowhere_else(
    ada: Any, rule: Any, submit: Any, receivers: Any, receiver: Any, work: Any, mail_server: Any
) -> None:
    ada.email, ada.alert_mails = "ada@example.com", False
    ada.save()
    other = receivers()
    second = webhooks.create(ada.pk, name="other", url=other.url, kinds=["key.revoked"])
    rule(name="by mail", webhook=None, mails=True)
    rule(name="to the other", webhook=second)
    land(submit())
    work()
    assert not receiver.got, "a webhook for all kinds gets no events of rules"
    assert [each["data"]["ruleName"] for each in contents(other)] == ["to the other"]
    ((to, mail),) = mail_server.got
    assert to == ["ada@example.com"] and mail["Subject"].strip().startswith("Transaction landed")
    assert "/portal/fates/" in mail.get_content()


@pytest.mark.parametrize("trigger", CONDITIONS)
def test_a_test_has_the_members_of_an_event(
    trigger: str, rule: Any, receiver: Any, work: Any, clock: Any, ada: Any, mail_server: Any
) -> None:
    ada.email = "ada@example.com"
    ada.save()
    made = rule(trigger=trigger, mails=True)
    sent = rules.send_test(made.pk, now=clock.now)
    assert {each.mail_to for each in sent} == {"", "ada@example.com"}
    work()
    (event,) = contents(receiver)
    assert event["data"].keys() == {*KINDS[event["type"]].fields, "about", "text"}
    assert event["data"]["test"] is True
    assert "This is a test" in mail_server.got[0][1].get_content()
    assert [each.state for each in newest_deliveries(made)] == ["delivered"] * 2


def test_a_rule_that_is_off_publishes_nothing(
    rule: Any, receiver: Any, submit: Any, work: Any, clock: Any
) -> None:
    made = rule()
    land(submit())
    rules.disable(made.pk)
    land(submit())
    with pytest.raises(RuleIsOff):
        rules.send_test(made.pk, now=clock.now)
    work()
    assert len(receiver.got) == 1, "what it had published is delivered"
    rules.enable(made.pk, now=clock.now)
    land(submit())
    work()
    assert len(receiver.got) == 2


def test_deliveries_are_replayed_in_order_with_their_ids(
    rule: Any, receiver: Any, submit: Any, work: Any, clock: Any
) -> None:
    made = rule()
    for _ in range(3):
        land(submit())
    work()
    before = [headers["webhook-id"] for _path, headers, _body in receiver.got]
    since = timezone.now() - timedelta(hours=1)
    until = timezone.now() + timedelta(hours=1)
    assert rules.replay(made.pk, since=since, until=until, states=["failed"], now=clock.now) == 0
    assert rules.replay(made.pk, since=until, until=until, now=clock.now) == 0
    assert rules.replay(made.pk, since=since, until=until, now=clock.now) == 3
    work()
    assert [headers["webhook-id"] for _path, headers, _body in receiver.got] == 2 * before
    with pytest.raises(ReplayTooLarge, match="10,003 deliveries"):
        _burst(made, rules.MOST_REPLAYED, at=clock.now)
        rules.replay(made.pk, since=since, until=until, now=clock.now)


def test_a_replay_reads_each_delivery_once_however_old_the_statistics_are(
    rule: Any, clock: Any
) -> None:
    """Autovacuum counts the tables some time after a burst: as long they are small ones."""
    made = rule()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE alerts_event, alerts_delivery")
    _burst(made, 2_000, at=clock.now)
    hour, before = timedelta(hours=1), _rows_read()
    found = rules.replay(made.pk, since=clock.now - hour, until=clock.now + hour, now=clock.now)
    assert found == 2_000
    assert _rows_read() - before < 20 * 2_000


def _rows_read() -> int:
    """By this transaction, of events and deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables"
            " WHERE relname IN ('alerts_event', 'alerts_delivery')"
        )
        found: int = cursor.fetchone()[0]
    return found


def _burst(made: Rule, count: int, *, at: datetime) -> None:
    """So many failed deliveries of events at once."""
    values = {"kind": "submission.landed", "customer_id": made.customer_id, "text": "it landed"}
    events = Event.objects.bulk_create(
        Event(**values, about=str(number), rule=made, at=at, spread_at=at)
        for number in range(count)
    )
    Delivery.objects.bulk_create(
        Delivery(event=event, rule=made, webhook=made.webhook, due_at=at, state="failed")
        for event in events
    )


def test_a_rule_whose_receiver_accepts_too_little_is_switched_off(
    rule: Any, receiver: Any, submit: Any, work: Any, settings: Any, hook: Any
) -> None:
    settings.EVENT_RULE_WAITING = 2
    made, other = rule(), rule(name="lost ones", condition={"states": ["expired"]})
    land(*(submit() for _ in range(3)))
    work()
    made.refresh_from_db()
    other.refresh_from_db()
    assert (made.is_enabled, made.disabled_reason) == (False, "more than 2 of its deliveries wait")
    assert other.is_enabled
    land(submit())
    work()
    kinds = [each["type"] for each in contents(receiver)]
    assert kinds == ["submission.landed"] * 3 + ["rule.disabled"]


@pytest.mark.parametrize(
    ("trigger", "condition", "problem"),
    [
        ("submission", {"states": []}, "states"),
        ("submission", {"states": ["gone"]}, "Invalid enum value 'gone'"),
        ("submission", {"address": ADDRESS}, "`address` does not go with the trigger submission"),
        ("submission", {"keys": [10**9]}, "the customer has no API key 1000000000"),
        ("landing_share", {}, "`belowPercent` is required by the trigger landing_share"),
        ("landing_share", {"below_percent": 101}, "`int` <= 100 - at `$.belowPercent`"),
        ("landing_share", {"below_percent": 5, "minutes": 7}, "Invalid enum value 7"),
        ("tip_spend", {"above_lamports": 0}, "`int` >= 1"),
        ("account", {"address": "0OIl"}, "`address` is not a Solana address: '0OIl'"),
        ("program", {"program": ADDRESS, "filters": [{}]}, "expected one of `dataSize`, `memcmp`"),
        ("program", {"program": ADDRESS, "filters": [{"dataSize": 1}] * 5}, "length <= 4"),
        ("mention", {"address": ADDRESS, "outcome": "lost"}, "Invalid enum value 'lost'"),
    ],
)
def test_a_condition_that_cannot_be_is_refused(
    rule: Any, trigger: str, condition: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConditionInvalid) as refused:
        rule(trigger=trigger, condition=condition)
    assert problem in str(refused.value)


def test_recipients_and_counts_are_checked(
    rule: Any, hook: Any, settings: Any, receiver: Any, ada: Any, clock: Any
) -> None:
    eve = Customer.objects.create(name="Eve")
    theirs = webhooks.create(eve.pk, name="theirs", url=receiver.url)
    with pytest.raises(NoRecipient, match="not the customer's"):
        rule(webhook=theirs)
    with pytest.raises(NoRecipient, match="choose one"):
        rule(webhook=None)
    made = rule()
    with pytest.raises(NoRecipient):
        rules.edit(made.pk, webhook=None)
    settings.EVENT_RULES = 1
    with pytest.raises(TooManyRules, match="1 event rule:"):
        rule()
    webhooks.disable(hook.pk)
    with pytest.raises(NoRecipient, match="its webhook is off"):
        rules.send_test(made.pk, now=clock.now)
    with pytest.raises(WebhookInUse, match="fates"):
        webhooks.delete(hook.pk)
    ada.delete()
    assert not Rule.objects.exists() and Webhook.objects.count() == 1


def test_a_deleted_rule_takes_its_events_along_and_old_ones_are_deleted(
    rule: Any, receiver: Any, submit: Any, work: Any, clock: Any, happen: Any, ada: Any
) -> None:
    made, other = rule(), rule(name="other")
    happen(ada)
    land(submit())
    work()
    assert Event.objects.count() == Delivery.objects.count() == 3
    rules.delete(made.pk)
    assert Event.objects.count() == Delivery.objects.count() == 2
    later = clock.move(days=8)
    assert retention.delete_old_events(now=later) == 1
    assert not Event.objects.filter(rule=other).exists()
    routing.route_events(now=later, staff_mail=[])
    assert Delivery.objects.count() == 1


def test_a_mention_of_unknown_outcome_matches_neither_landed_nor_failed(
    rule: Any, receiver: Any, work: Any, empty_redis: None
) -> None:
    named = str(Pubkey.default())
    made = {}
    for outcome in ("any", "landed", "failed"):
        condition = {"address": named, "outcome": outcome}
        made[rule(trigger="mention", condition=condition, name=outcome).pk] = outcome
    record = block(7, height=5, holds={signature(1): None, signature(2): FAILURE, signature(3): {}})
    record.transactions[2] = replace(record.transactions[2], meta=None)
    store(record)
    work()
    told: dict[str, list[Any]] = {outcome: [] for outcome in made.values()}
    for each in contents(receiver):
        data = each["data"]
        told[made[data["ruleId"]]].append((data["outcome"], data["err"]))
    landed, failed = ("landed", None), ("failed", FAILURE)
    assert told == {
        "any": [landed, failed, ("unknown", None)],
        "landed": [landed],
        "failed": [failed],
    }
