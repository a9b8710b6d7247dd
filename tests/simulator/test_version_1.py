"""Version 1: settings in-line, nothing that was not asked for, and Compute Budget instructions that
mean nothing.
"""

from dataclasses import replace
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
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from simulator.errors import EngineFault
from simulator.features import feature_set_of, known_features
from simulator.outcome import Outcome
from simulator.required_accounts import needed_keys
from tests.examples import examples
from tests.simulator import elf
from tests.simulator.test_anything import assert_sound
from tests.simulator.test_checks import assert_refused
from tests.simulator.test_nonces import DURABLE, NONCE, advance, durable_of, state
from tests.simulator.world import (
    ALICE,
    BOB,
    PREVIOUS,
    SOL,
    World,
    address,
    call,
    legacy,
    limits,
    plain,
    readable,
    transfer,
    v0,
    v1,
    writable,
)

TARGET, PROGRAM = address(77), address(800)
PAY = transfer(ALICE.pubkey(), TARGET, SOL)
UNKNOWN = call(addresses.COMPUTE_BUDGET, b"\xff")
MIB = 1024 * 1024
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
BUDGET = f"Program {addresses.COMPUTE_BUDGET}"


def asking(
    *,
    fee: int | None = None,
    units: int | None = 1_000,
    size: int | None = MIB,
    heap: int | None = None,
) -> TransactionConfig:
    return TransactionConfig(fee, units, size, heap)


def test_its_priority_fee_is_lamports_for_all_of_it() -> None:
    world = World()
    outcome = world.run(v1([PAY], config=asking(fee=7)))
    assert (outcome.err, outcome.fee) == (None, 5_007)
    assert outcome.pre_balances[0] - outcome.post_balances[0] == SOL + 5_007
    assert world.balance(ALICE.pubkey()) == outcome.post_balances[0]
    assert_sound(outcome)


def test_the_payer_has_paid_before_it_runs() -> None:
    """The fee is gone when the instructions run: what would take it fails."""
    all_but_the_base_fee = transfer(ALICE.pubkey(), TARGET, 10 * SOL - 5_000)
    outcome = World().look(v1([all_but_the_base_fee], config=asking(fee=1)))
    assert outcome.err == {"InstructionError": [0, {"Custom": 1}]}
    assert "insufficient lamports 9999994999, need 9999995000" in outcome.logs[1]
    emptied = World().look(
        v1([transfer(ALICE.pubkey(), TARGET, 10 * SOL - 5_001)], config=asking(fee=1))
    )
    assert (emptied.err, emptied.post_balances[0]) == (None, 0)
    assert_refused(World().look(v1([PAY], config=asking(fee=10 * SOL))), "InsufficientFundsForFee")


def test_without_a_size_it_pays_and_does_not_run() -> None:
    outcome = World().look(v1([PAY], config=asking(fee=3, size=None)))
    assert outcome.err == "MaxLoadedAccountsDataSizeExceeded"
    assert (outcome.charged, outcome.executed, outcome.fee) == (True, False, 5_003)
    assert list(outcome.writes) == [ALICE.pubkey()]


def test_without_units_it_fails_at_its_first_instruction() -> None:
    outcome = World().look(v1([PAY], config=asking(units=None)))
    assert outcome.err == {"InstructionError": [0, "ComputationalBudgetExceeded"]}
    assert (outcome.executed, outcome.fee, outcome.units_consumed) == (True, 5_000, 0)
    world = World()
    world.deploy(PROGRAM, elf.SUCCEEDS)
    outcome = world.look(v1([call(PROGRAM)], config=asking(units=None)))
    assert outcome.err == {"InstructionError": [0, "ProgramFailedToComplete"]}


@pytest.mark.parametrize(("units", "err"), [(300, None), (299, [1, "ComputationalBudgetExceeded"])])
def test_it_has_the_units_that_it_asks_for(units: int, err: list[Any] | None) -> None:
    outcome = World().look(v1([PAY, PAY], config=asking(units=units)))
    assert outcome.err == (None if err is None else {"InstructionError": err})


