"""Bundles by a block engine's gRPC, and what the engine says of them."""

import pytest
from solders.keypair import Keypair

from localnet.identities import TIP_ACCOUNTS
from priority.models import Bundle, Submission
from priority.upstreams.models import Upstream
from tests.localnet.wallets import SOL, balance, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.priority.landing import (
    accept,
    lander,
    reached,
    row,
    told_of,
    transfer_of,
    upstream,
    waiting,
)
from tests.priority.test_landing_bundles import accept_bundle, bundle_of

pytestmark = pytest.mark.django_db(transaction=True)


def engine_of(localnet: Localnet, **fields: int) -> Upstream:
    return upstream("engine", "block_engine", url=f"grpc://{localnet.searcher_address}", **fields)


def explained(signature: bytes, words: str) -> Submission:
    def found() -> Submission | None:
        each = row(signature)
        return each if each is not None and words in each.reason else None

    result: Submission = wait(found, f"the engine's words: {words}")
    return result


def test_a_bundle_lands_whole_with_a_tip_of_ours(followed: Localnet, payer: Keypair) -> None:
    engine_of(followed, own_tip_lamports=10_000)
    with lander(followed) as ours:
        wait(lambda: ours.fee_payer.lamports, "localnet's faucet funds our fee payer")
        before = sum(balance(followed, account) for account in TIP_ACCOUNTS)
        transactions = [transfer_of(followed, payer) for _ in range(4)]
        signatures = accept_bundle(*transactions)
        found = [reached(each, "landed", commitment="confirmed") for each in signatures]
        wait(lambda: not waiting(), "the entry is let go of")
    assert len({each.slot for each in found}) == 1
    places = [each.transaction_index or 0 for each in found]
    assert places == list(range(places[0], places[0] + 4))
    bundle = Bundle.objects.get()
    assert (bundle.state, bundle.bundle_id) == ("landed", bundle_of(*transactions))
    assert set(bundle.engine_ids) == {"engine"}
    assert sum(balance(followed, account) for account in TIP_ACCOUNTS) == before + 10_000


def test_refusals_and_rejections_are_in_the_fate(followed: Localnet, payer: Keypair) -> None:
    engine_of(followed)  # it leaves the tip to the bundle
    poor = wallet(followed, SOL // 100)
    with lander(followed):
        tipping = pay(payer, TIP_ACCOUNTS[0], 7)
        (refused,) = accept_bundle(signed(followed, [tipping], payer))
        found = explained(refused, "bundle must tip at least 1000 lamports, found 7")
        assert found.reason.startswith("engine_refused: engine: ")
        tip = signed(followed, [pay(payer, TIP_ACCOUNTS[0], 1_000)], payer)
        failing = signed(followed, [pay(poor, payer.pubkey(), SOL)], poor)
        rejected, _ = accept_bundle(tip, failing)
        found = explained(rejected, "engine_dropped: engine says rejected: simulation failure")
        assert str(failing.signatures[0]) in found.reason


def test_an_engine_that_asks_for_a_key() -> None:
    with running_localnet("--block-engine-auth") as localnet, told_of(localnet):
        payer = wallet(localnet, 5 * SOL)
        engine_of(localnet)
        with lander(localnet):
            # Without a key it is refused, and another try is made when the engine allows it.
            tip = signed(localnet, [pay(payer, TIP_ACCOUNTS[0], 1_000)], payer)
            (signature,) = accept_bundle(tip)
            explained(signature, "UNAUTHENTICATED")
        with lander(localnet, engine_keypair=Keypair()):
            tip = signed(localnet, [pay(payer, TIP_ACCOUNTS[0], 1_001)], payer)
            (signature,) = accept_bundle(tip)
            reached(signature, "landed")


def test_an_engine_that_nobody_serves(followed: Localnet, payer: Keypair) -> None:
    upstream("engine", "block_engine", url="grpc://127.0.0.1:1", own_tip_lamports=0)
    upstream("secret", "block_engine", url=f"grpcs://{followed.searcher_address}", timeout_ms=500)
    with lander(followed):
        tip = signed(followed, [pay(payer, TIP_ACCOUNTS[0], 1_000)], payer)
        (signature,) = accept_bundle(tip)
        explained(signature, "engine")
        upstream("node")
        # Others are not held up.
        reached(accept(transfer_of(followed, payer)), "landed")
