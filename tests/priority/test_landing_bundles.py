"""Bundles by a block engine: with our own tip, in order, and what the engine says of them."""

import json
from hashlib import sha256
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from localnet.identities import TIP_ACCOUNTS
from priority.fates.services import settling
from priority.models import Bundle, Submission
from tests.localnet.wallets import balance, on_a_nonce, pay, signed
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, reached, row, transfer_of, upstream, waiting
from tests.priority.odd_nodes import odd_node
from tests.priority.test_landing_nonces import events

pytestmark = pytest.mark.django_db(transaction=True)


def bundle_of(*transactions: VersionedTransaction) -> str:
    texts = ",".join(str(Signature(bytes(each.signatures[0]))) for each in transactions)
    return sha256(texts.encode()).hexdigest()


def accept_bundle(*transactions: VersionedTransaction, **fields: Any) -> list[bytes]:
    accept(*transactions, kind="bundle", bundle_id=bundle_of(*transactions), **fields)
    return [bytes(each.signatures[0]) for each in transactions]


def tips(localnet: Localnet) -> int:
    return sum(balance(localnet, account) for account in TIP_ACCOUNTS)


def test_a_bundle_lands_whole_and_in_order_with_a_tip_of_ours(
    followed: Localnet, payer: Keypair
) -> None:
    upstream("engine", "block_engine", own_tip_lamports=10_000)
    upstream("node")
    with lander(followed) as ours:
        wait(lambda: ours.fee_payer.lamports, "localnet's faucet funds our fee payer")
        before = tips(followed)
        transactions = [transfer_of(followed, payer) for _ in range(4)]
        signatures = accept_bundle(*transactions)
        found = [reached(each, "landed", commitment="confirmed") for each in signatures]
        wait(lambda: not waiting(), "the entry is let go of")
    assert len({each.slot for each in found}) == 1
    places = [each.transaction_index for each in found]
    assert places == list(range(places[0], places[0] + 4))  # type: ignore[arg-type]
    assert [each.bundle_index for each in found] == [0, 1, 2, 3]
    bundle = Bundle.objects.get()
    assert {each.bundle_id for each in found} == {bundle.pk}
    assert (bundle.state, bundle.slot, bundle.reason) == ("landed", found[0].slot, "")
    assert bundle.bundle_id == bundle_of(*transactions)
    assert set(bundle.engine_ids) == {"engine"}
    assert tips(followed) == before + 10_000
    assert {each.upstream for each in found[0].attempts.all()} == {"engine"}


def test_what_the_engine_says_of_a_bundle_is_in_its_fate(
    followed: Localnet, payer: Keypair
) -> None:
    upstream("engine", "block_engine")  # it leaves the tip to the bundle
    with lander(followed):
        tipping = pay(payer, TIP_ACCOUNTS[0], 7)
        (signature,) = accept_bundle(signed(followed, [tipping], payer))
        said = "bundle must tip at least 1000 lamports, found 7"

        def told() -> Submission | None:
            found = row(signature)
            return found if found is not None and said in found.reason else None

        found = wait(told, "the engine's words")
        assert found.reason.startswith("engine_refused: engine: ")
        bundle = Bundle.objects.get()
        assert said in bundle.reason and bundle.state == "received"
        assert said in found.attempts.get(number=1).answer
        (untipped,) = accept_bundle(transfer_of(followed, payer))
        wait(lambda: (each := row(untipped)) and each.reason, "what the engine says of this one")


def test_an_empty_fee_payer_is_reported_and_nothing_is_sent_without_its_tip(
    followed: Localnet, payer: Keypair
) -> None:
    upstream("engine", "block_engine", own_tip_lamports=10_000)
    with lander(followed, with_faucet=False) as ours:
        wait(lambda: ours.fee_payer.lamports == 0, "the balance is known")
        (signature,) = accept_bundle(on_a_nonce(followed, payer))
        found = wait(lambda: (each := row(signature)) and each.reason and each, "the reason")
        assert found.reason.startswith("own_tip_unfunded")
        assert not found.attempts.exists() and found.tries == 0
        followed.call("requestAirdrop", str(ours.fee_payer.pubkey), 1_000_000_000)
        assert reached(signature, "landed").reason == ""


