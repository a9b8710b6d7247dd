"""`context.completeness`, method by method: no answer rests on slots that nobody has seen and says
nothing of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.blocks import Granularity, SlotRecord
from chain.encodings import b64encode
from rewind.baselines.services.baseline import record_baseline
from rewind.recording.services.retention import prune
from rewind.recording.store import partitions
from rewind.recording.store.partitions import PARTITION_SLOTS
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.samples import WHOLE, block, key, signature, write
from tests.rewind.simulating import answer, own_place, stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

TARGET, OTHER = (Keypair.from_seed(bytes([number]) * 32).pubkey() for number in (77, 78))
LOST = {"cause": "gap", "fromSlot": 3, "toSlot": 3}
ALICE = text(key(1))


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """In slots 1 to 3 payer 0 pays TARGET, in slots 4 and 5 payer 1 pays OTHER, in slots 6 and 7
    payer 0 pays TARGET again.
    """
    made = LittleChain(tmp_path)
    for _ in range(3):
        made.block(made.payment(TARGET, SOL))
    for _ in range(2):
        made.block(made.payment(OTHER, SOL, payer=1))
    for _ in range(2):
        made.block(made.payment(TARGET, SOL))
    yield made
    made.close()


@pytest.fixture
def gapped(chain: LittleChain) -> LittleChain:
    """Slot 3 is missing."""
    stored([*chain.records[:3], *chain.records[4:]])
    return chain


def last_writes(record: SlotRecord) -> SlotRecord:
    """As a replay tells it that has each account's last write alone."""
    last = {write.pubkey: write for write in record.account_writes or ()}
    return replace(record, granularity=Granularity.SLOT, account_writes=list(last.values()))


def cause_of(context: dict[str, Any]) -> dict[str, Any]:
    """The one cause, and it is no other answer's."""
    told = context["completeness"]
    assert told["status"] == "incomplete"
    (cause,) = told["causes"]
    found: dict[str, Any] = cause
    return found


AFTER_THE_GAP = {"anchor": {"slot": 4, "transactionIndex": 0, "position": "before"}}


@pytest.mark.parametrize("place", [AFTER_THE_GAP, {"slot": 3, "tolerateGaps": True}])
def test_a_simulation_on_state_from_before_a_gap_says_so(
    gapped: LittleChain, rpc: Rpc, place: dict[str, Any]
) -> None:
    """The payer was written in the gap; the transaction is the ledger's, of a slot below it."""
    sent, payer = gapped.sent[1], str(gapped.payers[0].pubkey())
    result = answer(rpc, sent, place)["result"]
    cause = cause_of(result["context"])
    assert {name: cause[name] for name in LOST} == LOST
    assert {payer, str(TARGET)} <= set(cause["accounts"])
    assert result["context"]["gap"] == {"fromSlot": 3, "toSlot": 3, "status": "missing"}
    value = result["value"]
    assert (value["fidelity"], value["fidelityReason"]) == ("not_applicable", "another_position")
    assert value["fidelityAt"] == {"slot": 2, "transactionIndex": 0}
    assert value["ownPlace"]["fidelity"] == "verified"
    read = rpc("/rewind", "getAccountInfo", payer, place)["result"]["context"]
    assert cause_of(read) == {**LOST, "accounts": [payer]}
    assert read["gap"] == result["context"]["gap"]


@pytest.mark.parametrize("place", [AFTER_THE_GAP, {"slot": 3, "tolerateGaps": True}])
def test_a_bundle_on_state_from_before_a_gap_says_so(
    gapped: LittleChain, rpc: Rpc, place: dict[str, Any]
) -> None:
    bundle = {"encodedTransactions": [b64encode(bytes(gapped.sent[1]))]}
    config = {"replaceRecentBlockhash": True, **place}
    flat = rpc("/", "simulateBundle", bundle | config)["result"]
    nested = rpc("/", "simulateBundle", bundle, config)["result"]
    assert cause_of(flat["context"]) == cause_of(nested["context"])
    cause = cause_of(flat["context"])
    assert {name: cause[name] for name in LOST} == LOST
    assert {str(gapped.payers[0].pubkey()), str(TARGET)} <= set(cause["accounts"])
    whole = rpc("/", "simulateBundle", bundle | config | {"slot": 2, "anchor": None})["result"]
    assert whole["context"]["completeness"] == WHOLE


