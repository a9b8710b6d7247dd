"""What transactions ask for, and what they are given."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.compute_budget import (
    request_heap_frame,
    set_compute_unit_limit,
    set_compute_unit_price,
    set_loaded_accounts_data_size_limit,
)
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig, v1
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.transaction_limits import MOST_BYTES, limits_of, most_bytes
from chain.transaction_settings import (
    Asked,
    BadSettings,
    Settings,
    settings_of_message,
    settings_of_wire,
)
from chain.transactions import Version, decode_wire
from tests.examples import examples

PAYER = Keypair.from_seed(bytes(32))
PROGRAM = Pubkey(bytes([7]) * 32)
BUDGET = Pubkey.from_string("ComputeBudget111111111111111111111111111111")
ED25519 = Pubkey.from_string("Ed25519SigVerify111111111111111111111111111")
CALL = Instruction(PROGRAM, b"abc", [])
PAY = Instruction(Pubkey.default(), b"\2", [])
VERIFY = Instruction(ED25519, b"\0\0", [])
MIB = 1024 * 1024


def version_1(*calls: Instruction, config: TransactionConfig | None = None) -> VersionedTransaction:
    message = MessageV1.try_compile(PAYER.pubkey(), calls, Hash.default(), config)
    return VersionedTransaction(message, [PAYER])


def older(version: Version, *calls: Instruction) -> VersionedTransaction:
    message: Message | MessageV0
    if version == 0:
        message = MessageV0.try_compile(PAYER.pubkey(), calls, [], Hash.default())
    else:
        message = Message.new_with_blockhash(calls, PAYER.pubkey(), Hash.default())
    return VersionedTransaction(message, [PAYER])


def given_to(transaction: VersionedTransaction) -> Settings:
    """The settings read from the wire, the same as from solders' objects."""
    wire = decode_wire(bytes(transaction))
    found = settings_of_wire(wire)
    assert settings_of_message(transaction.message) == found
    return found


@pytest.mark.parametrize("version", ["legacy", 0])
def test_older_versions_ask_by_instructions_and_get_defaults(version: Version) -> None:
    assert given_to(older(version, CALL)) == Settings(
        Asked(version),
        units=200_000,
        heap_size=32 * 1024,
        loaded_bytes=64 * MIB,
        priority_fee=0,
        unit_price=0,
    )
    asked = older(
        version,
        set_compute_unit_price(3),
        set_compute_unit_limit(500_001),
        set_loaded_accounts_data_size_limit(128 * MIB),
        request_heap_frame(64 * 1024),
        CALL,
    )
    assert given_to(asked) == Settings(
        Asked(version, 500_001, 3, None, 128 * MIB, 64 * 1024),
        units=500_001,
        heap_size=64 * 1024,
        loaded_bytes=64 * MIB,
        priority_fee=2,
        unit_price=3,
    )


def test_version_1_gets_nothing_that_it_does_not_ask_for() -> None:
    assert given_to(version_1(CALL)) == Settings(
        Asked(1),
        units=0,
        heap_size=32 * 1024,
        loaded_bytes=0,
        priority_fee=0,
        unit_price=0,
        will_fail="MaxLoadedAccountsDataSizeExceeded",
    )


def test_version_1_asks_in_line() -> None:
    config = TransactionConfig(7, 2_000_000, 1024 * MIB, 64 * 1024)
    assert given_to(version_1(CALL, config=config)) == Settings(
        Asked(1, 2_000_000, None, 7, 1024 * MIB, 64 * 1024),
        units=1_400_000,
        heap_size=64 * 1024,
        loaded_bytes=64 * MIB,
        priority_fee=7,
        unit_price=5,
    )


def test_compute_budget_instructions_in_version_1_mean_nothing() -> None:
    twice = set_compute_unit_limit(9)
    unknown = Instruction(BUDGET, b"\xff", [])
    config = TransactionConfig(compute_unit_limit=5, loaded_accounts_data_size_limit=6)
    found = given_to(version_1(twice, twice, unknown, config=config))
    assert (found.units, found.priority_fee, found.will_fail) == (5, 0, None)


@pytest.mark.parametrize(
    ("calls", "config", "failing"),
    [
        ([CALL], TransactionConfig(compute_unit_limit=1), "MaxLoadedAccountsDataSizeExceeded"),
        ([CALL], TransactionConfig(None, None, 1), "ProgramFailedToComplete"),
        ([CALL], TransactionConfig(None, 0, 1), "ProgramFailedToComplete"),
        ([PAY], TransactionConfig(None, None, 1), "ComputationalBudgetExceeded"),
        ([VERIFY, PAY, CALL], TransactionConfig(None, 0, 1), "ComputationalBudgetExceeded"),
        ([CALL], TransactionConfig(None, 1, 1), None),
        ([], TransactionConfig(None, None, 1), None),
        ([VERIFY], TransactionConfig(None, None, 1), None),
    ],
)
def test_a_version_1_that_can_only_fail_is_known(
    calls: list[Instruction], config: TransactionConfig, failing: str | None
) -> None:
    assert given_to(version_1(*calls, config=config)).will_fail == failing


