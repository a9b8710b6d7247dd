"""A row of everything that a page shows, with names as long as they may be."""

from datetime import datetime, timedelta
from typing import Any

EMAIL = "owner@northern-lights.example"


def fill(now: datetime, password: str) -> dict[str, Any]:
    """What the portal's pages ask for in their addresses; its owner signs in with the password."""
    from django.db import connection

    from access.models import ApiKey, Customer
    from portal.services import members
    from priority.models import Bundle, Submission
    from priority.reports.services import counting
    from staff import audit
    from tests.browser import audit_samples, sample_data
    from tests.browser.kept_replays import kept_replay
    from tests.priority.landed_samples import fill_landing
    from tests.priority.test_landing_counts import mark_all
    from tests.scale import chain_rows
    from tests.tipping.tipped_samples import fill_tipping
    from tipping.store import tip_days

    with connection.cursor() as cursor:
        chain_rows.fill(cursor, 20_000)
    ids = sample_data.fill(now)
    audit_samples.fill(now)
    customer = Customer.objects.get(pk=ids["customer"])
    key = ApiKey.objects.filter(customer=customer, revoked_at=None, suspended_at=None)[0]
    fill_landing(now, key=key, rounds=8)
    fill_tipping(now, key=key)
    mark_all()
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    tip_days.count_days()
    owner = members.invite(customer, email=EMAIL, role="owner")
    members.choose_password(owner.user, password)
    members.invite(
        customer, email="a-reader-with-a-long-name@northern-lights.example", role="reader"
    )
    audit.record(None, "restored", text="The backup of 2026-11-20 03:00:00 UTC.")
    audit.record(
        None, "changed", key, changes={"tier": ["basic", "ultra"], "name": ["a", "n" * 80]}
    )
    _operations(now)
    _builds(now)
    _idls(now)
    landed = Submission.objects.filter(key=key, state="landed")[0].signature
    return {
        "pk": key.pk,
        "webhook": (webhook := _alerts(customer, now)),
        "rule": _rules(customer, webhook, now),
        "signature": str(landed),
        "bundle_id": Bundle.objects.filter(key=key)[0].bundle_id,
        "replay_pk": kept_replay(customer, landed).pk,
    }


def _builds(now: datetime) -> None:
    """Two builds of a program; the second still runs."""
    from solders.pubkey import Pubkey

    from rewind.replay.services.builds import add_build
    from tests.simulator.elf import LOGS, SUCCEEDS

    program = Pubkey(bytes([200]) * 32)
    for code, first, last in ((LOGS, 300_000_000, 300_009_999), (SUCCEEDS, 300_010_000, None)):
        add_build(
            program,
            code,
            loader=3,
            from_slot=first,
            to_slot=last,
            source="a-program-whose-file-has-a-long-name-mainnet-3.5.0.so",
            now=now,
        )


def _idls(now: datetime) -> None:
    """IDLs of two programs, with and without a version."""
    from solders.pubkey import Pubkey

    from rewind.explained.services.idls import upload_idl

    for number, more in (
        (201, b'"name": "a_program_with_a_long_name", "version": "1.20.3",'),
        (202, b""),
    ):
        upload_idl(
            b"{" + more + b'"instructions": []}',
            program=Pubkey(bytes([number]) * 32),
            from_slot=300_000_000 * (number - 201),
            by="ada",
            now=now,
        )


def _operations(now: datetime) -> None:
    """Two hours of readings, as the worker would have written them, and alarms in every state."""
    from operations.models import Alarm
    from operations.readings.present import read
    from operations.services import sampling

    readings = read(now=now)
    for step in range(40):
        at = now - timedelta(seconds=15 * step)
        sampling.store_sample(readings, now=at, stands_in=False)
    for number, name in enumerate(("no_upstream", "gaps_open", "disk_low")):
        # The web process checks the alarms itself, and may have opened one meanwhile.
        Alarm.objects.update_or_create(
            name=name,
            subject="archive" if name == "gaps_open" else "",
            closed_at=now if number == 2 else None,
            defaults={
                "severity": "critical" if number == 0 else "warning",
                "text": "12 slots have been missing for 4 minutes: retry their gaps.",
                "began_at": now - timedelta(minutes=5),
                "opened_at": now - timedelta(minutes=4),
                "acknowledged_at": now if number == 1 else None,
            },
        )


def _rules(customer: Any, webhook_id: int, now: datetime) -> int:
    """A rule with each trigger; the first has a delivery to the webhook, and is off."""
    from alerts.models import Delivery, Webhook
    from alerts.services import rules
    from tests.alerts.test_rules import CONDITIONS

    made = [
        rules.create(
            customer.pk,
            name=f"rule of the night shift with a long name: {trigger}",
            trigger=trigger,
            condition=condition,
            webhook=Webhook.objects.get(pk=webhook_id),
            mails=True,
            now=now,
        )
        for trigger, condition in CONDITIONS.items()
    ]
    Delivery.objects.filter(webhook=webhook_id).update(rule=made[0])
    rules.disable(made[0].pk, reason="more than 10,000 of its deliveries wait")
    return made[0].pk


def _alerts(customer: Any, now: datetime) -> int:
    """A webhook of the customer and one of the staff's, with deliveries in every state."""
    from alerts.models import Attempt, Delivery, Event
    from alerts.services import events, webhooks

    url = "https://alerts.northern-lights.example/" + "a" * 80
    webhook = webhooks.create(customer.pk, name="pager of the night shift", url=url)
    webhooks.create(None, name="the operators' pager", url=url)
    for number, state in enumerate(("waiting", "delivered", "failed")):
        event = events.publish(
            "key.expiring",
            about="wallet back end (tmk_1234…cafe)",
            text="The key wallet back end (tmk_1234…cafe) expires in 7 days.",
            data={"name": "wallet back end", "expiresAt": now.isoformat()},
            now=now,
            customer_id=customer.pk,
        )
        assert isinstance(event, Event)
        delivery = Delivery.objects.create(
            event=event, webhook=webhook, state=state, tries=1 + number, due_at=now
        )
        for _ in range(1 + number):
            Attempt.objects.create(
                delivery=delivery,
                at=now,
                status=None if number == 2 else (500, 204)[number],
                problem="the name alerts.northern-lights.example was not found" * (number == 2),
                answer="<html>" + "x" * 300,
                milliseconds=812,
            )
    return int(webhook.pk)
