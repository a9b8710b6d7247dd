"""Events of the chain: what localnet says of accounts and transactions, once each and in order."""

from typing import Any

import pytest
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.system_program import ID as SYSTEM_PROGRAM

from access.models import Customer
from alerts.models import Event
from alerts.services import rules
from historical.blocks.services.bounds import newest_slot_or_none
from tests.ingest.following import caught_up, follower, worker
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import running_localnet
from tests.patience import wait


@pytest.mark.django_db(transaction=True)
def test_writes_and_transactions_of_an_address_are_told(empty_redis: None) -> None:
    ada = Customer.objects.create(name="Ada", email="ada@example.com")
    payee = Pubkey.new_unique()
    with (
        running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=10) as localnet,
        worker(),
        follower(localnet.geyser_url, localnet.url),
    ):
        caught_up(localnet)
        made = {}
        for name, trigger, condition in (
            ("writes", "account", {"address": str(payee)}),
            ("program", "program", {"program": str(SYSTEM_PROGRAM), "filters": [{"dataSize": 0}]}),
            ("none", "program", {"program": str(SYSTEM_PROGRAM), "filters": [{"dataSize": 9}]}),
            ("all", "mention", {"address": str(payee)}),
            ("failed", "mention", {"address": str(payee), "outcome": "failed"}),
        ):
            given: dict[str, Any] = {"trigger": trigger, "condition": condition}
            rule = rules.create(ada.pk, name=name, mails=True, now=timezone.now(), **given)
            made[rule.pk] = name
        payer = wallet(localnet, 100 * SOL)
        sent = []
        for number in range(6):
            lamports = 9_999 * SOL if number == 3 else SOL
            instructions = [pay(payer, payee, lamports + number)]
            transaction = signed(localnet, instructions, payer)
            sent.append(send(localnet, transaction, skipPreflight=True))
            landed(localnet, sent[-1], "confirmed")
        landed(localnet, sent[-1], "finalized")
        caught_up(localnet)
        wait(lambda: Event.objects.filter(kind="address.mentioned").count() >= 7, "events")
        statuses = localnet.call("getSignatureStatuses", sent, {"searchTransactionHistory": True})[
            "value"
        ]
        localnet.call("setFaults", {"dropStreams": True})
        last = newest_slot_or_none() or 0
        wait(lambda: (newest_slot_or_none() or 0) > last + 5, "more slots")
    told: dict[str, list[dict[str, Any]]] = {name: [] for name in made.values()}
    for event in Event.objects.order_by("pk"):
        assert event.customer_id == ada.pk and event.rule_id is not None
        told[made[event.rule_id]].append(event.data)
    of_all = [(each["signature"], each["slot"], each["err"]) for each in told["all"]]
    assert of_all == [
        (name, status["slot"], status["err"]) for name, status in zip(sent, statuses, strict=True)
    ]
    assert [each["signature"] for each in told["failed"]] == [sent[3]]
    good = [name for number, name in enumerate(sent) if number != 3]
    slots = [status["slot"] for status in statuses]
    assert [each["signature"] for each in told["writes"]] == good
    assert [each["slot"] for each in told["writes"]] == [*slots[:3], *slots[4:]]
    balances = [sum(SOL + n for n in range(6)[: k + 1] if n != 3) for k in (0, 1, 2, 4, 5)]
    assert [each["lamports"] for each in told["writes"]] == balances
    assert told["none"] == []
    of_payee = [each for each in told["program"] if each["address"] == str(payee)]
    assert [(each["slot"], each["lamports"]) for each in of_payee] == [
        (each["slot"], each["lamports"]) for each in told["writes"]
    ]
    assert {str(payer.pubkey())} < {each["address"] for each in told["program"]}