def test_an_account_that_a_bundle_shows_counts_too(gapped: LittleChain, rpc: Rpc) -> None:
    config = {"replaceRecentBlockhash": True, "slot": 7}
    bundle = {"encodedTransactions": [b64encode(bytes(gapped.sent[6]))]}
    assert rpc("/", "simulateBundle", bundle | config)["result"]["context"]["completeness"] == WHOLE
    nobody = str(Pubkey(bytes([99]) * 32))
    shown = [{"addresses": [nobody, str(OTHER)]}]
    config |= {"preExecutionAccountsConfigs": shown, "tolerateGaps": True}
    causes = rpc("/", "simulateBundle", bundle | config)["result"]["context"]["completeness"]
    assert {tuple(each["accounts"]) for each in causes["causes"]} == {(nobody,)}
    assert {each["cause"] for each in causes["causes"]} == {"gap", "not_recorded"}


def test_what_was_written_again_behind_the_gap_is_whole(gapped: LittleChain, rpc: Rpc) -> None:
    probe = gapped.payment(TARGET, SOL)
    context = answer(rpc, probe, {"slot": 7})["result"]["context"]
    assert context["completeness"] == WHOLE
    assert "gap" not in context


def test_an_override_in_place_of_an_old_account_leaves_nothing_unseen(
    gapped: LittleChain, rpc: Rpc
) -> None:
    probe = gapped.payment(TARGET, SOL)
    old = {str(gapped.payers[0].pubkey()), str(TARGET)}
    given = {"lamports": 9 * SOL, "owner": str(Pubkey.default()), "data": ""}
    context = answer(rpc, probe, {"slot": 5})["result"]["context"]
    assert set(cause_of(context)["accounts"]) == old
    config = {"slot": 5, "overrides": dict.fromkeys(old, given)}
    assert answer(rpc, probe, config)["result"]["context"]["completeness"] == WHOLE
    loads = {"slot": 7, "overrideLoads": {str(TARGET): 5}}
    context = answer(rpc, probe, loads)["result"]["context"]
    assert cause_of(context)["accounts"] == [str(TARGET)]


def test_a_replay_behind_a_gap_says_it_in_the_context_too(gapped: LittleChain, rpc: Rpc) -> None:
    payment = gapped.sent[5]  # its payer and TARGET are of slot 2, and were written in slot 3
    result = answer(rpc, payment, {"anchor": own_place(payment)})["result"]
    value = result["value"]
    assert (value["fidelity"], value["fidelityReason"]) == ("unverified", "behind_a_gap")
    assert cause_of(result["context"])["fromSlot"] == 3
    assert result["context"]["gap"]["fromSlot"] == 3


def test_what_the_record_proves_is_whole_but_not_what_is_shown_beside_it(
    chain: LittleChain, rpc: Rpc
) -> None:
    """Payer 1 was not written in the missing slot: that the replay ends as recorded proves it."""
    stored([*chain.records[:3], *chain.records[4:]])
    payment = chain.sent[3]
    place = {"anchor": own_place(payment)}
    result = answer(rpc, payment, place)["result"]
    assert result["value"]["fidelity"] == "verified"
    assert result["context"]["completeness"] == WHOLE
    system = str(Pubkey.default())
    clock = "SysvarC1ock11111111111111111111111111111111"
    addresses = {"encoding": "base64", "addresses": [system, str(OTHER), clock]}
    shown = answer(rpc, payment, {**place, "accounts": addresses})["result"]
    assert shown["context"]["completeness"] == WHOLE


