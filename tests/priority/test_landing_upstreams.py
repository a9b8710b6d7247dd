"""The lander on a running localnet: every way out by itself, and what the rows say of it."""

import time

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from priority.models import Submission
from priority.upstreams.models import Upstream
from priority.upstreams.services import actions
from tests.localnet.wallets import pay, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, reached, tip_of, transfer_of, upstream, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("kind", Upstream.Kind.values)
def test_a_transaction_lands_by_each_way_alone(
    followed: Localnet, payer: Keypair, kind: str
) -> None:
    upstream("way", kind, own_tip_lamports=10_000 if kind == "block_engine" else 0)
    with lander(followed) as ours:
        if kind == "block_engine":
            wait(lambda: ours.fee_payer.lamports, "localnet's faucet funds our fee payer")
        signature = accept(transfer_of(followed, payer), tip=tip_of(payer.pubkey(), 5_000_000))
        found = reached(signature, "landed", commitment="confirmed")
        wait(lambda: not waiting(), "the entry is let go of")
    status = followed.call("getSignatureStatuses", [str(found.signature)])["value"][0]
    assert (found.slot, found.err) == (status["slot"], None)
    assert found.transaction_index is not None and found.sent_at and found.seen_at
    assert found.last_valid_block_height and found.accepted_slot
    assert found.accepted_slot <= found.slot
    assert (found.tip_lamports, found.tip_address) == (5_000_000, payer.pubkey())
    attempts = list(found.attempts.all())
    assert attempts and all(each.upstream == "way" for each in attempts)
    assert "sent" in {each.outcome for each in attempts}
    assert found.tries >= 1 and not found.settled_at


def test_one_that_fails_on_chain_says_how(followed: Localnet, payer: Keypair) -> None:
    upstream("node")
    poor = wallet(followed, 2_000_000)
    with lander(followed):
        wrong = signed(followed, [pay(poor, payer.pubkey(), 10_000_000)], poor)
        found = reached(accept(wrong), "failed", commitment="confirmed")
    assert found.err == {"InstructionError": [0, {"Custom": 1}]}


def test_a_drained_upstream_goes_on_with_what_it_had_and_gets_nothing_new(
    followed: Localnet, payer: Keypair
) -> None:
    drained = upstream("drained")
    upstream("other")
    assert actions.drain(drained.pk, now=timezone.now())
    with lander(followed):
        before = accept(transfer_of(followed, payer), received_at=time.time() - 30)
        after = accept(transfer_of(followed, payer))
        for signature, expected in ((before, {"drained", "other"}), (after, {"other"})):
            found = reached(signature, "landed")
            wait(lambda f=found, e=expected: _ways(f) >= e, "its tries are written")
            assert _ways(found) == expected


def _ways(row: Submission) -> set[str]:
    return set(row.attempts.values_list("upstream", flat=True))
