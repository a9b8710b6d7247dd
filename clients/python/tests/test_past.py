"""What a transaction changed, read from the archive and the ledger."""

import time

import pytest
from conftest import Signed
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from tidemark import Tidemark, errors
from tidemark.types import AddressSignature, Anchor, OverrideConfig, TransactionJson

FEE, TIP, LAMPORTS = 5_000, 1_000_000, 3_000_000


@pytest.fixture(scope="module")
def landed(tidemark: Tidemark, signed: Signed) -> VersionedTransaction:
    """A transaction that is in the ledger and the archive."""
    transaction = signed(LAMPORTS)
    assert tidemark.send_and_follow(transaction).state == "landed"
    deadline = time.monotonic() + 60
    while tidemark.historical.get_transaction(transaction.signatures[0]) is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return transaction


@pytest.fixture
def signature(landed: VersionedTransaction) -> str:
    return str(landed.signatures[0])


def test_an_account_is_read_before_and_after(
    tidemark: Tidemark, payer: Keypair, signature: str
) -> None:
    before, after = (
        tidemark.rewind.get_account_info(
            payer.pubkey(), anchor=Anchor(signature=signature, position=position)
        ).value
        for position in ("before", "after")
    )
    assert before is not None and after is not None
    assert before.lamports - after.lamports == FEE + TIP + LAMPORTS


def test_a_transaction_is_replayed_and_with_less_money_fails(
    tidemark: Tidemark, payer: Keypair, landed: VersionedTransaction, signature: str
) -> None:
    anchor = Anchor(signature=signature)
    replayed = tidemark.rewind.simulate_historical_transaction(landed, anchor=anchor).value
    assert (replayed.err, replayed.fidelity) == (None, "verified")
    poorer = {str(payer.pubkey()): OverrideConfig(lamports=1_000_000)}
    altered = tidemark.rewind.simulate_historical_transaction(
        landed, anchor=anchor, overrides=poorer
    ).value
    assert altered.err == {"InstructionError": [0, {"Custom": 1}]}
    assert altered.rewind_overridden_accounts == [str(payer.pubkey())]


def test_a_job_brings_its_results_one_by_one(tidemark: Tidemark, signature: str) -> None:
    job = tidemark.rewind.submit_simulation_job(signatures=[signature])
    (result,) = tidemark.rewind.iterate_simulation_job_results(job.job_id, limit=1)
    assert result.value is not None
    assert (result.number, result.value.fidelity) == (0, "verified")


def test_writes_and_transactions_are_iterated_over_pages(
    tidemark: Tidemark, payer: Keypair, signature: str
) -> None:
    fate = tidemark.priority.get_transaction_fate(signature)
    assert fate.slot is not None
    writes = tidemark.rewind.iterate_account_changes(
        payer.pubkey(), from_slot=0, to_slot=fate.slot, limit=1
    )
    by_write = [each.txn_signature for each in writes]
    listed = tidemark.historical.iterate_signatures_for_address(payer.pubkey(), limit=1)
    by_list = [each.signature for each in listed]
    assert signature in by_write and len(by_write) > 1
    assert [each for each in by_list if each in by_write] == by_write
    whole = tidemark.historical.iterate_transactions_for_address(
        payer.pubkey(), limit=1, transaction_details="signatures"
    )
    assert [each.signature for each in whole if isinstance(each, AddressSignature)] == by_list


def test_a_transaction_and_its_block_are_typed(
    tidemark: Tidemark, payer: Keypair, signature: str
) -> None:
    entry = tidemark.historical.get_transaction(signature)
    assert entry is not None and entry.meta is not None and entry.meta.fee == FEE
    assert isinstance(entry.transaction, TransactionJson)
    assert entry.transaction.message.account_keys[0] == str(payer.pubkey())
    block = tidemark.historical.get_block(
        entry.slot, transaction_details="signatures", max_supported_transaction_version=1
    )
    assert block.signatures is not None and signature in block.signatures


def test_a_transaction_is_explained(tidemark: Tidemark, signature: str) -> None:
    explained = tidemark.historical.explain_transaction(signature)
    assert explained is not None
    assert [each.lamports for each in explained.tips] == [TIP]


def test_coverage_and_proof_are_read(tidemark: Tidemark, signature: str) -> None:
    fate = tidemark.priority.get_transaction_fate(signature)
    assert fate.slot is not None
    archive = tidemark.rewind.get_rewind_coverage(from_slot=fate.slot, to_slot=fate.slot)
    assert (archive.latest_slot or 0) >= fate.slot
    ledger = tidemark.historical.get_ledger_coverage(from_slot=fate.slot, to_slot=fate.slot)
    assert ledger.value.last_slot is not None and ledger.value.last_slot >= fate.slot
    try:
        proof = tidemark.rewind.get_slot_proof(
            fate.slot, include_lattice=False, include_votes=False
        )
    except errors.SlotUnproven as unproven:  # as behind a baseline that is not there yet
        assert unproven.data["why"] in ("no_baseline", "gap_before", "not_computed")
    else:
        assert proof.slot == fate.slot and proof.bank_hash


def test_refusals_are_classes_by_reason(tidemark: Tidemark, payer: Keypair) -> None:
    with pytest.raises(errors.SlotTooNew) as refused:
        tidemark.rewind.get_account_info(payer.pubkey(), slot=2**60)
    assert refused.value.code == -32014 and refused.value.data["latestSlot"] > 0
    with pytest.raises(errors.InvalidParams):
        tidemark.rewind.get_account_info("not a pubkey", slot=1)
    with pytest.raises(errors.MethodNotFound):
        tidemark.call("getNothing")