@pytest.mark.parametrize("size", [0, 1, 1_025, 31 * 1024, 257 * 1024, 1_048_576])
def test_a_heap_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(BadSettings) as refusal:
        given_to(version_1(CALL, config=TransactionConfig(heap_size=size)))
    assert refusal.value.err == "SanitizeFailure"
    with pytest.raises(BadSettings) as refusal:
        given_to(older(0, CALL, request_heap_frame(size)))
    assert refusal.value.err == {"InstructionError": [1, "InvalidInstructionData"]}


@pytest.mark.parametrize(
    ("calls", "err"),
    [
        ([Instruction(BUDGET, b"", [])], {"InstructionError": [0, "InvalidInstructionData"]}),
        (
            [Instruction(BUDGET, b"\2\0\0\0", [])],
            {"InstructionError": [0, "InvalidInstructionData"]},
        ),
        (
            [CALL, Instruction(BUDGET, b"\5", [])],
            {"InstructionError": [1, "InvalidInstructionData"]},
        ),
        ([set_compute_unit_limit(1), set_compute_unit_limit(2)], {"DuplicateInstruction": 1}),
        ([set_loaded_accounts_data_size_limit(0)], "InvalidLoadedAccountsDataSizeLimit"),
    ],
)
def test_unreadable_instructions_are_refused(calls: list[Instruction], err: Any) -> None:
    with pytest.raises(BadSettings) as refusal:
        given_to(older("legacy", *calls))
    assert refusal.value.err == err


def test_a_price_beyond_all_numbers_counts_as_none() -> None:
    config = TransactionConfig(2**64 - 1, 1, 1)
    found = given_to(version_1(CALL, config=config))
    assert (found.priority_fee, found.unit_price) == (2**64 - 1, 0)


u32 = st.integers(0, 2**32 - 1)
heaps = st.integers(32, 256).map(lambda kib: kib * 1024)


@settings(max_examples=examples(200))
@given(st.none() | st.integers(0, 2**64 - 1), st.none() | u32, st.none() | u32, st.none() | heaps)
def test_settings_of_made_messages_are_those_that_solders_reads(
    fee: int | None, units: int | None, size: int | None, heap: int | None
) -> None:
    made = version_1(CALL, config=TransactionConfig(fee, units, size, heap))
    read = VersionedTransaction.from_bytes(bytes(made)).message
    assert isinstance(read, MessageV1)
    config = read.config
    found = given_to(made)
    assert found.asked == Asked(
        1,
        compute_unit_limit=config.compute_unit_limit,
        priority_fee=config.priority_fee,
        loaded_accounts_data_size_limit=config.loaded_accounts_data_size_limit,
        heap_size=config.heap_size,
    )
    assert found.units == min(config.compute_unit_limit or 0, 1_400_000)
    assert found.loaded_bytes == min(config.loaded_accounts_data_size_limit or 0, 64 * MIB)
    assert found.priority_fee == (config.priority_fee or 0)
    assert found.heap_size == (config.heap_size or 32 * 1024)


@settings(max_examples=examples(200))
@given(st.integers(0, 2**32 - 1))
def test_a_heap_is_right_where_solders_takes_it(size: int) -> None:
    made = version_1(CALL, config=TransactionConfig(heap_size=size))
    try:
        made.sanitize()
    except Exception:
        with pytest.raises(BadSettings):
            given_to(made)
    else:
        given_to(made)


def test_limits_are_by_version_and_by_the_first_byte() -> None:
    assert (limits_of("legacy").size, limits_of(0).size) == (1_232, 1_232)
    assert limits_of(1) == (v1.MAX_TRANSACTION_SIZE, v1.MAX_SIGNATURES, 64, v1.MAX_ADDRESSES)
    assert limits_of(1).instructions == v1.MAX_INSTRUCTIONS
    assert limits_of(1).size == MOST_BYTES
    assert [most_bytes(first) for first in (0x01, 0x7F, 0x80, 0xD0)] == [1_232] * 4
    # As the node: what only a later version could be is large, too.
    assert [most_bytes(first) for first in (0x81, 0x82, 0xCF)] == [4_096] * 3
