"""Proofs of slots: what holds, what does not, and what is no proof."""

import copy
import json
import struct
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair

from chain.bank_votes import votes_in
from chain.encodings import b64decode, b64encode
from chain.proof_check import (
    Disconnected,
    DoubleVote,
    FalseProof,
    WrongBankHash,
    WrongChecksum,
    WrongStake,
    WrongVote,
    check,
    check_bank,
    check_votes,
    read_stakes,
)
from chain.slot_proof import MalformedProof, Vote, read_proofs
from chain.transactions import encode_wire
from tests.chain.proofs import ACCOUNTS, STAKES, VOTERS, chain, text, tower_sync, vote
from tests.chain.proofs import vote_transaction as signed
from tests.examples import examples
from upstream.archives.block_files import open_block_file
from upstream.archives.snapshots import Snapshot

(ONE,) = chain([5])
CHAIN = chain([5, 6, 9, 10], fork_at=9)
OWN = bytes(Hash.from_string(ONE["bankHash"]))


def verdict(document, stakes=None):
    return check(read_proofs(text(document)), stakes)


def test_a_slot_that_all_stake_voted_for_is_proven():
    found = verdict(ONE)
    assert found.is_proven
    assert (found.first, found.last, found.slots, found.bank_hash) == (5, 5, 1, OWN)
    assert found.votes == (4, 100, 100)
    assert found.votes.share == 1
    assert found.believed == [
        "the stakes of epoch 0, as the document has them: give your own with --stakes",
        "that the voters named may vote for their accounts in that epoch",
    ]


@pytest.mark.parametrize(
    ("voters", "is_proven"), [([0, 1], True), ([0, 2], False), ([1, 2, 3], False), ([], False)]
)
def test_more_than_two_thirds_of_the_stake_have_to_vote(voters, is_proven):
    found = verdict({**ONE, "votes": [ONE["votes"][number] for number in voters]})
    assert found.is_proven is is_proven
    assert found.votes.stake == sum(STAKES[number] for number in voters)


def test_two_thirds_are_not_more_than_two_thirds():
    assert not verdict({**ONE, "totalStake": 150}).is_proven
    assert verdict({**ONE, "totalStake": 149}).is_proven


def test_without_stakes_it_is_not_known_how_much_voted():
    votes = [{key: each[key] for key in each if key != "stake"} for each in ONE["votes"]]
    for document in ({**ONE, "votes": votes}, {**ONE, "totalStake": None}):
        found = verdict(document)
        assert (found.is_proven, found.votes.accounts, found.votes.share) == (False, 4, None)


def test_the_callers_stakes_count_in_place_of_the_documents():
    mine = {bytes(ACCOUNTS[0]): 1, bytes(ACCOUNTS[1]): 1, bytes([9]) * 32: 8}
    found = verdict(ONE, mine)
    assert (found.is_proven, found.votes) == (False, (4, 2, 10))
    assert found.believed[0] == "that the stakes given are those of epoch 0"
    said = {
        "result": {
            "current": [
                {"votePubkey": str(key), "activatedStake": stake}
                for key, stake in zip(ACCOUNTS, STAKES, strict=True)
            ],
            "delinquent": [{"votePubkey": str(VOTERS[0].pubkey()), "activatedStake": 50}],
        },
        "jsonrpc": "2.0",
    }
    found = verdict(ONE, read_stakes(text(said)))
    assert (found.is_proven, found.votes) == (False, (4, 100, 150))
    assert verdict(ONE, read_stakes(text({str(ACCOUNTS[1]): 7}))).is_proven


def test_of_a_chain_the_last_ones_votes_are_enough():
    quiet = [{**each, "votes": []} for each in CHAIN[:-1]]
    found = verdict([*quiet, CHAIN[-1]])
    assert found.is_proven
    assert (found.first, found.last, found.slots, found.voted_slot) == (5, 10, 4, 10)
    found = verdict([*CHAIN[:-1], {**CHAIN[-1], "votes": []}])
    assert (found.is_proven, found.voted_slot, found.unvoted) == (False, 9, 1)


def test_what_getSlotProof_answers_is_read_as_it_came():
    answer = {"jsonrpc": "2.0", "id": 1, "result": ONE}
    assert verdict(answer).is_proven
    answer["result"] = {"context": {"slot": 5}, "value": [ONE]}
    assert verdict(answer).is_proven


def with_vote(**change):
    return {**ONE, "votes": [{**ONE["votes"][0], **change}]}


def signed_by(voter, data, account=0):
    found = signed(ACCOUNTS[account], voter, data)
    return {"transaction": b64encode(bytes(found)), "signature": str(found.signatures[0])}


TOWER = tower_sync([4, 5], OWN)
TAMPERED = b64decode(ONE["votes"][0]["transaction"])
OTHER_HASH = str(Hash(bytes([8]) * 32))
STRANGER = Keypair.from_seed(bytes([99]) * 32)
UNSIGNED = TAMPERED.replace(bytes([4, 1, 1, 1]), bytes([3, 1, 2, 1]))


