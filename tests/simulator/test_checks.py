"""Transactions that could not be in a block, with the node's errors."""

from collections.abc import Callable
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import Message, MessageHeader, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain import addresses
from simulator.outcome import Outcome
from tests.simulator.test_lookups import lookup_table
from tests.simulator.world import (
    ALICE,
    BOB,
    PREVIOUS,
    RECENT,
    SOL,
    World,
    address,
    call,
    keypair,
    limits,
    pay,
    plain,
    readable,
    token_account,
    transfer,
    v0,
    writable,
)

TARGET = address(77)
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
TRANSFER = transfer(ALICE.pubkey(), TARGET, SOL)


def assert_refused(outcome: Outcome, err: Any) -> None:
    assert outcome.err == err
    assert not outcome.charged
    assert outcome.fee == 0
    assert outcome.writes == {}
    assert outcome.pre_balances == outcome.post_balances == []


def of_parts(
    *,
    header: tuple[int, int, int] = (1, 0, 1),
    keys: int = 2,
    instructions: list[CompiledInstruction],
    signatures: int = 1,
    version: type[Message] | type[MessageV0],
) -> VersionedTransaction:
    known = [ALICE.pubkey(), *[address(100 + i) for i in range(keys - 1)]]
    message: Message | MessageV0
    if version is Message:
        message = Message.new_with_compiled_instructions(*header, known, RECENT, instructions)
    else:
        message = MessageV0(MessageHeader(*header), known, RECENT, instructions, [])
    return VersionedTransaction.populate(message, [Signature.default()] * signatures)


@pytest.mark.parametrize("version", [Message, MessageV0])
@pytest.mark.parametrize(
    "broken",
    [
        {"signatures": 0},
        {"signatures": 2},
        {"header": (1, 1, 0)},
        {"header": (1, 0, 2)},
        {"instructions": [CompiledInstruction(2, b"", b"")]},
        {"instructions": [CompiledInstruction(1, b"", b"\x02")]},
        {"instructions": [CompiledInstruction(0, b"", b"")]},
        {"instructions": [CompiledInstruction(1, b"", b"")] * 65},
    ],
    ids=lambda broken: str(broken)[:80],
)
def test_a_malformed_transaction_is_refused(
    version: type[Message] | type[MessageV0], broken: dict[str, Any]
) -> None:
    parts = {"instructions": [CompiledInstruction(1, b"", b"")], **broken}
    assert_refused(World().look(of_parts(version=version, **parts)), "SanitizeFailure")


def test_a_transaction_is_no_larger_than_a_packet() -> None:
    fits = v0([call(MEMO, b"a" * 1_060)])
    assert len(bytes(fits)) == 1_232
    assert World().look(fits).err is None
    assert_refused(World().look(v0([call(MEMO, b"a" * 1_061)])), "SanitizeFailure")


def test_sixty_four_instructions_are_not_too_many() -> None:
    assert World().look(v0([call(MEMO, b"hi")] * 64)).err is None


def test_every_signature_must_be_that_of_its_key() -> None:
    good = v0([TRANSFER, transfer(BOB.pubkey(), TARGET, 1)], [ALICE, BOB])
    first, second = good.signatures
    swapped = VersionedTransaction.populate(good.message, [second, first])
    assert_refused(World().look(swapped), "SignatureFailure")
    half = VersionedTransaction.populate(good.message, [first, Signature.default()])
    assert_refused(World().look(half), "SignatureFailure")
    assert World().look(half, verify=False).err is None


def test_sixty_four_accounts_and_no_more_can_be_locked() -> None:
    world = World()

    def naming(count: int) -> VersionedTransaction:
        # Without room for so many keys in a packet they come from a lookup table.
        return of_many(world, count)

    assert world.look(naming(64)).err is None
    assert_refused_with_keys(world.look(naming(65)), "TooManyAccountLocks")