def test_a_verified_run_that_shows_an_old_account_is_not_called_so(
    tmp_path: Path, rpc: Rpc
) -> None:
    from solders.instruction import AccountMeta
    from solders.system_program import TransferParams, transfer

    made = LittleChain(tmp_path, payers=3)
    made.block(made.payment(TARGET, SOL))
    made.block(made.payment(TARGET, SOL, payer=1))
    # It names TARGET, and reads nothing of it.
    params = TransferParams(
        from_pubkey=made.payers[0].pubkey(), to_pubkey=made.payers[2].pubkey(), lamports=SOL
    )
    paid = transfer(params)
    named = type(paid)(
        paid.program_id, bytes(paid.data), [*paid.accounts, AccountMeta(TARGET, False, False)]
    )
    made.block(made.signed([named], made.payers[0]))
    made.close()
    # Slot 2 is missing, where TARGET was written; balances of it are not recorded.
    entry = made.records[3].transactions[0]
    meta = {name: told for name, told in (entry.meta or {}).items() if "Balances" not in name}
    told = replace(made.records[3], transactions=[replace(entry, meta=meta)])
    stored([*made.records[:2], told])
    sent = made.sent[2]
    place = {"anchor": own_place(sent)}
    result = answer(rpc, sent, place)["result"]
    assert result["value"]["fidelity"] == "verified"
    accounts = {"encoding": "base64", "addresses": [str(TARGET)]}
    result = answer(rpc, sent, {**place, "accounts": accounts})["result"]
    assert result["value"]["accounts"][0]["lamports"] == SOL  # it had 2
    value = result["value"]
    assert (value["fidelity"], value["fidelityReason"]) == ("unverified", "behind_a_gap")
    assert cause_of(result["context"]) == {**LOST, "fromSlot": 2, "toSlot": 2} | {
        "accounts": [str(TARGET)]
    }


def test_a_position_amid_last_writes_says_so_where_it_is_tolerated(
    chain: LittleChain, rpc: Rpc
) -> None:
    stored([*chain.records[:3], last_writes(chain.records[3]), *chain.records[4:]])
    sent, payer = chain.sent[2], str(chain.payers[0].pubkey())
    place = {"anchor": own_place(sent), "tolerateGaps": True}
    told = {"cause": "last_writes_only", "fromSlot": 3, "toSlot": 3}
    result = answer(rpc, sent, place)["result"]
    cause = cause_of(result["context"])
    assert {name: cause[name] for name in told} == told
    assert {payer, str(TARGET)} <= set(cause["accounts"])
    value = result["value"]
    assert (value["fidelity"], value["fidelityReason"]) == ("unverified", "writes_incomplete")
    read = rpc("/rewind", "getAccountInfo", payer, place)["result"]["context"]
    assert cause_of(read) == {**told, "accounts": [payer]}
    # At the slot's end all is known.
    assert answer(rpc, sent, {"slot": 3})["result"]["context"]["completeness"] == WHOLE


def test_changes_say_where_writes_may_be_left_out(rpc: Rpc, record: Callable[..., Any]) -> None:
    record(
        block(10, writes=[write(1, signature(10, 0))]),
        block(11, writes=[write(1, signature(11, 2))], granularity=Granularity.SLOT),
        block(12, writes=[write(2, signature(12, 2))], granularity=Granularity.SLOT),
        block(13, writes=[write(1, signature(13, 2))]),
    )

    def told(first: int, last: int, **more: Any) -> dict[str, Any]:
        config = {"fromSlot": first, "toSlot": last, **more}
        result = rpc("/rewind", "getAccountChanges", ALICE, config)["result"]
        assert (result["value"]["gaps"], result["value"]["next"] is None) == ([], not more)
        completeness: dict[str, Any] = result["context"]["completeness"]
        return completeness

    amid = {"cause": "last_writes_only", "fromSlot": 11, "toSlot": 11, "accounts": [ALICE]}
    assert told(11, 13) == {"status": "incomplete", "causes": [amid]}
    # Of slot 12 it is known that nothing wrote the account.
    assert told(12, 13) == WHOLE
    assert told(10, 13, limit=1) == WHOLE
    (never_before,) = told(10, 10)["causes"]
    assert (never_before["cause"], never_before["fromSlot"]) == ("not_recorded", None)
    coverage = rpc("/rewind", "getRewindCoverage")["result"]
    counts = ("missingSlotCount", "wholeSlotCount", "lastWritesOnlySlotCount", "skippedSlotCount")
    assert [coverage[name] for name in counts] == [0, 2, 2, 0]