def test_its_loaded_size_counts_as_in_other_versions() -> None:
    size = World().look(v0([PAY])).loaded_accounts_data_size
    assert World().look(v1([PAY], config=asking(size=size))).err is None
    short = World().look(v1([PAY], config=asking(size=size - 1)))
    assert short.err == "MaxLoadedAccountsDataSizeExceeded"


def test_its_heap_costs_units_by_the_32_kib() -> None:
    world = World()
    world.deploy(PROGRAM, elf.SUCCEEDS)
    small = world.look(v1([call(PROGRAM)], config=asking()))
    large = world.look(v1([call(PROGRAM)], config=asking(heap=128 * 1024)))
    assert (small.err, large.err) == (None, None)
    assert large.units_consumed == small.units_consumed + 3 * 8


@pytest.mark.parametrize("heap", [0, 1, 1_025, 31 * 1024, 1_048_576])
def test_a_heap_out_of_range_is_malformed(heap: int) -> None:
    assert_refused(World().look(v1([PAY], config=asking(heap=heap))), "SanitizeFailure")


def test_compute_budget_instructions_mean_nothing() -> None:
    instructions = [
        set_compute_unit_limit(1),
        set_compute_unit_limit(1),
        set_compute_unit_price(10**9),
        set_loaded_accounts_data_size_limit(1),
        UNKNOWN,
        PAY,
        request_heap_frame(1),
    ]
    outcome = World().look(v1(instructions, config=asking(units=7 * 150, fee=2)))
    assert (outcome.err, outcome.units_consumed, outcome.fee) == (None, 7 * 150, 5_002)
    line = [f"{BUDGET} invoke [1]", f"{BUDGET} success"]
    system = [f"Program {addresses.SYSTEM} invoke [1]", f"Program {addresses.SYSTEM} success"]
    assert outcome.logs == [*line * 5, *system, *line]
    assert outcome.keys == list(v1(instructions, config=asking()).message.account_keys)
    assert_sound(outcome)


def test_they_fail_where_the_units_end() -> None:
    outcome = World().look(v1([*[UNKNOWN] * 9, PAY], config=asking(units=1_300)))
    assert outcome.err == {"InstructionError": [8, "ComputationalBudgetExceeded"]}
    assert outcome.logs[-1] == f"{BUDGET} failed: Computational budget exceeded"


@pytest.mark.parametrize("price", [0, 1, 2**64 - 1])
def test_a_price_in_an_instruction_costs_nothing(price: int) -> None:
    outcome = World().look(v1([set_compute_unit_price(price), PAY], config=asking()))
    assert (outcome.err, outcome.fee) == (None, 5_000)


def test_a_program_reads_the_instructions_as_they_are() -> None:
    """Where the VM takes a Compute Budget instruction, it is the transaction's own."""
    own = [set_compute_unit_limit(7_000), request_heap_frame(65_536), set_compute_unit_price(0)]
    world = World()
    reads = reads_sysvar(PROGRAM, world)
    outcome = world.look(v1([*own, reads], config=asking(units=5_000)))
    before = world.look(legacy([*own, *limits(), reads]))
    assert outcome.err is None
    assert outcome.return_data is not None
    assert outcome.return_data == before.return_data


def reads_sysvar(program: Pubkey, world: World) -> Instruction:
    """A call that returns the first bytes of the instructions sysvar, its only account."""
    # The account's data begins 8 + 1 + 3 + 4 + 32 + 32 + 8 + 8 bytes into the input.
    text = (
        elf.op(0xBF, 6, 1)  # r6 = input
        + elf.op(0xBF, 1, 6)
        + elf.op(0x07, 1, 0, 0, 96)  # data
        + elf.op(0xB7, 2, 0, 0, 64)  # its length
        + elf.CALL
        + elf.RETURN_0
        + elf.EXIT
    )
    world.deploy(program, elf.elf(text, {4: b"sol_set_return_data"}))
    return call(program, b"", [readable(addresses.INSTRUCTIONS)])


