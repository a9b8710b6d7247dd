"""What a simulation says of its own truth: it is verified only where nothing at all differs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain.addresses import FEES, NATIVE_LOADER, RENT, SLOT_HASHES, SYSTEM, SYSVAR_OWNER
from chain.blocks import SlotRecord
from historical.transactions.services.recorded_transactions import recorded
from rewind.models import AccountChange
from rewind.recording.services import filters
from rewind.replay.models import Divergence
from rewind.replay.services import comparing, features
from rewind.replay.services.audit import audit_next
from rewind.replay.services.replay import forget_verdicts, replay
from simulator.missing_rules import features_to_ask_for
from tests.cluster import one_machine
from tests.conftest import Rpc
from tests.patience import PATIENCE_SECONDS
from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.round_trips import counted
from tests.rewind.simulating import call, own_place, simulated, stored, upgradeable, with_write
from tests.simulator.elf import RETURNS_DATA

TARGET, PROGRAM = Pubkey(bytes([77]) * 32), Pubkey(bytes([80]) * 32)
VERIFIED = {"fidelity": "verified", "fidelityFields": [], "fidelityReason": None}
database = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    made = LittleChain(tmp_path, given=upgradeable(PROGRAM, RETURNS_DATA, slot=0))
    made.block(made.payment(TARGET, SOL))
    returning = made.signed([call(PROGRAM)], made.payers[0])
    made.block(made.payment(TARGET, SOL + 1), returning)
    yield made
    made.close()


def with_meta(record: SlotRecord, index: int, **meta: Any) -> SlotRecord:
    """The block, with the transaction's metadata told otherwise."""
    entries = list(record.transactions)
    entries[index] = replace(entries[index], meta={**(entries[index].meta or {}), **meta})
    return replace(record, transactions=entries)


