"""Transactions sent, and followed to their end."""

import asyncio
import random
import uuid

import pytest
from conftest import Signed
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from tidemark import AsyncTidemark, DeadlinePassed, Management, Tidemark, errors
from tidemark.types import Fate, FateEvent


def test_a_transaction_is_followed_until_it_is_final(tidemark: Tidemark, signed: Signed) -> None:
    transaction = signed()
    fate = tidemark.send_and_follow(transaction)
    assert (fate.state, fate.final, fate.commitment) == ("landed", True, "finalized")
    assert fate.signature == str(transaction.signatures[0])
    assert fate.slot is not None and fate.attempts
    # A final fate is there at once; the same transaction is not sent twice.
    again = tidemark.send_and_follow(transaction, deadline_seconds=5)
    assert (again.slot, again.accepted_at) == (fate.slot, fate.accepted_at)


def test_its_changes_come_by_websocket_in_order(tidemark: Tidemark, signed: Signed) -> None:
    signature = tidemark.priority.send_transaction(signed())
    changes = list(tidemark.follow(signature))
    assert all(isinstance(each, FateEvent) for each in changes[1:])
    steps = ["received", "sent", "landed processed", "landed confirmed", "landed finalized"]
    seen = [f"{each.state} {each.commitment or ''}".strip() for each in changes]
    assert seen == [each for each in steps if each in seen]
    assert seen[-1] == "landed finalized" and changes[-1].final


def test_without_a_websocket_its_changes_are_polled(
    url: str, management: Management, signed: Signed
) -> None:
    tier = management.tiers.create(
        name=f"quiet-{uuid.uuid4().hex[:8]}",
        rank=random.randrange(100, 30_000),
        stream_connections=0,
    )
    customer = management.customers.create(name="Quiet")
    issued = management.keys.create(customer=customer.id, tier=tier.name, name="polling")
    with Tidemark(url, issued.secret) as client:
        signature = client.priority.send_transaction(signed())
        changes = list(client.follow(signature))
    assert all(isinstance(each, Fate) for each in changes)
    assert (changes[-1].state, changes[-1].final) == ("landed", True)


def test_a_transaction_that_fails_on_chain_says_by_what(tidemark: Tidemark, signed: Signed) -> None:
    fate = tidemark.send_and_follow(signed(lamports=10**15), until="landed")
    assert fate.state == "failed"
    assert fate.err == {"InstructionError": [0, {"Custom": 1}]}


def test_a_deadline_ends_the_wait(tidemark: Tidemark, signed: Signed) -> None:
    transaction = signed()
    signature = str(transaction.signatures[0])
    with pytest.raises(DeadlinePassed) as passed:
        tidemark.send_and_follow(transaction, deadline_seconds=0)
    assert passed.value.signature == signature
    assert tidemark.send_and_follow(transaction).state == "landed"


def test_another_keys_transaction_is_unknown(tidemark: Tidemark) -> None:
    signature = str(Keypair().sign_message(b"never sent"))
    with pytest.raises(errors.SignatureUnknown):
        list(tidemark.follow(signature))


def test_a_transaction_without_a_tip_is_refused_with_what_is_required(
    tidemark: Tidemark, payer: Keypair
) -> None:
    message = MessageV0.try_compile(payer.pubkey(), [], [], tidemark.latest_blockhash())
    with pytest.raises(errors.TipMissing) as refused:
        tidemark.send_and_follow(VersionedTransaction(message, [payer]))
    assert refused.value.data["required"] == 1_000_000
    assert refused.value.data["addresses"]
    assert refused.value.code == -32602 and refused.value.request_id


def test_the_asynchronous_client_lands_too(url: str, key: str, payer: Keypair) -> None:
    async def land() -> list[Fate]:
        async with AsyncTidemark(url, key) as client:
            blockhash = await client.latest_blockhash()

            async def one(lamports: int) -> Fate:
                instructions = await client.with_tip([], payer.pubkey(), lamports=lamports)
                message = MessageV0.try_compile(payer.pubkey(), instructions, [], blockhash)
                transaction = VersionedTransaction(message, [payer])
                return await client.send_and_follow(transaction, until="landed")

            tips = range(1_000_001, 1_000_006)
            return list(await asyncio.gather(*(one(lamports) for lamports in tips)))

    fates = asyncio.run(land())
    assert [fate.state for fate in fates] == ["landed"] * 5
    assert len({fate.signature for fate in fates}) == 5


def test_a_bundle_lands_in_order(tidemark: Tidemark, signed: Signed) -> None:
    transactions = [signed(1_000_000 + each) for each in range(3)]
    assert tidemark.node.simulate_bundle(encoded_transactions=transactions).err is None
    signatures = tidemark.bundle.send_bundle(transactions)
    assert signatures == [str(each.signatures[0]) for each in transactions]
    fates = [list(tidemark.follow(each, until="landed"))[-1] for each in signatures]
    assert {fate.state for fate in fates} == {"landed"}
    assert len({fate.slot for fate in fates}) == 1
    assert tidemark.bundle.get_bundle_fate(list(signatures)).state == "landed"


def test_tips_are_described(tidemark: Tidemark) -> None:
    known = tidemark.priority.tip_info()
    fetched = tidemark.priority.fetch_tip_addresses(ttl=known.ttl_classes[0].ttl_seconds, count=2)
    assert len(fetched.addresses) == 2
    checked = tidemark.priority.check_tip_address(fetched.addresses[0])
    assert checked.valid
    with pytest.raises(errors.TtlTooLong) as refused:
        tidemark.priority.fetch_tip_addresses(ttl=known.max_ttl_seconds + 1)
    assert refused.value.data["max_ttl_seconds"] == known.max_ttl_seconds
    assert refused.value.status == 400


def test_newest_fates_are_iterated_over_pages(tidemark: Tidemark, signed: Signed) -> None:
    transactions = [signed(2_000_000 + each) for each in range(3)]
    sent = [tidemark.send_and_follow(each, until="landed").signature for each in transactions]
    paged = [fate.signature for fate in tidemark.priority.iterate_newest_fates(limit=2)]
    assert set(sent) <= set(paged) and len(set(paged)) == len(paged)
