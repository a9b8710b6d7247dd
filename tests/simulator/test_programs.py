"""Programs: those of every loader, deployed, replaced, closed and gone."""

import os

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.encodings import b64decode
from chain.units import U64_MAX, Slot
from simulator.errors import BadSysvar, EngineFault
from simulator.features import feature_set_at
from simulator.moment import Moment
from simulator.outcome import Outcome
from tests.simulator import elf
from tests.simulator.world import (
    ALICE,
    SOL,
    World,
    address,
    call,
    limits,
    pay,
    plain,
    readable,
    signing,
    v0,
    writable,
)

PROGRAM = address(800)
CALL = v0([call(PROGRAM)])
NOT_CALLABLE = {"InstructionError": [0, "UnsupportedProgramId"]}


def deployed(code: bytes, *, slot: int = 0) -> World:
    world = World()
    world.deploy(PROGRAM, code, slot=slot)
    return world


def test_a_program_of_our_own_runs() -> None:
    outcome = deployed(elf.SUCCEEDS).look(CALL)
    assert outcome.err is None
    assert outcome.units_consumed == 2
    assert list(outcome.writes) == [ALICE.pubkey()]
    assert deployed(elf.LOGS).look(CALL).logs[1].startswith("Program log: ")


def test_a_custom_error_is_returned() -> None:
    assert deployed(elf.fails_with(7)).look(CALL).err == {"InstructionError": [0, {"Custom": 7}]}


def test_return_data_is_returned() -> None:
    outcome = deployed(elf.RETURNS_DATA).look(CALL)
    assert outcome.return_data == {"programId": str(PROGRAM), "data": ["AQAAAA==", "base64"]}
    assert outcome.meta()["returnData"] == outcome.return_data
    assert "returnData" not in deployed(elf.SUCCEEDS).look(CALL).meta()


def test_a_program_that_never_ends_is_ended_by_its_units() -> None:
    outcome = deployed(elf.NEVER_ENDS).look(v0([*limits(units=1_400_000), call(PROGRAM)]))
    assert outcome.err == {"InstructionError": [1, "ProgramFailedToComplete"]}
    assert outcome.units_consumed == 1_400_000


@pytest.mark.parametrize("loader", [addresses.LOADER_1, addresses.LOADER_2])
@pytest.mark.parametrize("executable", [True, False])
def test_programs_of_the_older_loaders_run(loader: Pubkey, executable: bool) -> None:
    world = World()
    world.accounts[PROGRAM] = Account(SOL, elf.fails_with(7), loader, executable, U64_MAX)
    assert world.look(CALL).err == {"InstructionError": [0, {"Custom": 7}]}
    world.accounts[PROGRAM] = Account(SOL, elf.SUCCEEDS, loader, executable, U64_MAX)
    assert world.look(CALL).err is None


def test_a_program_is_not_called_in_the_slot_it_came_in() -> None:
    world = deployed(elf.SUCCEEDS, slot=1_000)
    outcome = world.look(CALL)
    assert outcome.err == NOT_CALLABLE
    assert outcome.logs[1] == "Program is not deployed"
    assert outcome.charged
    world.next_slot()
    assert world.look(CALL).err is None


def test_new_code_is_what_runs() -> None:
    world = deployed(elf.fails_with(7))
    for code in (8, 9, 7, 7, 8):
        world.deploy(PROGRAM, elf.fails_with(code))
        assert world.look(CALL).err == {"InstructionError": [0, {"Custom": code}]}


@pytest.mark.parametrize("code", [b"", b"no elf", elf.SUCCEEDS[:200]])
def test_code_that_does_not_load_is_no_program(code: bytes) -> None:
    assert deployed(code).look(CALL).err == NOT_CALLABLE


def test_a_program_whose_code_is_gone_cannot_be_called_and_can_come_back() -> None:
    world = deployed(elf.SUCCEEDS)
    assert world.look(CALL).err is None
    code_key = Pubkey.from_bytes(world.accounts[PROGRAM].data[4:36])
    code = world.accounts.pop(code_key)
    assert world.look(CALL).err == NOT_CALLABLE
    world.accounts[code_key] = code
    assert world.look(CALL).err is None


def test_a_program_that_is_gone_leaves_nothing_behind() -> None:
    world = deployed(elf.SUCCEEDS)
    assert world.look(CALL).err is None
    program = world.accounts.pop(PROGRAM)
    assert world.look(CALL).err == "ProgramAccountNotFound"
    world.accounts[PROGRAM] = plain(SOL, b"data")
    assert world.look(CALL).err == "InvalidProgramForExecution"
    # As an account like others it is not there for a transfer either.
    del world.accounts[PROGRAM]
    assert world.look(pay(PROGRAM, SOL)).pre_balances[1] == 0
    world.accounts[PROGRAM] = program
    assert world.look(CALL).err is None


def test_an_account_of_an_unknown_loader_is_no_program() -> None:
    world = World()
    for loader in (addresses.LOADER_4, addresses.SYSVAR_OWNER):
        world.accounts[PROGRAM] = Account(SOL, elf.SUCCEEDS, loader, True, U64_MAX)
        assert world.look(CALL).err == "InvalidProgramForExecution"
    world.accounts[PROGRAM] = Account(SOL, b"native", addresses.NATIVE_LOADER, True, U64_MAX)
    assert world.look(CALL).err == NOT_CALLABLE


def buffer(code: bytes) -> Account:
    head = (1).to_bytes(4, "little") + b"\x01" + bytes(ALICE.pubkey())
    return plain(SOL, head + code, addresses.LOADER_3)