TOLD_OTHERWISE = [
    (0, "err", {"InstructionError": [0, {"Custom": 1}]}, "err"),
    (0, "fee", 5_001, "fee"),
    (0, "computeUnitsConsumed", 151, "computeUnitsConsumed"),
    (0, "logMessages", ["Program log: another"], "logs"),
    (0, "preBalances", [1, 2, 1], "preBalances"),
    (0, "postBalances", [1, 2, 1], "postBalances"),
    (
        0,
        "innerInstructions",
        [{"index": 0, "instructions": [{"programIdIndex": 1, "accounts": [], "data": ""}]}],
        "innerInstructions",
    ),
    (
        0,
        "postTokenBalances",
        [
            {
                "accountIndex": 1,
                "mint": str(TARGET),
                "uiTokenAmount": {
                    "amount": "1",
                    "decimals": 0,
                    "uiAmount": 1.0,
                    "uiAmountString": "1",
                },
            }
        ],
        "postTokenBalances",
    ),
    (
        1,
        "returnData",
        {"programId": str(PROGRAM), "data": ["AAAA", "base64"]},
        "returnData",
    ),
]


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize(("index", "name", "value", "field"), TOLD_OTHERWISE)
def test_each_field_that_the_chain_tells_otherwise_is_named(
    chain: LittleChain, rpc: Rpc, index: int, name: str, value: Any, field: str
) -> None:
    records = [*chain.records[:2], with_meta(chain.records[2], index, **{name: value})]
    stored(records)
    sent = chain.sent[1 + index]
    found = simulated(rpc, sent, anchor=own_place(sent))
    assert (found["fidelity"], found["fidelityFields"]) == ("diverged", [field])
    assert found["fidelityReason"] is None
    record = recorded(sent.signatures[0])
    assert record is not None
    (difference,) = replay(record).verdict.differences
    assert difference.field == field and difference.expected != difference.found


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_an_account_that_the_archive_tells_otherwise_is_named(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    sent = chain.sent[1]
    rows = AccountChange.objects.filter(pubkey=bytes(TARGET))
    assert simulated(rpc, sent, anchor=own_place(sent))["fidelity"] == "verified"
    rows.filter(slot=2).update(lamports=7)
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert (value["fidelity"], value["fidelityFields"]) == ("diverged", ["accounts"])
    rows.filter(slot=1).update(lamports=8)
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert set(value["fidelityFields"]) >= {"preBalances", "postBalances", "accounts"}


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_elsewhere_there_is_no_verdict_but_that_of_its_own_place(
    chain: LittleChain, rpc: Rpc
) -> None:
    stored(chain.records)
    for position in ({"slot": 0}, {"slot": 2}, {"slot": 2, "transactionIndex": 1}):
        value = simulated(rpc, chain.sent[1], **position)
        assert (value["fidelity"], value["fidelityReason"]) == (
            "not_applicable",
            "another_position",
        )
        assert value["fidelityAt"] == {"slot": 2, "transactionIndex": 0}
        assert value["ownPlace"] == VERIFIED
    other = chain.payment(TARGET, 3 * SOL)
    value = simulated(rpc, other, slot=2)
    assert (value["fidelityAt"], value["ownPlace"]) == (None, None)
    poor = {"overrides": {str(TARGET): {"lamports": SOL}}}
    value = simulated(rpc, other, slot=2, **poor)
    assert (value["fidelity"], value["fidelityReason"]) == ("not_applicable", "overrides")
    assert (value["fidelityAt"], value["ownPlace"]) == (None, None)


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_what_cannot_be_told_has_a_reason(chain: LittleChain, rpc: Rpc) -> None:
    entry = chain.records[2].transactions[0]
    bare = replace(
        chain.records[2],
        transactions=[replace(entry, meta=None), *chain.records[2].transactions[1:]],
    )
    stored([*chain.records[:2], bare])
    first, second, _ = chain.sent

    def reason(transaction: VersionedTransaction, **config: Any) -> tuple[str, str | None]:
        value = simulated(rpc, transaction, **config)
        told = value["ownPlace"] or value
        return told["fidelity"], told["fidelityReason"]

    assert reason(first, slot=2) == ("verified", None)
    assert reason(second, slot=2) == ("unverified", "no_meta")
    assert reason(second, anchor=own_place(second)) == ("unverified", "no_meta")
    assert reason(chain.payment(TARGET, 3 * SOL), slot=2) == ("unverified", "not_in_ledger")
    # Somebody else's signature on another message is no proof of anything.
    other = VersionedTransaction.populate(chain.payment(TARGET, 9).message, first.signatures)
    assert reason(other, slot=2) == ("unverified", "not_in_ledger")


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_what_was_not_there_by_the_chains_own_word_needs_no_record(
    chain: LittleChain, rpc: Rpc
) -> None:
    stored(chain.records[:1])
    sent = chain.sent[0]
    filters.filter_account(TARGET, filtered=True)  # which is made by the transaction
    stored(chain.records[1:])
    assert simulated(rpc, sent, anchor=own_place(sent))["fidelity"] == "verified"


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_a_record_stands_against_the_chains_own_word(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    sent = chain.sent[0]
    row = AccountChange.objects.filter(slot=0).first()
    assert row is not None
    AccountChange.objects.create(
        **{
            name: getattr(row, name) for name in ("slot", "write_version", "rent_epoch", "owner_id")
        },
        **{"position": -1, "kind": 0, "executable": False, "pubkey": TARGET, "data": b""},
        lamports=7,
    )
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert (value["fidelity"], "preBalances" in value["fidelityFields"]) == ("diverged", True)


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_mainnets_slots_of_old_rules_say_so(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    sent = chain.payment(TARGET, 3 * SOL)
    assert simulated(rpc, sent, slot=2)["fidelityReason"] == "not_in_ledger"
    filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    assert simulated(rpc, sent, slot=2)["fidelityReason"] == "engine_older_rules"


# --- comparing ------------------------------------------------------------------------------------

LOGS = st.lists(st.sampled_from(["a", "b", "Log truncated"]), max_size=5)


@given(LOGS, LOGS)
def test_logs_are_compared_up_to_where_one_was_cut(one: list[str], other: list[str]) -> None:
    differ = bool(comparing.meta_differences({"logMessages": one}, {"logMessages": other}))
    cut = min(
        [logs.index("Log truncated") for logs in (one, other) if "Log truncated" in logs] or [9]
    )
    assert differ == (one[:cut] != other[:cut])


def test_older_forms_of_metadata_are_the_same() -> None:
    inner = {"programIdIndex": 1, "accounts": [0], "data": "3", "stackHeight": 2}
    amount = {"amount": "5", "decimals": 1, "uiAmount": None, "uiAmountString": "0.5"}
    balance = {"accountIndex": 1, "mint": "M", "uiTokenAmount": amount, "owner": "O"}
    found = {
        "err": {"InstructionError": [0, "BorshIoError"]},
        "innerInstructions": [{"index": 0, "instructions": [inner]}],
        "preTokenBalances": [{**balance, "programId": "P"}],
    }
    older = {
        "err": {"InstructionError": [0, {"BorshIoError": "Unknown"}]},
        "innerInstructions": [
            {"index": 0, "instructions": [{**inner, "stackHeight": None}]},
            {"index": 1, "instructions": []},
        ],
        "preTokenBalances": [{name: value for name, value in balance.items() if name != "owner"}],
        "rewards": [],
        "computeUnitsConsumed": None,
    }
    assert comparing.meta_differences(older, found) == []
    other = {**older, "err": {"InstructionError": [0, "InvalidArgument"]}}
    assert [name for name, *_ in comparing.meta_differences(other, found)] == ["err"]


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_without_a_sysvar_that_a_program_reads_nothing_is_said_to_diverge(
    tmp_path: Path, rpc: Rpc
) -> None:
    """A lookup table is made for a slot that the slot hashes name, which no instruction names."""
    from solders.system_program import CreateLookupTableParams, create_lookup_table

    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL))
    payer = made.payers[0]
    owner = payer.pubkey()
    params = CreateLookupTableParams(authority_address=owner, payer_address=owner, recent_slot=1)
    made.block(made.signed([create_lookup_table(params)[0]], payer), made.payment(TARGET, SOL))
    made.close()
    filters.filter_account(SLOT_HASHES, filtered=True)
    stored(made.records)
    _, table, payment = made.sent
    value = simulated(rpc, table, anchor=own_place(table))
    assert value["err"] is not None
    assert (value["fidelity"], value["fidelityReason"]) == ("unverified", "filtered_account")
    assert simulated(rpc, payment, anchor=own_place(payment))["fidelity"] == "verified"


def naming(chain: LittleChain, *keys: Pubkey) -> VersionedTransaction:
    """A payment that names accounts besides, which it does not read."""
    payer = chain.payers[0]
    params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=TARGET, lamports=SOL)
    paying, more = transfer(params), [AccountMeta(key, False, False) for key in keys]
    return chain.signed([Instruction(SYSTEM, paying.data, [*paying.accounts, *more])], payer)


