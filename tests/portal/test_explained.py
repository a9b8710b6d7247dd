"""Why a real transaction failed, on the page of its customer and of staff."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.compute_budget import set_compute_unit_limit
from solders.pubkey import Pubkey

from priority.models import Submission
from tests.ingest.following import caught_up, follower, worker
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import running_localnet
from tests.patience import wait
from tests.portal.test_pages import text_of


@pytest.mark.django_db(transaction=True)
def test_a_failed_transfer_is_explained_to_its_customer_and_to_staff(
    empty_redis: None, ada: Any, eve: Any, key: Any, person: Any, browser: Any, admin_client: Client
) -> None:
    with (
        running_localnet(LOCALNET_SLOT_MS=15) as localnet,
        worker(),
        follower(localnet.geyser_url, localnet.url),
    ):
        payer = wallet(localnet, 11 * SOL // 10)
        to, tipped = Pubkey.new_unique(), Pubkey.new_unique()
        tip = SOL // 1_000
        instructions = [
            set_compute_unit_limit(90_000),
            pay(payer, tipped, tip),
            pay(payer, to, 1_000 * SOL),
        ]
        transaction = signed(localnet, instructions, payer)
        signature = send(localnet, transaction, skipPreflight=True)
        status = landed(localnet, signature)
        caught_up(localnet)
        now = timezone.now()
        row = Submission.objects.create(
            signature=transaction.signatures[0],
            kind="transaction",
            blockhash=transaction.message.recent_blockhash,
            key=key,
            accepted_at=now,
            state="failed",
            commitment="finalized",
            sent_at=now,
            seen_at=now,
            settled_at=now,
            slot=status["slot"],
            transaction_index=0,
            err=status["err"],
            tip_address=tipped,
            tip_lamports=tip,
            tip_instruction_index=1,
            tier="elite",
        )
        # Exactly what the page says would have sufficed, and a lamport less.
        for lamports, err in (
            (1_000_001_005_000, None),
            (1_000_001_004_999, {"InstructionError": [2, {"Custom": 1}]}),
        ):
            other = wallet(localnet, lamports)
            moves = [pay(other, tipped, tip), pay(other, to, 1_000 * SOL)]
            again = signed(localnet, [set_compute_unit_limit(90_000), *moves], other)
            assert landed(localnet, send(localnet, again, skipPreflight=True))["err"] == err
        wait(lambda: "Transfer of" in _page(browser(person(ada)), signature), "the ledger")
    mine = _page(browser(person(ada, "reader")), signature)
    staff = text_of(admin_client, f"/admin/priority/submission/{row.pk}/change/")
    for text in (mine, staff):
        assert "Transfer of 1,000 SOL; the payer had 1.098995." in text
        name = f"{str(payer.pubkey())[:8]}…{str(payer.pubkey())[-4:]}"
        assert (
            f"The fee payer {name} had 1.1 SOL before the transaction, and 1.098995 SOL at this"
            " transfer, after the fee of 0.000005 SOL and the tip of 0.001 SOL. It was 998.901005"
            " SOL short. A balance of 1,000.001005 SOL before the transaction would have sufficed"
            " for the transfer of 1,000 SOL, the fee of 0.000005 SOL and the tip of 0.001 SOL, and"
            " left nothing; an account that is not left empty must keep at least 0.00089088 SOL"
            " (rent-exempt minimum), which makes 1,000.00189588 SOL."
        ) in re.sub(r" (?=\.)", "", text)
        assert f"{name} 1.1 1.099995 -0.000005" in text, "the same account of the table"
        assert "Instruction 3 : transfer" in text or "Instruction 3: transfer" in text
        assert "1,000,000,000,000 (1,000 SOL)" in text and "System program" in text
        assert "Transfer: insufficient lamports 1098995000, need 1000000000000" in text
        assert "rolled back, not paid" in text and "charged although it failed" in text
        assert "used of 90,000 asked for" in text
    path = f"/portal/fates/{signature}/replay/"
    owner = browser(person(ada, email="second@ada.example"))
    assert "fee payer, had 1.1 SOL" in text_of(owner, path)
    answer = owner.post(path, {"lamports_0": "2000 SOL"})
    assert answer.status_code == 302, answer.content
    replayed = text_of(owner, answer.headers["Location"])
    assert "It failed on chain, and succeeds with the changes." in replayed
    assert "≠ 2,000 ≠ 999.998995" in replayed
    assert "gives what the chain recorded in every field" in replayed
    answer = browser(person(eve)).get(f"/portal/fates/{signature}/")
    assert answer.status_code == 404 and "1.099995" not in answer.content.decode()


def test_without_a_ledger_the_error_alone_is_explained(
    ada: Any, person: Any, browser: Any, rows_of: Any
) -> None:
    rows_of(ada)
    failed = Submission.objects.get(key__customer=ada, kind="transaction", state="failed")
    text = _page(browser(person(ada)), str(failed.signature))
    assert "Why it failed" in text
    assert "The ledger of this service does not have this transaction" in text


def _page(client: Client, signature: str) -> str:
    return text_of(client, f"/portal/fates/{signature}/")


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        (0, "in the same slot as its acceptance"),
        (1, "1 slot after acceptance"),
        (2, "2 slots after acceptance"),
    ],
)
def test_how_late_it_was_is_said_in_words(
    ada: Any, person: Any, browser: Any, rows_of: Any, admin_client: Client, slots: int, words: str
) -> None:
    rows_of(ada)
    row = Submission.objects.filter(key__customer=ada, kind="transaction", state="landed")[0]
    assert row.slot is not None
    Submission.objects.filter(pk=row.pk).update(accepted_slot=row.slot - slots)
    mine = _page(browser(person(ada)), str(row.signature))
    assert f"It was included {words}." in mine
    staff = text_of(admin_client, f"/admin/priority/submission/{row.pk}/change/")
    assert f", {words} (finalized)." in staff and "0 slots" not in mine + staff


def test_the_responses_of_attempts_are_read_whole(
    ada: Any, person: Any, browser: Any, rows_of: Any
) -> None:
    rows_of(ada)
    row = Submission.objects.filter(key__customer=ada, kind="transaction", state="refused")[0]
    page = browser(person(ada)).get(f"/portal/fates/{row.signature}/").content.decode()
    said = "Transaction simulation failed: Blockhash not found (-32002)"
    assert f'<td class="wraps" data-says="Response">{said}</td>' in page
