"""simulateHistoricalTransaction: what it takes, what it answers, and what it refuses."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.token.constants import TOKEN_PROGRAM_ID

from chain.blocks import Granularity
from chain.encodings import b58encode
from rewind.recording.services import filters
from tests.clients.minted import Minted
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.samples import WHOLE, block
from tests.rewind.simulating import answer, own_place, refused, simulated, stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

TARGET = Keypair.from_seed(bytes([77]) * 32)
OTHER = Pubkey(bytes([78]) * 32)
SYSTEM = "11111111111111111111111111111111"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittleChain]:
    """Slots 0 to 5: TARGET has 1 SOL after slot 1, 2 after the first payment of slot 2, 3 after
    the second, nothing after slot 4, and slot 3 was skipped.
    """
    made = LittleChain(tmp_path_factory.mktemp("chain"))
    target = TARGET.pubkey()
    made.block(made.payment(target, SOL))
    made.block(made.payment(target, SOL), made.payment(target, SOL, payer=1))
    away = made.payment(target, SOL + 1, payer=1)
    made.block(away, _all_away(made), skip=1)
    made.block(made.payment(OTHER, SOL))
    yield made
    made.close()


def _all_away(made: LittleChain) -> VersionedTransaction:
    from solders.system_program import TransferParams, transfer

    gone = TransferParams(
        from_pubkey=TARGET.pubkey(), to_pubkey=made.payers[0].pubkey(), lamports=4 * SOL + 1
    )
    return made.signed([transfer(gone)], made.payers[0], TARGET)


@pytest.fixture
def archived(chain: LittleChain) -> LittleChain:
    stored(chain.records)
    return chain


def after(rpc: Rpc, transaction: VersionedTransaction, *keys: Pubkey, **config: Any) -> list[Any]:
    """The lamports that the accounts hold when the transaction has run."""
    wanted = {"encoding": "base64", "addresses": [str(key) for key in keys]}
    value = simulated(rpc, transaction, accounts=wanted, **config)
    return [each and each["lamports"] for each in value["accounts"]]


# --- the answer -----------------------------------------------------------------------------------


def test_the_answer_has_the_interfaces_fields(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.sent[1]
    payer, target = archived.payers[0].pubkey(), TARGET.pubkey()
    wanted = {"encoding": "base64", "addresses": [str(target), str(payer), SYSTEM]}
    found = answer(rpc, sent, {"anchor": own_place(sent), "accounts": wanted})
    assert found["result"]["context"] == {
        "apiVersion": "rewind-1.0.0",
        "slot": 2,
        "completeness": WHOLE,
    }
    value = found["result"]["value"]
    held = {"data": ["", "base64"], "executable": False, "rentEpoch": 2**64 - 1, "space": 0}
    accounts = value.pop("accounts")
    assert accounts[:2] == [
        {"lamports": 2 * SOL, "owner": SYSTEM, **held},
        {"lamports": 998 * SOL - 10_000, "owner": SYSTEM, **held},
    ]
    assert accounts[2]["executable"] and accounts[2]["space"] == 14
    assert value == {
        "err": None,
        "logs": [f"Program {SYSTEM} invoke [1]", f"Program {SYSTEM} success"],
        "unitsConsumed": 150,
        "returnData": None,
        "innerInstructions": None,
        "rewindSlot": 2,
        "rewindLoadSlot": 2,
        "rewindOverriddenAccounts": [],
        "rewindOverrideLoads": {},
        "fidelity": "verified",
        "fidelityFields": [],
        "fidelityReason": None,
        "fidelityAt": {"slot": 2, "transactionIndex": 0},
        "ownPlace": None,
    }


def test_without_the_question_there_are_no_accounts(archived: LittleChain, rpc: Rpc) -> None:
    assert simulated(rpc, archived.sent[0], slot=5)["accounts"] is None


def test_a_failure_is_an_answer_and_leaves_no_accounts(archived: LittleChain, rpc: Rpc) -> None:
    payer = archived.payers[0].pubkey()
    too_much = archived.payment(TARGET.pubkey(), 2_000 * SOL)
    wanted = {"encoding": "base64", "addresses": [str(payer)]}
    value = simulated(rpc, too_much, slot=5, accounts=wanted)
    assert value["err"] == {"InstructionError": [0, {"Custom": 1}]}
    assert value["accounts"] == [None]
    assert value["unitsConsumed"] == 150 and "insufficient lamports" in value["logs"][1]


def test_inner_instructions_come_when_asked_for(archived: LittleChain, rpc: Rpc) -> None:
    payer, mint = archived.payers[0], Keypair()
    minted = Minted(TOKEN_PROGRAM_ID, mint.pubkey(), payer, [payer])
    made = archived.signed([*minted.create(), minted.account(payer, payer.pubkey())], payer, mint)
    value = simulated(rpc, made, slot=5, innerInstructions=True)
    assert value["err"] is None
    assert [group["index"] for group in value["innerInstructions"]] == [2]
    first = value["innerInstructions"][0]["instructions"][0]
    assert first.keys() == {"programIdIndex", "accounts", "data", "stackHeight"}
    assert (
        simulated(rpc, archived.sent[0], slot=5, innerInstructions=True)["innerInstructions"] == []
    )


# --- positions ------------------------------------------------------------------------------------


def test_each_position_has_its_own_state(archived: LittleChain, rpc: Rpc) -> None:
    sent, target = archived.sent, TARGET.pubkey()
    probe = archived.payment(target, SOL)  # what was there, and 1 SOL more

    def held(**position: Any) -> int:
        (found,) = after(rpc, probe, target, **position)
        return int(found) - SOL

    assert held(slot=0) == 0
    assert held(anchor=own_place(sent[0])) == 0
    assert held(anchor=own_place(sent[0], "after")) == held(slot=1) == SOL
    assert held(anchor=own_place(sent[1])) == SOL
    assert held(slot=2, transactionIndex=0) == held(anchor=own_place(sent[2])) == 2 * SOL
    assert held(anchor={"slot": 2, "transactionIndex": 1}) == 2 * SOL
    assert held(anchor={"slot": 2, "transactionIndex": 1, "position": "after"}) == 3 * SOL
    assert held(slot=2) == held(slot=3) == 3 * SOL  # slot 3 was skipped
    assert held(slot=4, preStateSlot=3) == held(slot=5, preStateSlot=2) == 3 * SOL
    assert held(slot=4) == held(slot=5) == 0


def test_the_load_slot_is_told(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.sent[1]
    value = simulated(rpc, sent, slot=5, preStateSlot=1)
    assert (value["rewindSlot"], value["rewindLoadSlot"]) == (5, 1)
    value = simulated(rpc, sent, anchor=own_place(sent), preStateSlot=1)
    assert (value["rewindSlot"], value["rewindLoadSlot"]) == (2, 2)


def test_positions_outside_the_archive_are_refused_in_order(
    archived: LittleChain, rpc: Rpc
) -> None:
    sent = archived.sent[0]
    assert refused(rpc, sent, slot=1, preStateSlot=2)["data"]["reason"] == "pre_state_too_new"
    error = refused(rpc, sent, slot=6, preStateSlot=3)
    assert (error["code"], error["data"]["latestSlot"]) == (-32014, 5)
    error = refused(rpc, sent, anchor={"signature": str(Keypair().sign_message(b""))})
    assert (error["code"], error["data"]["reason"]) == (-32016, "unknown_signature")
    error = refused(rpc, sent, slot=2, transactionIndex=2)
    assert error["data"]["reason"] == "transaction_index_out_of_range"


def test_below_the_window_nothing_is_run(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records[2:])
    error = refused(rpc, chain.sent[1], slot=5, preStateSlot=1)
    assert (error["code"], error["data"]["earliestSlot"]) == (-32015, 2)


def test_a_gap_refuses_and_may_be_tolerated(chain: LittleChain, rpc: Rpc) -> None:
    stored([*chain.records[:2], *chain.records[3:]])  # slot 2 is missing, slot 3 was skipped
    sent = chain.sent[0]
    for config in ({"slot": 2}, {"slot": 5, "preStateSlot": 2}, {"slot": 2, "preStateSlot": 1}):
        error = refused(rpc, sent, **config)
        assert (error["code"], error["data"]["reason"]) == (-32018, "slot_in_archive_gap")
        assert (error["data"]["gapStart"], error["data"]["gapEnd"]) == (2, 2)
    value = simulated(rpc, sent, slot=2, tolerateGaps=True)
    assert (value["err"], value["fidelity"]) == (None, "not_applicable")
    assert value["ownPlace"]["fidelity"] == "verified"  # in slot 1
    value = simulated(rpc, chain.sent[3], slot=5)
    assert value["ownPlace"] == {
        "fidelity": "unverified",
        "fidelityFields": [],
        "fidelityReason": "behind_a_gap",
    }


# --- params ---------------------------------------------------------------------------------------

MANY = [SYSTEM] * 4
BAD: list[tuple[Any, str]] = [
    ({}, "bad_position"),
    ({"slot": 1, "anchor": {"slot": 1, "transactionIndex": 0}}, "bad_position"),
    ({"transactionIndex": 1}, "bad_position"),
    ({"anchor": {}}, "bad_position"),
    ({"slot": "1"}, "invalid_params"),
    ({"slot": -1}, "invalid_params"),
    ({"slot": 1, "encoding": "hex"}, "invalid_params"),
    ({"slot": 1, "tolerateGaps": 1}, "invalid_params"),
    ({"slot": 1, "accounts": {"addresses": None}}, "invalid_params"),
    ({"slot": 1, "accounts": []}, "invalid_params"),
    ({"slot": 1, "accounts": {"encoding": "hex", "addresses": []}}, "invalid_params"),
    ({"slot": 1, "accounts": {"encoding": "base64"}}, "invalid_params"),
    ({"slot": 1, "accounts": {"encoding": "base58", "addresses": []}}, "base58_not_supported"),
    ({"slot": 1, "accounts": {"encoding": "binary", "addresses": []}}, "base58_not_supported"),
    ({"slot": 1, "accounts": {"encoding": "base64", "addresses": ["x"]}}, "invalid_params"),
    ({"slot": 1, "accounts": {"encoding": "base64", "addresses": MANY}}, "too_many_addresses"),
    ({"slot": 1, "overrides": {"x": {}}}, "bad_override"),
    ({"slot": 1, "overrides": {SYSTEM: {"lamports": -1}}}, "invalid_params"),
    ({"slot": 1, "overrides": {SYSTEM: {"owner": "x"}}}, "invalid_params"),
    ({"slot": 1, "overrides": {SYSTEM: {"data": "?"}}}, "bad_override"),
    ({"slot": 1, "overrides": {SYSTEM: {"data": ["", "hex"]}}}, "invalid_params"),
    ({"slot": 1, "overrides": {SYSTEM: {"data": ["0", "base58"]}}}, "bad_override"),
    ({"slot": 1, "overrides": {SYSTEM: {"data": ["1" * 1_701, "base58"]}}}, "bad_override"),
    ({"slot": 1, "overrideLoads": {"x": 1}}, "bad_override"),
    ({"slot": 1, "overrideLoads": {SYSTEM: "1"}}, "invalid_params"),
    ({"slot": 1, "overrideLoads": {str(OTHER): 6}}, "slot_too_new"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "reason"), BAD, ids=[str(each)[:80] for each, _ in BAD])
def test_bad_configs_are_refused(
    archived: LittleChain, rpc: Rpc, config: dict[str, Any], reason: str
) -> None:
    error = answer(rpc, archived.sent[0], config)["error"]
    assert error["data"]["reason"] == reason
    assert error["code"] == (-32014 if reason == "slot_too_new" else -32602)


@pytest.mark.parametrize(
    ("text", "encoding", "reason"),
    [
        ("?", "base64", "transaction_undecodable"),
        ("AA==", "base64", "transaction_undecodable"),
        ("A" * 1_648, "base64", "transaction_too_large"),
        ("0", "base58", "transaction_undecodable"),
        ("gQEAAA", "base64", "transaction_undecodable"),
    ],
)
def test_bad_transactions_are_refused(
    archived: LittleChain, rpc: Rpc, text: str, encoding: str, reason: str
) -> None:
    config = {"slot": 1, "encoding": encoding}
    error = rpc("/rewind", "simulateHistoricalTransaction", text, config)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, reason)


@pytest.mark.parametrize("params", [(), ("AA",), ("AA", {}, {})])
def test_there_are_two_params(rpc: Rpc, params: tuple[Any, ...]) -> None:
    assert rpc("/rewind", "simulateHistoricalTransaction", *params)["error"]["code"] == -32602


def test_what_the_interface_ignores_is_ignored(archived: LittleChain, rpc: Rpc) -> None:
    sent = archived.sent[0]
    config = {
        "slot": 5,
        "encoding": "base58",
        "commitment": "finalized",
        "unknown": 1,
        "sigVerify": True,
        "replaceRecentBlockhash": True,
    }
    unsigned = VersionedTransaction.populate(sent.message, [Keypair().sign_message(b"")])
    text = b58encode(bytes(unsigned))
    found = rpc("/rewind", "simulateHistoricalTransaction", text, config)["result"]["value"]
    assert (found["err"], found["fidelityReason"]) == (None, "not_in_ledger")


# --- what a position lacks ------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["pubkey", "owner"])
def test_filtered_accounts_are_refused(archived: LittleChain, rpc: Rpc, by: str) -> None:
    sent = archived.sent[1]
    if by == "pubkey":
        filters.filter_account(TARGET.pubkey(), filtered=True)
        stale = [str(TARGET.pubkey())]
    else:
        filters.filter_owner(Pubkey.default(), filtered=True)
        stale = [str(archived.payers[0].pubkey()), str(TARGET.pubkey())]
    for config in ({"slot": 2}, {"anchor": own_place(sent), "tolerateGaps": True}):
        error = refused(rpc, sent, **config)
        assert (error["code"], error["data"]["reason"]) == (-32017, "filtered_account")
        assert sorted(error["data"]["pubkeys"]) == sorted(stale)
        assert error["message"].startswith("FilteredAccountStale")


def test_an_account_without_a_record_is_refused_unless_tolerated(
    chain: LittleChain, rpc: Rpc
) -> None:
    # From slot 2 on, and of the accounts of genesis those that sysvars are: who pays is unknown.
    stored(chain.records[2:])
    sent = chain.sent[1]
    error = refused(rpc, sent, anchor=own_place(sent))
    assert (error["code"], error["data"]["reason"]) == (-32018, "state_not_recorded")
    assert set(error["data"]["pubkeys"]) <= {str(key) for key in sent.message.account_keys}
    value = simulated(rpc, sent, anchor=own_place(sent), tolerateGaps=True)
    assert (value["err"], value["fidelity"]) == ("AccountNotFound", "unverified")
    assert value["fidelityReason"] == "state_not_recorded"


def test_an_account_that_a_later_transaction_makes_was_not_there(
    chain: LittleChain, rpc: Rpc
) -> None:
    """Even in an archive that does not know the chain's beginning."""
    payer = chain.payers[0].pubkey()
    record = chain.records[2]
    stored(chain.records[2:])
    from rewind.baselines.services.baseline import record_baseline
    from tests.rewind.conftest import NOW

    genesis = [
        write for write in chain.records[0].account_writes or () if write.pubkey == bytes(payer)
    ]
    record_baseline(genesis, record.slot, source="one account", now=NOW)
    # OTHER is paid in slot 5 for the first time; nothing tells of an account that never is.
    probe = chain.payment(OTHER, SOL)
    assert after(rpc, probe, OTHER, slot=2) == [SOL]
    nobody = Pubkey(bytes([99]) * 32)
    error = refused(rpc, chain.payment(nobody, SOL), slot=2)
    assert error["data"]["pubkeys"] == [str(nobody)]