def of_many(world: World, count: int) -> VersionedTransaction:
    others = [address(1_000 + i) for i in range(count - 2)]
    table = lookup_table(world, address(500), others)
    accounts = [readable(key) for key in others]
    return v0(
        [call(addresses.SYSTEM, TRANSFER_NOTHING, [writable(ALICE.pubkey())] * 2 + accounts)],
        tables=[table],
    )


TRANSFER_NOTHING = (2).to_bytes(4, "little") + bytes(8)


def assert_refused_with_keys(outcome: Outcome, err: Any) -> None:
    assert_refused(outcome, err)
    assert len(outcome.keys) > 64


def test_a_key_cannot_stand_twice_in_a_transaction() -> None:
    keys = [ALICE.pubkey(), TARGET, TARGET, addresses.SYSTEM]
    instruction = CompiledInstruction(3, TRANSFER_NOTHING, b"\x00\x01")
    message = MessageV0(MessageHeader(1, 0, 1), keys, RECENT, [instruction], [])
    transaction = VersionedTransaction(message, [ALICE])
    assert_refused(World().look(transaction), "AccountLoadedTwice")


def test_a_blockhash_must_be_recent_where_that_is_asked() -> None:
    world = World()
    old = v0([TRANSFER], blockhash=Hash.default())
    assert_refused(world.look(old), "BlockhashNotFound")
    world.blockhashes = None
    assert world.look(old).err is None


BUDGET = addresses.COMPUTE_BUDGET


@pytest.mark.parametrize(
    ("instructions", "err"),
    [
        ([call(BUDGET)], {"InstructionError": [0, "InvalidInstructionData"]}),
        ([TRANSFER, call(BUDGET, b"\0" * 9)], {"InstructionError": [1, "InvalidInstructionData"]}),
        ([call(BUDGET, b"\x05" * 9)], {"InstructionError": [0, "InvalidInstructionData"]}),
        ([call(BUDGET, b"\x02\1\1\1")], {"InstructionError": [0, "InvalidInstructionData"]}),
        ([call(BUDGET, b"\x03" + bytes(7))], {"InstructionError": [0, "InvalidInstructionData"]}),
        (limits(units=1) + limits(units=1), {"DuplicateInstruction": 1}),
        ([*limits(price=1), TRANSFER, *limits(price=1)], {"DuplicateInstruction": 2}),
        (limits(loaded=0), "InvalidLoadedAccountsDataSizeLimit"),
        (
            [call(BUDGET, b"\x01" + (31 * 1024).to_bytes(4, "little"))],
            {"InstructionError": [0, "InvalidInstructionData"]},
        ),
        (
            [call(BUDGET, b"\x01" + (257 * 1024).to_bytes(4, "little"))],
            {"InstructionError": [0, "InvalidInstructionData"]},
        ),
        (
            [call(BUDGET, b"\x01" + (32 * 1024 + 1).to_bytes(4, "little"))],
            {"InstructionError": [0, "InvalidInstructionData"]},
        ),
    ],
)
def test_compute_budget_instructions_are_read_first(instructions: list[Any], err: Any) -> None:
    assert_refused(World().look(v0(instructions)), err)


def test_bytes_behind_a_limit_are_ignored() -> None:
    trailed = call(BUDGET, b"\x02" + (300).to_bytes(4, "little") + b"more")
    outcome = World().look(v0([trailed, TRANSFER]))
    assert outcome.err is None
    assert outcome.units_consumed == 300


def nonce_account(lamports: int) -> Any:
    data = (1).to_bytes(4, "little") * 2 + bytes(ALICE.pubkey()) + bytes(32)
    return plain(lamports, data + (5_000).to_bytes(8, "little"))


NONCE_MINIMUM = 1_447_680


