"""The table of forgeries in docs/decisions/proof-forgeries.md: each row is tried."""

import re
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from chain.verify_proof import Outcome, verify
from tests.chain.forgeries import FORGERIES, MINE, Forgery
from tests.chain.forging import INVENTED, ONE, edited, forged, named_as_voters
from tests.chain.proofs import text
from tests.chain.recorded_proofs import recorded_proof, snapshot_path
from upstream.snapshot_stakes import snapshot_stakes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "decisions" / "proof-forgeries.md"
_ROW = re.compile(r"\| (?P<name>[^|]+) \| \d · \d \| (?P<own>\d) · (?P<given>\d) \|")
ROWS = {
    found["name"]: (int(found["own"]), int(found["given"]))
    for found in map(_ROW.fullmatch, PAGE.read_text(encoding="utf-8").splitlines())
    if found is not None
}
# What is changed in them plays no part where the reader's stakes and voters count.
HARMLESS = {
    "genuine votes, voter left out",
    "zero stakes",
    "total of zero",
    "stakes that overflow a u64 together",
    "epoch left out",
    "other fields",
}


def tried(folder: Path, document: Any, stakes: Any = None) -> Outcome:
    proof, file = folder / "proof.json", folder / "stakes.json"
    proof.write_bytes(document if isinstance(document, bytes) else text(document))
    if stakes is None:
        return verify(proof)
    file.write_bytes(stakes if isinstance(stakes, bytes) else text(stakes))
    return verify(proof, file)


def test_the_page_has_each_forgery_once():
    names = [each.name for each in FORGERIES]
    assert list(ROWS) == names
    assert len(set(names)) == len(names) > 100
    assert set(names) > HARMLESS


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda each: each.name)
def test_a_forgery_ends_as_the_page_has_it(forgery: Forgery, tmp_path: Path) -> None:
    own, given = tried(tmp_path, forgery.document), tried(tmp_path, *forgery[1:3])
    assert (own.code, given.code) == ROWS[forgery.name], (own, given)
    assert own.code != 0
    if given.code == 0:
        assert forgery.name in HARMLESS or forgery.says in given.lines
    assert forgery.name in HARMLESS or bool(forgery.says) is (given.code == 0)


def test_what_they_are_made_from_holds(tmp_path: Path) -> None:
    assert (tried(tmp_path, ONE).code, tried(tmp_path, ONE, MINE).code) == (4, 0)
    # With the voters' keys an invented bank holds: nothing else of it is wrong.
    own = named_as_voters(forged(INVENTED))
    stakes = {vote["votePubkey"]: vote["authorizedVoter"] for vote in own["votes"]}
    mine = {
        account: {**each, "authorizedVoter": stakes[account]}
        for account, each in MINE["stakes"].items()
    }
    assert tried(tmp_path, own, {**MINE, "stakes": mine}).code == 0


def test_a_real_validators_proof_is_not_forged(fixtures: Path, tmp_path: Path) -> None:
    """Agave 4.4.0's slot 600, by the stakes of another snapshot of its own."""
    document = recorded_proof(fixtures, tmp_path)
    stakes = snapshot_stakes(snapshot_path(fixtures, 700)).text
    assert tried(tmp_path, document, stakes).code == 0
    key = Keypair.from_seed(bytes([60]) * 32)
    account = document["votes"][0]["votePubkey"]
    other = forged({**document, "votes": []}, [key], votePubkey=account, authorizedVoter=None)
    rows = [
        ({**document, "votes": []}, 3),
        ({**document, "parentSlot": 598}, 1),
        ({**document, "slot": 601, "parentSlot": 600}, 1),
        ({**document, "epoch": 5}, 1),
        ({**document, "signatureCount": 3}, 1),
        (edited(0, document, authorizedVoter=str(key.pubkey())), 1),
        (edited(0, document, stake=0), 0),
        (other, 1),
    ]
    for forgery, code in rows:
        assert tried(tmp_path, forgery, stakes).code == code