def test_an_upgrade_is_seen_in_the_next_slot() -> None:
    world = deployed(elf.fails_with(7).ljust(2_000, b"\0"))
    code_key = Pubkey.from_bytes(world.accounts[PROGRAM].data[4:36])
    spare = address(801)
    world.accounts[spare] = buffer(elf.fails_with(8))
    upgrade = call(
        addresses.LOADER_3,
        (3).to_bytes(4, "little"),
        [
            writable(code_key),
            writable(PROGRAM),
            writable(spare),
            writable(ALICE.pubkey()),
            readable(addresses.RENT),
            readable(addresses.CLOCK),
            signing(ALICE.pubkey()),
        ],
    )
    assert world.look(CALL).err == {"InstructionError": [0, {"Custom": 7}]}
    outcome = world.run(v0([upgrade]))
    assert outcome.err is None
    assert set(outcome.writes) == {ALICE.pubkey(), code_key, PROGRAM, spare}
    assert world.accounts[code_key].data[4:12] == (1_000).to_bytes(8, "little")
    assert world.look(CALL).err == NOT_CALLABLE
    world.next_slot()
    assert world.look(CALL).err == {"InstructionError": [0, {"Custom": 8}]}


def test_a_panic_of_the_vm_is_a_fault_and_the_next_call_works() -> None:
    world = deployed(elf.SUCCEEDS)
    assert world.look(CALL).err is None
    (machine,) = world.engine._machines.values()
    # The one thing known to make it panic: its program taken away behind its back.
    machine.vm.set_account(PROGRAM, Account(0, b"", addresses.SYSTEM, False, 0))
    with pytest.raises(EngineFault, match="panicked"):
        world.look(CALL)
    assert world.look(CALL).err is None
    assert os.environ["RUST_BACKTRACE"] == "0"


def test_a_sysvar_that_is_none_is_named() -> None:
    world = World()
    world.accounts[addresses.RENT] = plain(SOL, b"rent", addresses.SYSVAR_OWNER)
    with pytest.raises(BadSysvar, match=str(addresses.RENT)):
        world.look(pay(PROGRAM, SOL))
    del world.accounts[addresses.RENT]
    assert world.look(pay(PROGRAM, SOL)).err is None


def test_an_error_of_the_loader_is_the_callers_own() -> None:
    world = World()

    def load(key: Pubkey) -> Account | None:
        if key == PROGRAM:
            raise LookupError("not this one")
        return world.accounts.get(key)

    with pytest.raises(LookupError, match="not this one"):
        world.engine.execute(CALL, load=load, moment=world.moment)
    assert world.look(pay(PROGRAM, SOL)).err is None


@pytest.mark.parametrize("key", [addresses.SLOT_HISTORY, addresses.FEES])
def test_a_program_reads_a_sysvar_as_the_caller_has_it(key: Pubkey) -> None:
    """Those that the VM does not look at by itself; read each time."""
    world = World()
    data = bytes(world.accounts[key].data)
    # In a program's input the data of the only account begins at 96.
    reads = elf.op(0x07, 1, 0, 0, 96 + len(data) - 8) + elf.op(0xB7, 2, 0, 0, 8)
    code = reads + elf.CALL + elf.RETURN_0 + elf.EXIT
    world.deploy(PROGRAM, elf.elf(code, {2: b"sol_set_return_data"}))
    transaction = v0([call(PROGRAM, b"", [readable(key)])])
    own = world.accounts.pop(key)
    for number in (None, 1, 2, 2, None):
        changed = data if number is None else data[:-8] + number.to_bytes(8, "big")
        world.accounts[key] = Account(own.lamports, changed, own.owner, False, U64_MAX)
        if number is None:
            del world.accounts[key]
        outcome = world.look(transaction)
        assert outcome.err is None
        returned = "" if outcome.return_data is None else outcome.return_data["data"][0]
        assert b64decode(returned).ljust(8, b"\0") == changed[-8:]


def test_rules_follow_the_slot() -> None:
    """A syscall that mainnet has had since slot 330,912,000."""
    world = World()
    asks = elf.op(0xB7, 1, 0, 0, 0) + elf.CALL + elf.RETURN_0 + elf.EXIT
    world.deploy(PROGRAM, elf.elf(asks, {1: b"sol_get_epoch_stake"}))

    def err_at(slot: int) -> object:
        features = feature_set_at(Slot(slot))
        moment = Moment(Slot(slot), world.previous_blockhash, None, features)
        return world.engine.execute(CALL, load=world.accounts.get, moment=moment).err

    unresolved = {"InstructionError": [0, "ProgramFailedToComplete"]}
    assert err_at(330_911_999) == unresolved
    assert err_at(330_912_000) is None
    assert err_at(330_911_999) == unresolved
    assert world.look(CALL).err is None


def test_rules_outside_the_vm_follow_the_slot_too() -> None:
    world = World()

    def look(transaction: VersionedTransaction, slot: int) -> Outcome:
        features = feature_set_at(Slot(slot))
        moment = Moment(Slot(slot), world.previous_blockhash, None, features)
        return world.engine.execute(transaction, load=world.accounts.get, moment=moment)

    unpaid, paid = look(CALL, 327_023_999), look(CALL, 327_024_000)
    assert unpaid.err == paid.err == "ProgramAccountNotFound"
    assert (unpaid.charged, paid.charged) == (False, True)
    memo = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
    many = v0([call(memo, b"hi")] * 65)
    run, malformed = look(many, 404_351_999), look(many, 404_352_000)
    assert run.err == {"InstructionError": [64, "MaxInstructionTraceLengthExceeded"]}
    assert (run.charged, malformed.charged) == (True, False)
    assert malformed.err == "SanitizeFailure"