def test_tips_are_never_the_same_transaction(followed: Localnet, payer: Keypair) -> None:
    taken = ["1" * 44]

    def answer(body: bytes) -> tuple[int, bytes]:
        call: dict[str, Any] = json.loads(body)
        found: Any = [str(each) for each in TIP_ACCOUNTS]
        if call["method"] == "sendBundle":
            taken.append(call["params"][0][-1])
            found = "an id"
        return 200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": found}).encode()

    with odd_node(answer) as node, lander(followed) as ours:
        wait(lambda: ours.fee_payer.pubkey, "it is there")
        upstream("engine", "block_engine", url=node.url, own_tip_lamports=10_000)
        for number in range(20):
            accept(transfer_of(followed, payer, number), max_retries=0)
        wait(lambda: len(taken) > 20, "all bundles are there")
    assert len(set(taken)) == 21


def test_a_transaction_of_its_own_may_go_as_a_bundle_too(
    followed: Localnet, payer: Keypair
) -> None:
    upstream("engine", "block_engine", own_tip_lamports=10_000)
    upstream("silent", url="http://127.0.0.1:1")
    with lander(followed) as ours:
        wait(lambda: ours.fee_payer.lamports, "localnet's faucet funds our fee payer")
        found = reached(accept(transfer_of(followed, payer), only=["silent", "bundle"]), "landed")
        without = accept(transfer_of(followed, payer), only=["silent"], max_retries=0)
        # While `silent` is in cooldown the reason is known before it is asked.
        wait(lambda: (each := row(without)) and each.attempts.exists(), "nobody takes it")
    assert found.bundle is None and not Bundle.objects.exists()
    assert set(row(without).attempts.values_list("upstream", flat=True)) == {"silent"}  # type: ignore[union-attr]


def test_what_one_of_two_bundles_was_sent_with_stays_sent(issue: Any) -> None:
    """The engine takes no bundle of one."""
    refusal = {"code": -32002, "message": "not by an engine"}
    alone, refused = bundled_transaction(), 0

    def answer(body: bytes) -> tuple[int, bytes]:
        nonlocal refused
        call: dict[str, Any] = json.loads(body)
        told: dict[str, Any] = {"result": "an id"}
        if call["method"] == "getTipAccounts":
            told = {"result": [str(each) for each in TIP_ACCOUNTS]}
        elif call["method"] == "sendBundle" and len(call["params"][0]) == 1:
            refused += 1
            told = {"error": refusal}
        return 200, json.dumps({"jsonrpc": "2.0", "id": 1, **told}).encode()

    key_id = issue().key.pk
    with odd_node(answer) as engine, lander(None):
        upstream("odd", "block_engine", url=engine.url)
        (signature,) = accept_bundle(alone, key_id=key_id)
        wait(lambda: (each := row(signature)) and each.reason, "the engine has refused it")
        accept_bundle(alone, bundled_transaction(), key_id=key_id)
        sent_at, most = reached(signature, "sent").sent_at, refused + 4
        wait(lambda: refused > most, "the engine has refused it again")
        found = row(signature)
        assert found is not None and (found.state, found.sent_at) == ("sent", sent_at)
        states = [e["state"] for e in events(key_id) if e["signature"] == str(found.signature)]
        assert "received" not in states[states.index("sent") :]
        settling.settle_lost({found.pk: "blockhash_expired"}, now=found.accepted_at)
        assert reached(signature, "expired").reason == "blockhash_expired"


def bundled_transaction() -> VersionedTransaction:
    """One that tips an engine's account."""
    message = MessageV0.try_compile(
        (payer := Keypair()).pubkey(), [pay(payer, TIP_ACCOUNTS[0], 1)], [], Hash.new_unique()
    )
    return VersionedTransaction(message, [payer])