@pytest.mark.parametrize(
    ("document", "kind", "reason"),
    [
        ({**ONE, "accountsLatticeChecksum": OTHER_HASH}, WrongChecksum, "slot 5: the lattice hash"),
        ({**ONE, "parentBankHash": OTHER_HASH}, WrongBankHash, "make the bank hash"),
        ({**ONE, "blockhash": OTHER_HASH}, WrongBankHash, "make the bank hash"),
        ({**ONE, "bankHash": OTHER_HASH}, WrongBankHash, f"not {OTHER_HASH}"),
        ({**ONE, "signatureCount": 11}, WrongBankHash, "make the bank hash"),
        ({**ONE, "hardForkData": b64encode(bytes(8))}, WrongBankHash, "make the bank hash"),
        ({**ONE, "votes": [ONE["votes"][0]] * 2}, DoubleVote, "is counted twice"),
        ({**ONE, "totalStake": 99}, WrongStake, "100 lamports voted, of 99 in all"),
        (with_vote(slot=5), WrongVote, "is said to be in slot 5"),
        (with_vote(signature="1" * 64), WrongVote, "has another signature than is said"),
        (with_vote(votePubkey=str(ACCOUNTS[1])), WrongVote, "did not vote for this bank"),
        (with_vote(authorizedVoter=str(ACCOUNTS[1])), WrongVote, "is not signed by its voter"),
        (with_vote(transaction=b64encode(UNSIGNED)), WrongVote, "it was made up"),
        (
            with_vote(**signed_by(VOTERS[0], tower_sync([5, 6], OWN))),
            WrongVote,
            f"did not vote for this bank, but for 6 with {ONE['bankHash']}",
        ),
        (
            with_vote(**signed_by(VOTERS[0], tower_sync([5], bytes([8]) * 32))),
            WrongVote,
            f"did not vote for this bank, but for 5 with {OTHER_HASH}",
        ),
        (with_vote(**signed_by(STRANGER, TOWER)), WrongVote, "is not signed by its voter"),
        (with_vote(**signed_by(VOTERS[0], TOWER, account=1)), WrongVote, "did not vote for this"),
        ([CHAIN[0], CHAIN[2]], Disconnected, "its parent is slot 6, not slot 5"),
        ([CHAIN[1], CHAIN[0]], Disconnected, "its parent is slot 4, not slot 6"),
        ([ONE, chain([6])[0]], Disconnected, "its parent's bank hash is"),
        ([CHAIN[0], {**CHAIN[1], "votes": CHAIN[0]["votes"]}], WrongVote, "slot 6: "),
    ],
)
def test_what_does_not_hold_is_refused_and_said(document, kind, reason):
    with pytest.raises(FalseProof, match=r"slot \d+: ") as refusal:
        verdict(document)
    assert type(refusal.value) is kind
    assert reason in str(refusal.value)