def test_logs_are_cut_as_by_the_node() -> None:
    """Where the System program stood in for Compute Budget, the VM's own lines are shorter: here
    by 11 letters in each of 90 lines.
    """
    words = [call(MEMO, b"x" * 600) for _ in range(4)]

    def logs(number: int) -> list[str]:
        transaction = v1([*words, *[UNKNOWN] * number], config=asking(units=1_400_000))
        outcome = World().look(transaction)
        assert outcome.err is None
        return outcome.logs

    of_one = sum(map(len, logs(3))) - sum(map(len, logs(2)))
    fitting = 2 + (9_999 - sum(map(len, logs(2)))) // of_one
    assert fitting < 60
    assert "Log truncated" not in logs(fitting)
    assert sum(map(len, logs(fitting))) < 10_000
    assert logs(fitting + 1)[-1] == "Log truncated"
    assert logs(fitting + 1)[:-1] == logs(fitting + 2)[:-1]


def test_too_many_of_them_beside_too_many_keys_are_a_fault() -> None:
    """Nothing is claimed that the engine cannot run: no place for the System program is left."""
    others = [readable(address(1_000 + each)) for each in range(61)]
    transaction = v1([*[UNKNOWN] * 5, call(MEMO, b"hi", others)], config=asking(units=100_000))
    assert len(transaction.message.account_keys) == 64
    with pytest.raises(EngineFault):
        World().look(transaction)
    fewer = v1([*[UNKNOWN] * 4, call(MEMO, b"hi", others)], config=asking(units=100_000))
    assert World().look(fewer).executed


def test_what_is_malformed_in_version_1() -> None:
    pay_often = [PAY] * 65
    assert_refused(World().look(v1(pay_often), verify=False), "SanitizeFailure")
    keys = [readable(address(1_000 + each)) for each in range(63)]
    assert_refused(World().look(v1([call(MEMO, b"", keys)])), "SanitizeFailure")
    half = call(MEMO, b"x" * 3_800)
    assert World().look(v1([half])).charged
    too_large = v1([call(MEMO, b"x" * 4_000)])
    assert len(bytes(too_large)) > 4_096
    assert_refused(World().look(too_large), "SanitizeFailure")


def test_its_signatures_are_checked() -> None:
    good = v1([PAY, transfer(BOB.pubkey(), TARGET, 1)], [ALICE, BOB])
    assert World().look(good).err is None
    swapped = VersionedTransaction.populate(good.message, list(reversed(good.signatures)))
    assert_refused(World().look(swapped), "SignatureFailure")


def test_its_nonce_advances() -> None:
    world = World()
    world.accounts[NONCE] = plain(SOL, state(DURABLE))
    outcome = world.look(v1([advance(), PAY], config=asking(fee=1), blockhash=DURABLE))
    assert (outcome.err, outcome.fee) == (None, 5_001)
    assert outcome.writes[NONCE].data[40:72] == bytes(durable_of(PREVIOUS))
    unpaid = world.look(v1([advance(), PAY], config=asking(size=None), blockhash=DURABLE))
    assert unpaid.err == "MaxLoadedAccountsDataSizeExceeded"
    assert unpaid.writes[NONCE].data[40:72] == bytes(durable_of(PREVIOUS))


def test_a_nonce_may_pay_and_have_compute_budget_instructions() -> None:
    """The payer has data: what stands in for Compute Budget must not mind."""
    world = World()
    world.accounts[ALICE.pubkey()] = plain(10 * SOL, state(DURABLE))
    instructions = [advance(ALICE.pubkey()), *[UNKNOWN] * 7]
    outcome = world.look(v1(instructions, config=asking(units=2_000), blockhash=DURABLE))
    assert outcome.err is None


