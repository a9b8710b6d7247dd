"""getSlotProof with `chain`: the proofs up to the slot whose votes settle it."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from rewind.proof.services import slot_chains
from tests.chain.proofs import ACCOUNTS, VOTERS, electorate, text
from tests.rewind.conftest import NOW
from tests.rewind.proved_chains import MadeChain, change
from tests.rewind.test_running_proof import proven

REWIND = "/rewind"
STAKES = (40, 30, 20, 10)


@pytest.fixture
def chain(record: Any, db: None) -> MadeChain:
    """No votes for slots 3, 4, 7 and 8 landed; 5 and 6 are skipped, and 9 has votes in 10."""
    from historical.recording.services.recording import record_blocks
    from rewind.baselines.models import Baseline, EpochStake
    from rewind.proof.services import proving

    baseline = Baseline.objects.create(slot=1, source="x", accounts=0, proven=True, recorded_at=NOW)
    EpochStake.objects.bulk_create(
        EpochStake(
            epoch=0, vote_account=account, stake=stake, voter=voter.pubkey(), baseline=baseline
        )
        for account, voter, stake in zip(ACCOUNTS, VOTERS, STAKES, strict=True)
    )
    proving.forget()
    made = MadeChain()
    for slot in (0, 1, 2, 3, 4, 7, 8, 9, 10):
        landed = None if slot in (1, 2, 3, 10) else ()
        made.block([change(slot, 1, slot + 1)], slot=slot, voters=landed)
    record_blocks(made.records, now=NOW)
    record(*made.records)
    proven()
    return made


def verified(folder: Path, *answers: Any) -> tuple[int, str]:
    proof, stakes = folder / "proof.json", folder / "stakes.json"
    proof.write_text(json.dumps(list(answers)))
    stakes.write_bytes(text(electorate(firstSlot=0, lastSlot=431_999)))
    try:
        call_command("verify_proof", str(proof), "--stakes", str(stakes))
    except CommandError as error:
        return error.returncode, str(error)
    return 0, ""


def test_a_slot_without_votes_comes_with_those_above_it(rpc: Any, chain: MadeChain, tmp_path: Path):
    alone = rpc(REWIND, "getSlotProof", 3)
    assert (alone["result"]["votedThrough"], alone["result"]["votes"]) == (9, [])
    code, said = verified(tmp_path, alone)
    assert code == 3
    assert "documents of the slots above 3 up to it are missing" in said
    assert "chain" not in alone["result"]

    answer = rpc(REWIND, "getSlotProof", 3, {"chain": True})
    above = answer["result"]["chain"]
    assert [each["slot"] for each in above] == [4, 7, 8, 9]
    assert [len(each["votes"]) for each in above] == [0, 0, 0, 4]
    assert above[0] == {**rpc(REWIND, "getSlotProof", 4)["result"], "votes": []}
    assert verified(tmp_path, answer) == (0, "")
    answer["result"]["chain"] = above[1:]
    code, said = verified(tmp_path, answer)
    assert code == 1 and "the document of slot 4 is missing" in said


def test_a_slot_with_votes_of_its_own_has_none_above(rpc: Any, chain: MadeChain, tmp_path: Path):
    answer = rpc(REWIND, "getSlotProof", 9, {"chain": True})
    assert answer["result"]["chain"] == []
    assert verified(tmp_path, answer)[0] == 0


def test_a_slot_that_nothing_settled_has_none_above(rpc: Any, chain: MadeChain):
    result = rpc(REWIND, "getSlotProof", 10, {"chain": True})["result"]
    assert (result["votedThrough"], result["chain"]) == (None, [])


def test_parts_are_left_out_of_all(rpc: Any, chain: MadeChain):
    config = {"chain": True, "includeLattice": False, "includeVotes": False}
    above = rpc(REWIND, "getSlotProof", 3, config)["result"]["chain"]
    assert all("accountsLatticeHash" not in each and not each["votes"] for each in above)


def test_a_long_chain_is_asked_for_in_parts(
    rpc: Any, chain: MadeChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(slot_chains, "MOST_ABOVE", 2)
    first = rpc(REWIND, "getSlotProof", 3, {"chain": True})
    code, said = verified(tmp_path, first)
    assert (code, [each["slot"] for each in first["result"]["chain"]]) == (3, [4, 7])
    assert "documents of the slots above 7 up to it are missing" in said
    second = rpc(REWIND, "getSlotProof", 8, {"chain": True})
    assert verified(tmp_path, first, second)[0] == 0