@pytest.mark.parametrize(
    ("payer", "err"),
    [
        (lambda: None, "AccountNotFound"),
        (lambda: plain(4_999), "InsufficientFundsForFee"),
        (lambda: plain(890_880 + 4_999), {"InsufficientFundsForRent": {"account_index": 0}}),
        (lambda: plain(890_880 + 5_000), None),
        (lambda: plain(5_000), None),
        (lambda: plain(5_001), None),
        (lambda: plain(889_000), None),
        (lambda: plain(SOL, b"data"), "InvalidAccountForFee"),
        (lambda: plain(SOL, bytes(80)), "InvalidAccountForFee"),
        (lambda: token_account(TARGET, ALICE.pubkey(), 1), "InvalidAccountForFee"),
        (lambda: nonce_account(NONCE_MINIMUM + 4_999), "InsufficientFundsForFee"),
        (lambda: nonce_account(NONCE_MINIMUM + 5_000), None),
    ],
)
def test_the_payer_must_be_able_to_pay(payer: Callable[[], Any], err: Any) -> None:
    world = World()
    account = payer()
    del world.accounts[ALICE.pubkey()]
    if account is not None:
        world.accounts[ALICE.pubkey()] = account
    outcome = world.look(v0([call(MEMO, b"hello")]))
    if err is None:
        assert outcome.err is None
        assert outcome.post_balances[0] == account.lamports - 5_000
    else:
        assert_refused(outcome, err)


def assert_pays_in_vain(outcome: Outcome, err: str) -> None:
    """Fees-only: charged, and not run."""
    assert outcome.err == err
    assert outcome.charged
    assert not outcome.executed
    assert outcome.fee == 5_000
    assert outcome.units_consumed == 0
    assert outcome.writes == {ALICE.pubkey(): plain(10 * SOL - 5_000)}
    assert outcome.post_balances[0] == 10 * SOL - 5_000
    meta = outcome.meta()
    assert meta["logMessages"] is None
    assert meta["innerInstructions"] is None


def test_a_program_that_is_not_there_costs_the_fee() -> None:
    assert_pays_in_vain(World().look(v0([call(TARGET)])), "ProgramAccountNotFound")


def test_an_account_that_is_no_program_costs_the_fee() -> None:
    outcome = World().look(v0([TRANSFER, call(BOB.pubkey())]))
    assert_pays_in_vain(outcome, "InvalidProgramForExecution")


def test_loading_more_than_allowed_costs_the_fee() -> None:
    world = World()
    # Payer and target of 64 bytes (the target is not there yet), the system program with its
    # name of 14, the budget program with its of 22.
    size = 64 + 64 + 14 + 64 + 22
    budget = limits(loaded=size)
    outcome = world.look(v0([*budget, TRANSFER]))
    assert outcome.err is None
    assert outcome.loaded_accounts_data_size == size
    outcome = world.look(v0([*limits(loaded=size - 1), TRANSFER]))
    assert_pays_in_vain(outcome, "MaxLoadedAccountsDataSizeExceeded")


def test_the_code_of_a_program_counts_once_as_loaded() -> None:
    world = World()
    code_key = Pubkey.from_bytes(world.accounts[addresses.TOKEN].data[4:36])
    code_size = len(world.accounts[code_key].data)
    one = world.look(v0([call(addresses.TOKEN)]))
    assert one.loaded_accounts_data_size == 64 + (64 + 36) + (64 + code_size)
    named = world.look(v0([call(addresses.TOKEN, b"", [readable(code_key)])]))
    assert named.loaded_accounts_data_size == one.loaded_accounts_data_size


def test_the_previous_blockhash_need_not_be_recent_for_others() -> None:
    world = World(blockhashes={PREVIOUS})
    assert world.look(v0([TRANSFER], blockhash=PREVIOUS)).err is None
    assert_refused(world.look(pay(TARGET, SOL)), "BlockhashNotFound")


def test_a_signer_without_an_account_is_no_obstacle() -> None:
    stranger = keypair(99)
    outcome = World().look(
        v0([TRANSFER, transfer(stranger.pubkey(), TARGET, 0)], [ALICE, stranger])
    )
    assert outcome.err is None
    assert outcome.fee == 10_000