def with_beginning(chain: LittleChain, kept: Sequence[str]) -> list[SlotRecord]:
    """The records without the chain's first; of its sysvars and features the kept ones are told
    by the second, at its end.
    """
    genesis, first, *others = chain.records
    for write in genesis.account_writes or ():
        if "sysvars" in kept and write.owner in (bytes(SYSVAR_OWNER), bytes(NATIVE_LOADER)):
            account = Account(
                write.lamports,
                write.data,
                Pubkey(write.owner),
                write.executable,
                write.rent_epoch,
            )
            first = with_write(first, Pubkey(write.pubkey), account)
    if "features" in kept:
        for key in features_to_ask_for():
            first = with_write(first, key, None)
    return [first, *others]


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize("kept", [(), ("sysvars",), ("features",), ("sysvars", "features")])
def test_what_was_never_recorded_of_a_chain_is_no_difference(
    tmp_path: Path, rpc: Rpc, kept: Sequence[str]
) -> None:
    """The engine's own sysvars, which have other balances, and mainnet's features stand in."""
    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL))
    made.block(naming(made, RENT))
    told = made.block(made.payment(TARGET, SOL))
    made.close()
    made.records[-1] = with_meta(told, 0, logMessages=["Program log: another"])
    features.forget()
    stored(with_beginning(made, kept))
    _, verified, other = made.sent
    for position in ({"anchor": own_place(verified)}, {"slot": 3}):
        value = simulated(rpc, verified, **position)
        assert {name: (value["ownPlace"] or value)[name] for name in VERIFIED} == VERIFIED
    value = simulated(rpc, other, anchor=own_place(other))
    # Whether the archive is wrong shows only where nothing had to stand in.
    is_known = len(kept) == 2
    expected = ("diverged", None) if is_known else ("unverified", "state_not_recorded")
    assert (value["fidelity"], value["fidelityReason"]) == expected
    audited = audit_next(permille=1_000, now=lambda: NOW, seconds=PATIENCE_SECONDS)
    assert audited.diverged == Divergence.objects.count() == int(is_known)


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_a_sysvar_that_a_chain_does_not_have_has_no_balance(tmp_path: Path, rpc: Rpc) -> None:
    """As the fees, which newer nodes do not make."""
    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL))
    told = made.block(naming(made, FEES))
    made.close()
    meta = told.transactions[0].meta or {}
    balances = {name: [*meta[name][:3], 0] for name in ("preBalances", "postBalances")}
    without = with_write(made.records[1], FEES, None)
    stored([made.records[0], without, with_meta(told, 0, **balances)])
    value = simulated(rpc, made.sent[1], anchor=own_place(made.sent[1]))
    assert {name: value[name] for name in VERIFIED} == VERIFIED


@one_machine
@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_a_simulation_that_comes_again_reads_in_two_round_trips_or_three(
    rpc: Rpc, chain: LittleChain, tmp_path: Path
) -> None:
    stored(chain.records)
    payment, returning = chain.sent[1:3]

    def ask(sent: VersionedTransaction, **config: Any) -> tuple[dict[str, Any], int]:
        for _ in range(2):  # once to learn where the program's code is
            value = simulated(rpc, sent, **config)
        with counted(tmp_path) as trips:
            assert simulated(rpc, sent, **config) == value
        return value, trips[0]

    for sent in (payment, returning):
        value, trips = ask(sent, anchor=own_place(sent))
        # The record, and then all that it reads and wrote.
        assert (value["fidelity"], trips) == ("verified", 2)
        value, trips = ask(sent, slot=2)
        assert (value["ownPlace"]["fidelity"], trips) == ("verified", 2)
        forget_verdicts()
        with counted(tmp_path) as again:
            assert simulated(rpc, sent, slot=2) == value
        assert again == [3]  # its own place is another
    unsent = chain.signed([call(PROGRAM)], chain.payers[1])
    value, trips = ask(unsent, slot=1)
    # In slots as low as these it is asked whether the chain is mainnet.
    assert (value["fidelityReason"], trips) == ("not_in_ledger", 3)
