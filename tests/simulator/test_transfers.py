"""Transfers: what they move, what they cost, what a node stores of them."""

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from chain import addresses
from chain.blocks import CURRENT_FORM, TransactionRecord
from chain.units import U64_MAX
from historical.transactions.texts import text_of
from tests.examples import examples
from tests.simulator.world import (
    ALICE,
    BOB,
    SOL,
    World,
    address,
    call,
    limits,
    pay,
    plain,
    transfer,
    v0,
)

TARGET = address(77)
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")


def test_a_transfer_moves_lamports_and_costs_the_fee() -> None:
    world = World()
    outcome = world.run(pay(TARGET, SOL))
    assert outcome.err is None
    assert outcome.charged
    assert outcome.fee == 5_000
    assert outcome.units_consumed == 150
    assert outcome.keys == [ALICE.pubkey(), TARGET, addresses.SYSTEM]
    assert outcome.pre_balances == [10 * SOL, 0, 1]
    assert outcome.post_balances == [9 * SOL - 5_000, SOL, 1]
    assert list(outcome.writes) == [ALICE.pubkey(), TARGET]
    assert world.balance(TARGET) == SOL
    assert world.accounts[TARGET].rent_epoch == U64_MAX


def test_the_status_meta_is_the_nodes() -> None:
    transaction = pay(TARGET, SOL)
    outcome = World().look(transaction)
    meta = outcome.meta()
    assert meta == {
        "err": None,
        "status": {"Ok": None},
        "fee": 5_000,
        "preBalances": [10 * SOL, 0, 1],
        "postBalances": [9 * SOL - 5_000, SOL, 1],
        "innerInstructions": [],
        "logMessages": [
            "Program 11111111111111111111111111111111 invoke [1]",
            "Program 11111111111111111111111111111111 success",
        ],
        "preTokenBalances": [],
        "postTokenBalances": [],
        "rewards": [],
        "loadedAddresses": {"writable": [], "readonly": []},
        "computeUnitsConsumed": 150,
        "costUnits": 1_481,
    }
    # The ledger takes it as it is.
    text = text_of(TransactionRecord(bytes(transaction), meta), CURRENT_FORM)
    assert text.signature == bytes(transaction.signatures[0])
    assert text.err is None


def test_nothing_stays_in_the_engine() -> None:
    world = World()
    first = world.look(pay(TARGET, SOL))
    assert world.look(pay(TARGET, SOL)) == first
    # Alice's account is loaded again: accounts of an earlier call are not kept.
    del world.accounts[ALICE.pubkey()]
    assert world.look(pay(TARGET, SOL)).err == "AccountNotFound"


def test_a_failed_transfer_costs_the_fee_and_nothing_else() -> None:
    world = World()
    outcome = world.run(pay(TARGET, 11 * SOL))
    assert outcome.err == {"InstructionError": [0, {"Custom": 1}]}
    assert outcome.charged
    assert outcome.units_consumed == 150
    assert outcome.logs[-1].endswith("failed: custom program error: 0x1")
    assert outcome.post_balances == [10 * SOL - 5_000, 0, 1]
    assert outcome.writes == {ALICE.pubkey(): plain(10 * SOL - 5_000)}


def test_a_payer_may_leave_nothing_but_not_a_little() -> None:
    world = World()
    all_of_it = 10 * SOL - 5_000
    closed = world.look(pay(TARGET, all_of_it))
    assert closed.err is None
    assert closed.writes[ALICE.pubkey()].lamports == 0
    short = world.look(pay(TARGET, all_of_it - 1))
    assert short.err == {"InsufficientFundsForRent": {"account_index": 0}}
    assert short.charged
    assert short.post_balances == [all_of_it, 0, 1]


def test_an_account_cannot_be_made_below_the_rent_minimum() -> None:
    outcome = World().look(pay(TARGET, 890_879))
    assert outcome.err == {"InsufficientFundsForRent": {"account_index": 1}}
    assert World().look(pay(TARGET, 890_880)).err is None


def test_the_rent_epoch_of_what_is_written_is_the_last_there_is() -> None:
    world = World()
    world.accounts[TARGET] = Account(SOL, b"", addresses.SYSTEM, False, 361)
    world.accounts[ALICE.pubkey()] = Account(SOL, b"", addresses.SYSTEM, False, 361)
    success = world.look(pay(TARGET, 5))
    assert [account.rent_epoch for account in success.writes.values()] == [U64_MAX, U64_MAX]
    # ... but not of the payer of a failed one, unless it stands on a nonce.
    failure = world.look(pay(TARGET, 2 * SOL))
    assert [account.rent_epoch for account in failure.writes.values()] == [361]


def test_every_writable_account_is_stored_changed_or_not() -> None:
    world = World()
    same = v0([transfer(ALICE.pubkey(), BOB.pubkey(), 0)])
    assert list(world.look(same).writes) == [ALICE.pubkey(), BOB.pubkey()]


def test_signatures_and_the_price_of_units_make_the_fee() -> None:
    transaction = v0(
        [
            *limits(units=1_000, price=1_500_000),
            transfer(ALICE.pubkey(), TARGET, SOL),
            transfer(BOB.pubkey(), TARGET, SOL),
        ],
        [ALICE, BOB],
    )
    outcome = World().look(transaction)
    assert outcome.fee == 2 * 5_000 + 1_500
    assert outcome.post_balances[0] == 10 * SOL - SOL - outcome.fee


@settings(max_examples=examples(60))
@given(
    units=st.none() | st.integers(0, 2**32 - 1),
    price=st.integers(0, 10**9),
    transfers=st.integers(1, 3),
    memos=st.integers(0, 3),
    proofs=st.integers(0, 2),
)
def test_the_fee_is_what_the_vm_takes(
    units: int | None, price: int, transfers: int, memos: int, proofs: int
) -> None:
    world = SHARED
    world.accounts[ALICE.pubkey()] = plain(10**18)
    world.accounts[TARGET] = plain(SOL)
    transaction = v0(
        [
            *limits(units=units, price=price),
            *[signature_proof()] * proofs,
            *[call(MEMO, b"hello")] * memos,
            *[transfer(ALICE.pubkey(), TARGET, 1)] * transfers,
        ]
    )
    outcome = world.look(transaction, verify=False)
    assert outcome.charged
    assert outcome.fee >= 5_000 * (1 + proofs)
    if outcome.err is None:
        # What the VM left the payer with, against the fee that was worked out before it ran.
        assert outcome.post_balances[0] == 10**18 - transfers - outcome.fee
    else:
        assert units is not None
        assert outcome.post_balances[0] == 10**18 - outcome.fee


def signature_proof() -> Instruction:
    """One signature for the ed25519 program: where key, signature and message lie, and they."""
    signature = bytes(BOB.sign_message(b"m"))
    places = (48, 0xFFFF, 16, 0xFFFF, 112, 1, 0xFFFF)
    head = b"\1\0" + b"".join(place.to_bytes(2, "little") for place in places)
    return call(addresses.ED25519, head + bytes(BOB.pubkey()) + signature + b"m")


SHARED = World()
