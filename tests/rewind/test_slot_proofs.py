"""What is said of the proof: getSlotProof, `context.proof`, getRewindCoverage."""

import json
from pathlib import Path
from typing import Any

import pytest
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.lattice import LatticeHash
from tests.chain.proofs import ACCOUNTS, VOTERS, electorate, text
from tests.rewind.conftest import NOW
from tests.rewind.proved_chains import MadeChain, change, with_writes
from tests.rewind.test_running_proof import proven, small

REWIND = "/rewind"
STAKES = (40, 30, 20, 10)


@pytest.fixture
def chain(record: Any, db: None) -> MadeChain:
    """Slots 0 to 7, proven up to 6; the ledger has them too, and epoch 0's stakes are known."""
    from historical.recording.services.recording import record_blocks
    from rewind.baselines.models import Baseline
    from rewind.proof.services import proving
    from rewind.proof.store import epoch_stakes

    baseline = Baseline.objects.create(slot=1, source="x", accounts=0, proven=True, recorded_at=NOW)
    stakes = {
        bytes(account): epoch_stakes.Stake(stake, bytes(voter.pubkey()))
        for account, voter, stake in zip(ACCOUNTS, VOTERS, STAKES, strict=True)
    }
    epoch_stakes.keep(epoch_stakes.StakeOrigin(baseline), 0, stakes)
    proving.forget()
    made = small(7)
    made.block(slot=9)
    record_blocks(made.records, now=NOW)
    record(*made.records)
    proven()
    return made


def test_a_proof_can_be_checked_without_us(rpc: Any, chain: MadeChain, tmp_path: Path) -> None:
    from django.core.management import call_command

    result = rpc(REWIND, "getSlotProof", 4)["result"]
    votes = result.pop("votes")
    assert len(result.pop("accountsLatticeHash")) > 2_700
    assert result == {
        "slot": 4,
        "state": "proven",
        "reason": None,
        "restsOn": "snapshot",
        "restsOnSlot": 1,
        "bankHash": str(Hash(chain.hashes[4])),
        "parentSlot": 3,
        "parentBankHash": str(Hash(chain.hashes[3])),
        "signatureCount": 6,
        "blockhash": chain.records[4].blockhash,
        "accountsLatticeChecksum": str(Hash(LatticeHash(chain.sums[4]).checksum)),
        "epoch": 0,
        "totalStake": 100,
        "votedThrough": 6,
        "votedBankHash": None,
    }
    assert {vote["votePubkey"]: vote["stake"] for vote in votes} == dict(
        zip(map(str, ACCOUNTS), STAKES, strict=True)
    )
    assert {vote["slot"] for vote in votes} == {5}
    file = tmp_path / "proof.json"
    stakes = tmp_path / "stakes.json"
    stakes.write_bytes(text(electorate(firstSlot=0, lastSlot=431_999)))
    file.write_text(json.dumps(rpc(REWIND, "getSlotProof", 4)))
    call_command("verify_proof", str(file), "--stakes", str(stakes))
    file.write_text(json.dumps([rpc(REWIND, "getSlotProof", slot)["result"] for slot in range(6)]))
    call_command("verify_proof", str(file), "--stakes", str(stakes))


def test_a_proof_comes_without_its_large_parts(rpc: Any, chain: MadeChain) -> None:
    config = {"includeLattice": False, "includeVotes": False}
    result = rpc(REWIND, "getSlotProof", 4, config)["result"]
    assert "accountsLatticeHash" not in result
    assert result["votes"] == []


@pytest.mark.parametrize(("slot", "reason"), [(8, "slot_unproven"), (10, "slot_too_new")])
def test_what_has_no_proof_says_so(rpc: Any, chain: MadeChain, slot: int, reason: str) -> None:
    assert rpc(REWIND, "getSlotProof", slot)["error"]["data"]["reason"] == reason


def test_answers_say_whether_they_are_proven(rpc: Any, chain: MadeChain) -> None:
    key = str(Pubkey((2).to_bytes(32)))
    context = rpc(REWIND, "getAccountInfo", key, {"slot": 4, "proof": True})["result"]["context"]
    assert context["proof"] == {
        "state": "proven",
        "slot": 4,
        "bankHash": str(Hash(chain.hashes[4])),
        "votedThrough": 6,
        "share": 0.7,
        "voters": 2,
        "restsOn": "snapshot",
        "restsOnSlot": 1,
    }
    assert "proof" not in rpc(REWIND, "getAccountInfo", key, {"slot": 4})["result"]["context"]
    several = rpc(REWIND, "getMultipleAccounts", [key], {"slot": 9, "proof": True})["result"]
    assert several["context"]["proof"] == {
        "state": "unproven",
        "slot": 9,
        "bankHash": str(Hash(chain.hashes[9])),
        "reason": "votes_not_seen",
    }
    config = {"slotA": 2, "slotB": 9, "proof": True}
    both = rpc(REWIND, "getAccountDiff", key, config)["result"]["context"]["proof"]
    assert (both["a"]["state"], both["b"]["state"]) == ("proven", "unproven")
    config = {"fromSlot": 0, "toSlot": 5, "proof": True}
    changes = rpc(REWIND, "getAccountChanges", key, config)["result"]["context"]["proof"]
    assert (changes["state"], changes["slot"]) == ("proven", 5)


def test_coverage_has_runs_of_slots(rpc: Any, chain: MadeChain) -> None:
    found = rpc(REWIND, "getRewindCoverage")["result"]
    assert (found["provenThrough"], found["consistentThrough"]) == (6, 6)
    assert found["proof"] == [
        {
            "fromSlot": 0,
            "toSlot": 6,
            "state": "proven",
            "restsOn": "snapshot",
            "restsOnSlot": 1,
        },
        {"fromSlot": 7, "toSlot": 9, "state": "unproven", "reason": "votes_not_seen"},
    ]
    found = rpc(REWIND, "getRewindCoverage", {"fromSlot": 3, "toSlot": 4})["result"]
    assert (found["provenThrough"], len(found["proof"])) == (4, 1)
    assert rpc(REWIND, "getRewindCoverage", {"fromSlot": 8})["result"]["provenThrough"] is None


def test_a_refuted_slot_names_what_was_voted_for(rpc: Any, record: Any, db: None) -> None:
    from rewind.proof.services import proving

    proving.forget()
    made = MadeChain()
    for slot in range(5):
        made.block([change(slot, 1, slot)])
    wrong = with_writes(made.records[2], (made.records[2].account_writes or [])[:-1])
    record(*made.records[:2], wrong, *made.records[3:])
    proven()
    result = rpc(REWIND, "getSlotProof", 2)["result"]
    assert (result["state"], result["reason"]) == ("refuted", "votes_differ")
    assert result["votedBankHash"] == str(Hash(made.hashes[2]))
    assert result["bankHash"] != result["votedBankHash"]
    key = str(Pubkey((1).to_bytes(32)))
    context = rpc(REWIND, "getAccountInfo", key, {"slot": 2, "proof": True})["result"]["context"]
    assert (context["proof"]["state"], context["proof"]["reason"]) == ("refuted", "votes_differ")