def test_instructions_too_long_for_their_sysvar_are_not_loaded() -> None:
    """The sysvar has two bytes for where an instruction begins."""
    keys = [AccountMeta(addresses.INSTRUCTIONS, False, False)] * 255
    words = [call(MEMO, b"", keys) for _ in range(9)]
    outcome = World().look(v1(words), verify=False)
    assert outcome.err == "MaxLoadedAccountsDataSizeExceeded"
    assert World().look(v1(words[:8]), verify=False).executed


def test_limits_of_one_transaction_are_not_those_of_the_next() -> None:
    world = World()
    alone = World().look(v0([PAY]))
    assert world.look(v1([PAY], config=asking(units=1))).err is not None
    assert world.look(v0([PAY])) == alone


@settings(max_examples=examples(60))
@given(
    units=st.sampled_from([149, 150, 600, 100_000, 2_000_000]),
    size=st.sampled_from([1, 400, MIB, 2**31]),
    lamports=st.sampled_from([0, 890_880, SOL, 10 * SOL - 5_000, 11 * SOL]),
    number=st.integers(1, 4),
)
def test_it_ends_as_version_0_that_asks_for_the_same(
    units: int, size: int, lamports: int, number: int
) -> None:
    pays = [transfer(ALICE.pubkey(), address(900 + each), lamports) for each in range(number)]
    asked = limits(units=units + 2 * 150, loaded=size)
    older = World().look(v0([*asked, *pays]))
    config = asking(units=units + 2 * 150, size=size)
    newer = World().look(v1([UNKNOWN, UNKNOWN, *pays], config=config))
    if older.executed:
        assert newer.cost_units == older.cost_units - _data_cost(older, asked)
    ours = replace(newer, cost_units=0, keys=[], loaded_accounts_data_size=0)
    assert ours == replace(older, cost_units=0, keys=[], loaded_accounts_data_size=0)


def _data_cost(outcome: Outcome, asked: list[Instruction]) -> int:
    """What the longer Compute Budget instructions cost: a unit for each four bytes of data."""
    transfers = 12 * (len(outcome.logs) // 2 - 2)
    return (sum(len(each.data) for each in asked) + transfers) // 4 - (2 + transfers) // 4


@settings(max_examples=examples(300))
@given(noise=st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), max_size=4))
def test_any_version_1_gives_an_outcome(noise: list[tuple[int, int]]) -> None:
    wire = bytearray(bytes(v1([UNKNOWN, UNKNOWN, PAY, call(PROGRAM, b"", [writable(TARGET)])])))
    for at, value in noise:
        wire[at % len(wire)] = value
    try:
        transaction = VersionedTransaction.from_bytes(bytes(wire))
    except ValueError:
        return
    if isinstance(transaction.message, MessageV1):
        assert_sound(World().look(transaction, verify=False))
        needed_keys([transaction], World().accounts)


@pytest.mark.parametrize(("has_rule", "cost"), [(False, 0), (True, 16)])
def test_what_only_pays_costs_the_size_that_it_loaded(has_rule: bool, cost: int) -> None:
    """Up to its limit, once `define_ltds_fee_only_semantics` is on; before, the payer's bytes."""
    rule = Pubkey.from_string("LTDSzjZKFJMKHYpNycG1FrWwGGTaFFwqEFjB5GGLNVD")
    active = {key: 0 for key in known_features() if key != rule or has_rule}
    world = World()
    world.accounts[TARGET] = plain(10 * SOL, bytes(90_000))
    moment = replace(world.moment, features=feature_set_of(active))
    tried = v1([PAY], config=asking(size=40_000))
    outcome = world.engine.execute(tried, load=world.accounts.get, moment=moment)
    assert outcome.err == "MaxLoadedAccountsDataSizeExceeded"
    signature, locks, data = 720, 2 * 300, 3
    assert outcome.cost_units == signature + locks + data + cost