def without(name):
    return {key: ONE[key] for key in ONE if key != name}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "$"),
        (b"{", "$"),
        (b"\xff", "$"),
        (b"[" * 100_000, "$"),
        (b"[]", "$"),
        (b"5", "$"),
        (b'{"jsonrpc": "2.0", "error": {}}', "$"),
        (b'{"jsonrpc": "2.0", "result": 5}', "$.result"),
        (text(without("slot")), "$"),
        (text([ONE, {**ONE, "slot": "5"}]), "$[1].slot"),
        (text({**ONE, "slot": -1}), "$.slot"),
        (text({**ONE, "slot": 2**64}), "$.slot"),
        (text({**ONE, "parentSlot": 6}), "$.parentSlot"),
        (text({**ONE, "bankHash": "x"}), "$.bankHash"),
        (text({**ONE, "accountsLatticeHash": "x"}), "$.accountsLatticeHash"),
        (text({**ONE, "accountsLatticeHash": b64encode(bytes(9))}), "$.accountsLatticeHash"),
        (text({**ONE, "hardForkData": b64encode(bytes(9))}), "$.hardForkData"),
        (text({**ONE, "totalStake": 2**64}), "$.totalStake"),
        (text({**ONE, "votes": 5}), "$.votes"),
        (text(with_vote(stake="5")), "$.votes[0].stake"),
        (text(with_vote(stake=-5)), "$.votes[0].stake"),
        (text(with_vote(signature="x")), "$.votes[0].signature"),
        (text(with_vote(votePubkey="x")), "$.votes[0].votePubkey"),
        (text(with_vote(authorizedVoter="x")), "$.votes[0].authorizedVoter"),
        (text(with_vote(transaction="x")), "$.votes[0].transaction"),
        (text(with_vote(transaction=b64encode(TAMPERED[:-1]))), "$.votes[0].transaction"),
    ],
)
def test_what_is_no_proof_is_refused_with_its_place(content, place):
    with pytest.raises(MalformedProof) as refusal:
        read_proofs(content)
    assert refusal.value.place == place


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"5", b"[" * 100_000, b'{"x": 5}', b'{"current": 5}', b'{"current": [5]}'),
        text({str(ACCOUNTS[0]): -1}),
        text({str(ACCOUNTS[0]): True}),
        text({"current": [{"votePubkey": str(ACCOUNTS[0])}]}),
        text({"jsonrpc": "2.0", "error": {}}),
    ],
)
def test_what_are_no_stakes_is_refused(content):
    with pytest.raises(MalformedProof):
        read_stakes(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*ONE, "result", "jsonrpc"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_else_is_malformed(content):
    with pytest.raises(MalformedProof):
        read_proofs(content)
    with pytest.raises(MalformedProof):
        if not read_stakes(content):
            raise MalformedProof("$", "no stakes are in it")


# These are believed, or said again elsewhere: what they are changes no hash and no signature.
BELIEVED = {"epoch", "totalStake", "stake", "authorizedVoter"}


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_no_other_field_can_be_altered(data):
    document = copy.deepcopy(ONE)
    inside = data.draw(st.booleans())
    place = document["votes"][data.draw(st.integers(0, 3))] if inside else document
    name = data.draw(st.sampled_from(sorted(set(place) - {"votes"})))
    value = place[name]
    if name in ("votePubkey", "authorizedVoter"):
        place[name] = str(data.draw(st.sampled_from([*ACCOUNTS, STRANGER.pubkey()])))
    elif isinstance(value, int):
        place[name] = data.draw(st.integers(0, 2**64 - 1))
    elif isinstance(value, str):
        at = data.draw(st.integers(0, len(value) - 1))
        place[name] = value[:at] + data.draw(st.sampled_from("123ABCxyz+/")) + value[at + 1 :]
    else:
        place[name] = b64encode(struct.pack("<Q", data.draw(st.integers(0, 3))))
    try:
        found = verdict(document)
    except (MalformedProof, FalseProof):
        return
    changed = place[name] != value
    if inside and name == "slot":
        assert place[name] > 5  # where it landed: whoever has that block can see it there
    elif name == "parentSlot":
        assert place[name] <= 5  # in no hash: the parent's bank hash is what counts
    else:
        assert not changed or name in BELIEVED
    assert found.bank_hash == OWN


@pytest.mark.parametrize(
    "name", ["mainnet-332254855.confirmedblock.pb.zst", "mainnet-254170887.base64.json.gz"]
)
def test_real_votes_for_one_bank_are_signed_and_of_different_accounts(fixtures, name):
    with open_block_file(fixtures / "blocks" / name) as blocks:
        (record,) = blocks
    by_bank = defaultdict(list)
    for each in record.transactions:
        for found in votes_in(each.decoded):
            by_bank[found.slot, found.bank_hash].append((found, each.signature, each.decoded))
    (slot, bank), most = max(by_bank.items(), key=lambda item: len(item[1]))
    votes = tuple(
        Vote(each.vote_account, signed, record.slot, encode_wire(wire), wire, 5, each.signers[0])
        for each, signed, wire in most
    )
    (proof,) = read_proofs(text(ONE))
    proof = proof._replace(slot=slot, bank_hash=bank, votes=votes, total_stake=5 * len(votes))
    assert check_votes(proof) == (len(most), 5 * len(most), 5 * len(most))
    assert len(most) > 10
    with pytest.raises(WrongVote):
        check_votes(proof._replace(bank_hash=bytes(32)))


@pytest.mark.parametrize("start", ["snapshot-1", "incremental-snapshot-1-4"])
def test_the_banks_of_real_snapshots_hold(fixtures, start):
    (path,) = (fixtures / "snapshots").glob(f"{start}-*.tar.zst")
    with Snapshot(path) as snapshot:
        list(snapshot)
    manifest = snapshot.manifest
    (proof,) = read_proofs(text(ONE))
    proof = proof._replace(
        slot=snapshot.slot,
        bank_hash=manifest.bank.hash,
        parent_bank_hash=manifest.bank.parent_hash,
        signature_count=manifest.bank.signature_count,
        blockhash=manifest.blockhash,
        lattice=manifest.lattice,
        checksum=snapshot.named_hash,
    )
    check_bank(proof)
    with pytest.raises(WrongBankHash):
        check_bank(proof._replace(signature_count=manifest.bank.signature_count + 1))


def test_a_vote_for_the_same_slot_of_another_fork_does_not_count():
    other = chain([5], fork_at=5)[0]
    assert other["bankHash"] != ONE["bankHash"]
    with pytest.raises(WrongVote):
        verdict({**other, "votes": ONE["votes"]})
    assert verdict({**other, "votes": other["votes"][:2]}).is_proven
    assert vote(0, 5, OWN) == ONE["votes"][0]
