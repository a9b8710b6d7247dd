"""Programs, tables, sysvars and features of the time; overrides; an engine in trouble."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.clock import Clock
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address

from chain import addresses
from chain.encodings import b58encode, b64encode
from chain.units import U64_MAX
from rewind.models import AccountChange
from rewind.positions import Asked
from rewind.recording.services import filters
from rewind.replay.services import features
from rewind.replay.services.past_state import past
from simulator.client import engine_processes
from simulator.defaults import rent_minimum
from simulator.features import (
    activation_slots,
    feature_set_at,
    known_features,
    mainnet_features,
)
from tests.clients.minted import Minted
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import (
    call,
    code_of,
    own_place,
    refused,
    simulated,
    stored,
    upgradeable,
    with_write,
)
from tests.simulator.elf import LOGS, NEVER_ENDS, SUCCEEDS, fails_with
from tests.simulator.test_lookups import table_data

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

PROGRAM, ENDLESS, TABLE = (Pubkey(bytes([number]) * 32) for number in (80, 81, 82))
TARGET, HUGE, FIRST, SECOND = (Pubkey(bytes([number]) * 32) for number in (77, 83, 84, 85))
HUGE_SIZE = 10 * 1_048_576


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """In slot 2 PROGRAM, which failed with 7, is upgraded, and TABLE gets SECOND."""
    made = LittleChain(
        tmp_path,
        given={
            **upgradeable(PROGRAM, fails_with(7), slot=0),
            **upgradeable(ENDLESS, NEVER_ENDS, slot=0),
            TABLE: table([FIRST], extended=0, start=0),
        },
    )
    made.block(made.payment(TARGET, SOL))
    made.block(made.payment(TARGET, SOL + 1), made.payment(TARGET, SOL + 2, payer=1))
    made.block(made.payment(TARGET, SOL + 3))
    upgrade = upgradeable(PROGRAM, SUCCEEDS, slot=2)[code_of(PROGRAM)]
    record = with_write(made.records[2], code_of(PROGRAM), upgrade, by=made.sent[1])
    extended = table([FIRST, SECOND], extended=2, start=1)
    made.records[2] = with_write(record, TABLE, extended, by=made.sent[1])
    yield made
    made.close()


@pytest.fixture
def archived(chain: LittleChain) -> LittleChain:
    stored(chain.records)
    return chain


def table(keys: list[Pubkey], *, extended: int, start: int) -> Account:
    data = table_data(keys, extended=extended, start=start)
    return Account(rent_minimum(len(data)), data, addresses.LOOKUP_TABLE, False, U64_MAX)


def err(rpc: Rpc, transaction: VersionedTransaction, **config: Any) -> Any:
    return simulated(rpc, transaction, **config)["err"]


# --- programs and tables --------------------------------------------------------------------------


def test_each_position_has_the_code_of_its_time(archived: LittleChain, rpc: Rpc) -> None:
    calls = archived.signed([call(PROGRAM)], archived.payers[0])
    fails = {"InstructionError": [0, {"Custom": 7}]}
    assert err(rpc, calls, slot=1) == fails
    assert err(rpc, calls, slot=2, transactionIndex=0) != fails
    assert err(rpc, calls, anchor=own_place(archived.sent[1])) == fails
    # Code is visible from the slot after the one that it came in.
    unseen = {"InstructionError": [0, "UnsupportedProgramId"]}
    assert err(rpc, calls, slot=2) == err(rpc, calls, anchor=own_place(archived.sent[2])) == unseen
    assert err(rpc, calls, slot=3) is None
    assert err(rpc, calls, slot=3, preStateSlot=1) == fails


def by_table(chain: LittleChain, target: Pubkey) -> VersionedTransaction:
    payer = chain.payers[0]
    known = AddressLookupTableAccount(TABLE, [FIRST, SECOND])
    pays = Instruction(
        addresses.SYSTEM,
        (2).to_bytes(4, "little") + SOL.to_bytes(8, "little"),
        [AccountMeta(payer.pubkey(), True, True), AccountMeta(target, False, True)],
    )
    message = MessageV0.try_compile(payer.pubkey(), [pays], [known], chain.blockhash)
    return VersionedTransaction(message, [payer])


def test_lookup_tables_are_those_of_the_slot_it_runs_in(archived: LittleChain, rpc: Rpc) -> None:
    first, second = by_table(archived, FIRST), by_table(archived, SECOND)
    assert err(rpc, first, slot=1) is None
    assert err(rpc, second, slot=1) == "InvalidAddressLookupTableIndex"
    # What was added in the slot itself serves from the next one on.
    assert err(rpc, second, slot=2) == "InvalidAddressLookupTableIndex"
    assert err(rpc, first, slot=2) is None
    assert err(rpc, second, slot=3) is None
    assert err(rpc, second, slot=3, preStateSlot=0) is None
    assert err(rpc, second, slot=2, preStateSlot=0) == "InvalidAddressLookupTableIndex"


def test_what_a_table_or_a_program_brings_along_is_touched_too(
    archived: LittleChain, rpc: Rpc
) -> None:
    second = by_table(archived, SECOND)
    calls = archived.signed([call(PROGRAM)], archived.payers[0])
    filters.filter_account(SECOND, filtered=True)
    assert refused(rpc, second, slot=3)["data"]["pubkeys"] == [str(SECOND)]
    filters.filter_account(SECOND, filtered=False)
    filters.filter_account(code_of(PROGRAM), filtered=True)
    assert refused(rpc, calls, slot=3)["data"]["pubkeys"] == [str(code_of(PROGRAM))]
    assert err(rpc, second, slot=3) is None
    filters.filter_account(addresses.SLOT_HISTORY, filtered=True)
    reads = archived.signed([call(PROGRAM, addresses.SLOT_HISTORY)], archived.payers[0])
    filters.filter_account(code_of(PROGRAM), filtered=False)
    assert refused(rpc, reads, slot=3)["code"] == -32017
    assert err(rpc, calls, slot=3) is None


def test_a_mint_that_nobody_loads_need_not_be_known(
    archived: LittleChain, rpc: Rpc, tmp_path: Path
) -> None:
    payer, mint = archived.payers[0], Keypair.from_seed(bytes([90]) * 32)
    minted = Minted(TOKEN_PROGRAM_ID, mint.pubkey(), payer, archived.payers)
    owners = [each.pubkey() for each in archived.payers]
    given = [minted.account(payer, owner) for owner in owners]
    made = [*minted.create(), *given, minted.mint_to(owners[0], 100)]
    archived.block(archived.signed(made, payer, mint))
    # Transfer, which unlike TransferChecked does not name the mint.
    held = [get_associated_token_address(owner, mint.pubkey()) for owner in owners]
    metas = [AccountMeta(key, False, True) for key in held]
    metas.append(AccountMeta(owners[0], True, False))
    moves = Instruction(TOKEN_PROGRAM_ID, b"\3" + (5).to_bytes(8, "little"), metas)
    moved = archived.signed([moves], payer)
    archived.block(moved)
    stored(archived.records[-2:])
    value = simulated(rpc, moved, anchor=own_place(moved))
    assert (value["err"], value["fidelity"]) == (None, "verified")
    filters.filter_account(mint.pubkey(), filtered=True)
    assert simulated(rpc, moved, anchor=own_place(moved))["fidelity"] == "verified"
    AccountChange.objects.filter(pubkey=bytes(mint.pubkey())).delete()
    assert simulated(rpc, moved, anchor=own_place(moved))["fidelity"] == "verified"


# --- the moment -----------------------------------------------------------------------------------


def test_sysvars_are_those_that_the_slots_transactions_saw(archived: LittleChain) -> None:
    blocks = {record.slot: record for record in archived.records}
    for asked in (
        Asked(slot=2),
        Asked(slot=2, index=0),
        Asked(slot=2, index=0, after=False),
        Asked(signature=archived.sent[2].signatures[0]),
    ):
        there = past(asked)
        clock = there.sysvars[addresses.CLOCK]
        assert clock is not None and Clock.from_bytes(clock.data).slot == 2
        recent = there.sysvars[addresses.RECENT_BLOCKHASHES]
        assert recent is not None
        assert Hash(recent.data[8:40]) == Hash.from_string(blocks[1].blockhash)
        assert there.moment.previous_blockhash == Hash.from_string(blocks[1].blockhash)
        assert there.moment.slot == there.slot == 2
    there = past(Asked(slot=3), pre_state_slot=1)
    clock = there.sysvars[addresses.CLOCK]
    assert clock is not None and Clock.from_bytes(clock.data).slot == 3
    assert (there.slot, there.load_slot) == (3, 1)


@pytest.mark.parametrize("lacks", ["ledger", "ledger and sysvar"])
def test_without_the_ledger_the_archive_tells_the_blockhash(chain: LittleChain, lacks: str) -> None:
    stored(chain.records, ledger=False)
    if lacks == "ledger and sysvar":
        AccountChange.objects.filter(pubkey=bytes(addresses.RECENT_BLOCKHASHES)).delete()
    found = past(Asked(slot=3)).moment.previous_blockhash
    assert found == Hash.from_string(chain.records[2].blockhash)


def test_a_slot_whose_time_nothing_tells_is_refused(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    AccountChange.objects.filter(pubkey=bytes(addresses.CLOCK)).delete()
    error = refused(rpc, chain.sent[0], slot=3)
    assert error["data"]["reason"] == "state_not_recorded"
    assert error["data"]["pubkeys"] == [str(addresses.CLOCK)]


def feature(slot: int | None) -> Account:
    data = bytes(9) if slot is None else b"\x01" + slot.to_bytes(8, "little")
    return Account(SOL, data, addresses.FEATURE, False, U64_MAX)


def test_features_are_those_that_the_chain_had_activated(chain: LittleChain) -> None:
    one, other, never = sorted(known_features() - activation_slots().keys())[:3]
    record = chain.records[2]
    for key, account in ((one, feature(2)), (other, feature(3)), (never, feature(None))):
        record = with_write(record, key, account)
    stored([*chain.records[:2], record, *chain.records[3:]])
    features.forget()
    sets = [past(Asked(slot=slot)).moment.features for slot in (1, 2, 3)]
    assert all(each is not None for each in sets)
    active = [set(each.active) if each is not None else set() for each in sets]
    assert active[0] == set(mainnet_features().active)  # localnet starts with these
    assert active[1] - active[0] == {one}
    assert active[2] - active[1] == {other}
    assert past(Asked(slot=1)).moment.features is sets[0]  # a set of its own costs a machine
    features.forget()


def test_mainnets_features_are_known_by_slot(chain: LittleChain) -> None:
    newer = min(known_features() - activation_slots().keys())
    filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    stored([*chain.records[:2], with_write(chain.records[2], newer, feature(3)), chain.records[3]])
    features.forget()
    assert past(Asked(slot=2)).moment.features is feature_set_at(past(Asked(slot=2)).slot)
    found = past(Asked(slot=3)).moment.features
    assert found is not None
    assert set(found.active) == {*feature_set_at(past(Asked(slot=3)).slot).active, newer}
    features.forget()


# --- overrides ------------------------------------------------------------------------------------


def test_an_override_is_laid_over_what_was(archived: LittleChain, rpc: Rpc) -> None:
    payer = archived.payers[0].pubkey()
    pays = archived.payment(TARGET, 2_000 * SOL)
    assert err(rpc, pays, slot=3) == {"InstructionError": [0, {"Custom": 1}]}
    wanted = {"encoding": "base64", "addresses": [str(payer), str(TARGET)]}
    value = simulated(
        rpc, pays, slot=3, overrides={str(payer): {"lamports": 3_000 * SOL}}, accounts=wanted
    )
    assert value["err"] is None
    assert value["rewindOverriddenAccounts"] == [str(payer)]
    assert [each["lamports"] for each in value["accounts"]] == [
        1_000 * SOL - 5_000,
        2_004 * SOL + 6,
    ]
    gone = simulated(rpc, pays, slot=3, overrides={str(payer): {"lamports": 0}})
    assert gone["err"] == "AccountNotFound"
    other = simulated(rpc, pays, slot=3, overrides={str(payer): {"owner": str(PROGRAM)}})
    assert other["err"] == "InvalidAccountForFee"


def test_code_and_sysvars_may_be_overridden(archived: LittleChain, rpc: Rpc) -> None:
    calls = archived.signed([call(PROGRAM)], archived.payers[0])
    code = upgradeable(PROGRAM, LOGS, slot=0)[code_of(PROGRAM)].data
    for data in (b64encode(code), [b64encode(code), "base64"], [b58encode(code), "base58"]):
        value = simulated(rpc, calls, slot=3, overrides={str(code_of(PROGRAM)): {"data": data}})
        assert value["err"] is None and len(value["logs"]) == 4
    bad = {str(addresses.CLOCK): {"data": "AAAA"}}
    error = refused(rpc, calls, slot=3, overrides=bad)
    assert (error["code"], error["data"]["reason"]) == (-32602, "bad_override")
    assert simulated(rpc, calls, slot=3)["err"] is None


def test_an_override_of_a_whole_account_needs_no_record(archived: LittleChain, rpc: Rpc) -> None:
    filters.filter_account(TARGET, filtered=True)
    pays = archived.payment(TARGET, SOL)
    assert refused(rpc, pays, slot=3, overrides={str(TARGET): {"lamports": 1}})["code"] == -32017
    whole = {"lamports": SOL, "owner": str(addresses.SYSTEM), "data": ""}
    wanted = {"encoding": "base64", "addresses": [str(TARGET)]}
    value = simulated(rpc, pays, slot=3, overrides={str(TARGET): whole}, accounts=wanted)
    assert value["accounts"][0]["lamports"] == 2 * SOL


def test_an_override_makes_an_account_that_was_not_there(archived: LittleChain, rpc: Rpc) -> None:
    reads = archived.signed([call(PROGRAM, SECOND)], archived.payers[0])
    wanted = {"encoding": "base64", "addresses": [str(SECOND)]}
    data = {"owner": str(PROGRAM), "data": b64encode(bytes(100))}
    value = simulated(rpc, reads, slot=3, overrides={str(SECOND): data}, accounts=wanted)
    assert value["accounts"] == [
        {
            "lamports": rent_minimum(100),
            "owner": str(PROGRAM),
            "executable": False,
            "data": [b64encode(bytes(100)), "base64"],
            "space": 100,
            "rentEpoch": U64_MAX,
        }
    ]


def test_an_account_that_was_read_may_be_handed_back_as_an_override(
    archived: LittleChain, rpc: Rpc
) -> None:
    payer = str(archived.payers[0].pubkey())
    seen = rpc("/rewind", "getAccountInfo", payer, {"slot": 3})["result"]["value"]
    assert {"rentEpoch", "space", "rewindSlot"} <= set(seen)
    pays = archived.payment(TARGET, 2_000 * SOL)
    richer = {**seen, "lamports": 3_000 * SOL}
    assert err(rpc, pays, slot=3, overrides={payer: richer}) is None


def test_a_misspelled_member_of_an_override_is_named(archived: LittleChain, rpc: Rpc) -> None:
    pays = archived.payment(TARGET, SOL)
    payer, other = (str(each.pubkey()) for each in archived.payers[:2])
    for bad, word in (
        ({"lamport": 1}, "Invalid params: unknown field `lamport`."),
        ({"lamports": -1}, "Invalid params: invalid value: integer `-1`, expected u64."),
        ({"owner": "x"}, "Invalid param: WrongSize"),
        (7, "Invalid params: invalid type: integer `7`, expected an object."),
    ):
        error = refused(rpc, pays, slot=3, overrides={other: {"lamports": 1}, payer: bad})
        assert error["message"] == word
        assert error["data"]["at"].startswith(f"[1].overrides.{payer}")


def test_accounts_may_be_loaded_from_other_slots(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.payment(TARGET, SOL)
    wanted = {"encoding": "base64", "addresses": [str(TARGET)]}
    for slot, held in ((0, 0), (1, SOL), (2, 3 * SOL + 3)):
        value = simulated(rpc, sent, slot=3, overrideLoads={str(TARGET): slot}, accounts=wanted)
        assert value["accounts"][0]["lamports"] == held + SOL
        assert value["rewindOverrideLoads"] == {str(TARGET): slot}
    calls = archived.signed([call(PROGRAM)], archived.payers[0])
    at_first = {str(code_of(PROGRAM)): 1}
    assert err(rpc, calls, slot=3, overrideLoads=at_first) == {
        "InstructionError": [0, {"Custom": 7}]
    }
    both = {"overrideLoads": {str(TARGET): 1}, "overrides": {str(TARGET): {"lamports": 5 * SOL}}}
    value = simulated(rpc, sent, slot=3, accounts=wanted, **both)
    assert value["accounts"][0]["lamports"] == 6 * SOL
    assert refused(rpc, sent, slot=3, overrideLoads={str(TARGET): 4})["code"] == -32014


def test_an_altered_run_is_not_what_is_verified(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.sent[2]
    payer = str(archived.payers[1].pubkey())
    value = simulated(rpc, sent, anchor=own_place(sent), overrides={payer: {"lamports": 6_000}})
    assert value["err"] == {"InstructionError": [0, {"Custom": 1}]}
    assert (value["fidelity"], value["fidelityReason"]) == ("not_applicable", "overrides")
    assert value["ownPlace"]["fidelity"] == "verified"


# --- an engine in trouble -------------------------------------------------------------------------


def test_an_endless_program_ends_with_its_units(archived: LittleChain, rpc: Rpc) -> None:
    value = simulated(rpc, archived.signed([call(ENDLESS)], archived.payers[0]), slot=3)
    assert value["err"] == {"InstructionError": [0, "ProgramFailedToComplete"]}
    assert value["unitsConsumed"] == 200_000


def test_what_takes_too_long_is_told_and_the_next_call_works(
    archived: LittleChain, rpc: Rpc, settings: Any
) -> None:
    sent = archived.payment(TARGET, SOL)
    assert err(rpc, sent, slot=3) is None
    settings.SIMULATION_TIMEOUT_SECONDS = 0.3
    stopped = engine_processes().pids()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    for _ in stopped:
        error = refused(rpc, sent, slot=3)
        assert (error["code"], error["data"]["reason"]) == (-32603, "simulation_timeout")
    settings.SIMULATION_TIMEOUT_SECONDS = 10
    assert err(rpc, sent, slot=3) is None


def test_an_engine_that_died_troubles_nobody(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.payment(TARGET, SOL)
    assert err(rpc, sent, slot=3) is None
    for pid in engine_processes().pids():
        os.kill(pid, signal.SIGKILL)
    for _ in range(4):
        try:
            assert err(rpc, sent, slot=3) is None
        except AssertionError as failed:
            assert "engine_fault" in str(failed)
    assert err(rpc, sent, slot=3) is None


def test_the_largest_account_is_loaded(chain: LittleChain, rpc: Rpc) -> None:
    data = os.urandom(HUGE_SIZE)
    huge = Account(rent_minimum(HUGE_SIZE), data, PROGRAM, False, U64_MAX)
    stored([*chain.records[:1], with_write(chain.records[1], HUGE, huge), *chain.records[2:]])
    reads = chain.signed([call(PROGRAM, HUGE)], chain.payers[0])
    wanted = {"encoding": "base64", "addresses": [str(HUGE)]}
    value = simulated(rpc, reads, slot=3, accounts=wanted)
    assert value["err"] is None
    assert value["accounts"][0]["space"] == HUGE_SIZE
    assert value["accounts"][0]["data"][0] == b64encode(data)
    seven_times = {"encoding": "base64", "addresses": [str(HUGE)] * 7}
    others = [Pubkey(bytes([200 + number]) * 32) for number in range(4)]
    reads = chain.signed([call(PROGRAM, HUGE, *others)], chain.payers[0])
    error = refused(rpc, reads, slot=3, accounts=seven_times)
    assert error["data"]["reason"] == "accounts_too_large"
    assert error["data"]["maximum"] < error["data"]["found"] == 7 * HUGE_SIZE
    assert err(rpc, chain.payment(TARGET, SOL), slot=3) is None