def test_changes_say_what_they_hold_a_write_against(rpc: Rpc, record: Callable[..., Any]) -> None:
    """Whether the oldest entry's data changed is told by the write before it, in another range."""
    record(block(10, writes=[write(1, signature(10, 0), data=b"a")]))
    record(block(13, parent=12, writes=[write(1, signature(13, 0), data=b"a")]))
    record(block(14, writes=[write(1, signature(14, 0), data=b"b")]))

    def told(first: int, last: int) -> dict[str, Any]:
        config = {"fromSlot": first, "toSlot": last}
        result = rpc("/rewind", "getAccountChanges", ALICE, config)["result"]
        assert result["value"]["gaps"] == []
        context: dict[str, Any] = result["context"]
        return context

    assert told(14, 14)["completeness"] == WHOLE
    cause = cause_of(told(13, 14))
    assert (cause["cause"], cause["toSlot"], cause["accounts"]) == ("gap", 12, [ALICE])


def test_what_a_snapshot_told_does_not_reach_over_slots_that_nobody_followed(
    rpc: Rpc, record: Callable[..., Any]
) -> None:
    record_baseline([write(1), write(2)], 5, source="snapshot", now=NOW)
    record(block(9, parent=8, writes=[write(2, signature(9, 0))]), block(10))
    both = [ALICE, text(key(2))]
    context = rpc("/rewind", "getMultipleAccounts", both, {"slot": 10})["result"]["context"]
    unseen = {"cause": "gap", "fromSlot": 6, "toSlot": 8, "accounts": [ALICE]}
    assert cause_of(context) == unseen
    config = {"slotA": 10, "anchorB": {"slot": 10, "transactionIndex": 0}}
    diff = rpc("/rewind", "getAccountDiff", ALICE, config)["result"]["context"]
    assert cause_of(diff) == unseen
    record_baseline([write(1)], 8, source="later snapshot", now=NOW)
    context = rpc("/rewind", "getAccountInfo", ALICE, {"slot": 10})["result"]["context"]
    assert context["completeness"] == WHOLE


def test_a_gap_that_leaves_the_window_is_not_forgotten(
    rpc: Rpc, record: Callable[..., Any]
) -> None:
    edge = PARTITION_SLOTS
    record(block(10, writes=[write(1, signature(10, 0))]), block(11))
    record(block(15, parent=13, writes=[write(2, signature(15, 0))]))
    record(block(edge, parent=15), block(edge + 1, writes=[write(3, signature(edge + 1, 0))]))

    def told(account: int) -> dict[str, Any]:
        config = {"slot": edge + 1}
        found = rpc("/rewind", "getAccountInfo", text(key(account)), config)["result"]["context"]
        assert "gap" not in found or account == 1
        completeness: dict[str, Any] = found["completeness"]
        return completeness

    lost = {"cause": "gap", "fromSlot": 13, "toSlot": 13}
    assert told(1)["causes"] == [{**lost, "accounts": [ALICE]}]
    assert told(2) == told(3) == WHOLE
    assert prune(12) == []
    assert told(1)["causes"] == [{**lost, "accounts": [ALICE]}]
    prune(edge)
    partitions.forget()  # all of a test is of one transaction, and of one layout
    assert told(1)["causes"] == [{**lost, "accounts": [ALICE]}]
    # A row that was carried over the edge does not tell whether it is older than the gap.
    assert told(2)["status"] == "incomplete"
    assert told(3) == WHOLE


@pytest.mark.parametrize("hides_the_beginning", [False, True])
def test_a_gap_hides_sysvars_where_an_epoch_begins_in_it(
    tmp_path: Path, rpc: Rpc, hides_the_beginning: bool
) -> None:
    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL), skip=431_996)
    for _ in range(6):
        made.block(made.payment(TARGET, SOL))
    made.close()
    slots = [record.slot for record in made.records]
    assert slots[1:] == list(range(431_997, 432_004))
    missing = 432_000 if hides_the_beginning else 432_001
    stored([record for record in made.records if record.slot != missing])
    context = answer(rpc, made.payment(TARGET, 1), {"slot": 432_003})["result"]["context"]
    if not hides_the_beginning:
        assert context["completeness"] == WHOLE
        return
    cause = cause_of(context)
    assert (cause["cause"], cause["fromSlot"]) == ("gap", missing)
    assert "SysvarRent111111111111111111111111111111111" in cause["accounts"]
    assert str(TARGET) not in cause["accounts"]