def test_between_transactions_a_coarse_slot_tells_little(chain: LittleChain, rpc: Rpc) -> None:
    coarse = replace(chain.records[2], granularity=Granularity.SLOT)
    last = {bytes(write.pubkey): write for write in coarse.account_writes or ()}
    coarse = replace(coarse, account_writes=list(last.values()))
    stored([*chain.records[:2], coarse, *chain.records[3:]])
    sent = chain.sent[1]
    error = refused(rpc, sent, anchor=own_place(sent))
    assert (error["code"], error["data"]["reason"]) == (-32018, "writes_incomplete")
    own = simulated(rpc, sent, slot=5)["ownPlace"]
    assert (own["fidelity"], own["fidelityReason"]) == ("unverified", "writes_incomplete")
    assert simulated(rpc, chain.sent[0], slot=2)["ownPlace"]["fidelity"] == "verified"


def test_what_was_found_at_a_coarse_slots_end_is_no_later_write(
    chain: LittleChain, rpc: Rpc
) -> None:
    from rewind.baselines.services.baseline import record_baseline
    from tests.rewind.conftest import NOW

    writes = chain.records[2].account_writes or []
    found = [write for write in writes if write.pubkey == bytes(TARGET.pubkey())]
    coarse = replace(
        chain.records[3],
        granularity=Granularity.SLOT,
        account_writes=[],
    )
    stored([*chain.records[:3], coarse])
    record_baseline(found[-1:], coarse.slot, source="one account", now=NOW)
    place = {"slot": coarse.slot, "transactionIndex": 0}
    assert after(rpc, chain.payment(TARGET.pubkey(), 1), TARGET.pubkey(), **place) == [3 * SOL + 1]


def test_a_coarse_slot_may_have_no_row_where_it_lies(archived: LittleChain, rpc: Rpc) -> None:
    from rewind.recording.store.partitions import PARTITION_SLOTS

    far = block(PARTITION_SLOTS, archived.records[-1].slot, granularity=Granularity.SLOT)
    stored([far], ledger=False)
    place = {"slot": PARTITION_SLOTS, "transactionIndex": 0}
    assert after(rpc, archived.payment(OTHER, 1), OTHER, **place) == [SOL + 1]
