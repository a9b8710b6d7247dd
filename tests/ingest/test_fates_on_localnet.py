"""Fates on a chain with forks, skipped slots and a stream that breaks: localnet's own word."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from historical.models import Block
from ingest.services import fates
from priority.models import Submission
from tests.ingest.following import follower, worker
from tests.localnet.wallets import SOL, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait


def submitted(localnet: Localnet, transaction: VersionedTransaction) -> Submission:
    now = timezone.now()
    return Submission.objects.create(
        signature=transaction.signatures[0],
        kind="transaction",
        blockhash=transaction.message.recent_blockhash,
        accepted_at=now - timedelta(seconds=10),
        accepted_slot=localnet.call("getSlot", {"commitment": "processed"}),
        state="sent",
        sent_at=now,
    )


def is_localnets_word(localnet: Localnet, row: Submission) -> None:
    (status,) = localnet.call(
        "getSignatureStatuses", [str(row.signature)], {"searchTransactionHistory": True}
    )["value"]
    if row.state == "expired":
        assert status is None
        return
    assert (row.state, row.slot, row.err) == (
        "landed" if status["err"] is None else "failed",
        status["slot"],
        status["err"],
    )
    assert status["confirmationStatus"] == row.commitment == "finalized"
    details = {"transactionDetails": "signatures", "rewards": False}
    signatures = localnet.call("getBlock", row.slot, details)["signatures"]
    assert signatures[row.transaction_index] == str(row.signature)


@pytest.mark.django_db(transaction=True)
def test_fates_are_localnets_word_whatever_happens_to_the_stream(empty_redis: None) -> None:
    chance = random.Random(5)
    with (
        running_localnet(LOCALNET_SLOT_MS=15, LOCALNET_SKIP_PERCENT=10) as localnet,
        worker(),
        follower(localnet.geyser_url, localnet.url),
    ):
        payer = wallet(localnet, 100 * SOL)
        localnet.call("setFaults", {"duplicatePercent": 10, "reorderPercent": 10})
        rows: list[Submission] = []
        heights: dict[int, int] = {}

        def submit(kind: str) -> None:
            found = localnet.call("getLatestBlockhash", {"commitment": "confirmed"})["value"]
            lamports = 9_999 * SOL if kind == "fails" else chance.randint(SOL // 100, SOL)
            instructions = [pay(payer, Pubkey.new_unique(), lamports)]
            transaction = signed(localnet, instructions, payer, blockhash=found["blockhash"])
            row = submitted(localnet, transaction)
            rows.append(row)
            heights[row.pk] = found["lastValidBlockHeight"]
            if kind != "is never sent":
                send(localnet, transaction, skipPreflight=True)

        for place in range(24):
            if place % 5 == 1:
                localnet.call("setFaults", {"forkSlots": chance.randint(1, 4)})
            if place in (6, 16):
                localnet.call("setFaults", {"dropStreams": True})
            submit(chance.choice(["lands", "lands", "fails", "is never sent"]))
        submit("is never sent")

        def settled() -> bool:
            fates.settle_due(node=None, now=timezone.now())
            for row in rows:
                if row.settled_at is None:
                    row.refresh_from_db()
                    if row.state == "expired":
                        newest = Block.objects.order_by("-slot")[0]
                        assert newest.block_height is not None
                        assert newest.block_height > heights[row.pk]
            return all(row.settled_at is not None for row in rows)

        wait(settled, "every fate")
        for row in rows:
            is_localnets_word(localnet, row)
    assert {"landed", "failed", "expired"} == {row.state for row in rows}
