"""Proofs of slots: what holds, what does not, and what is no proof."""

import copy
import json
import struct
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.signature import Signature

from chain.bank_votes import votes_in
from chain.electorates import Electorate, read_electorates, write_electorates
from chain.encodings import b64decode, b64encode
from chain.false_proofs import (
    Disconnected,
    DoubleVote,
    FalseProof,
    OtherEpoch,
    WrongBankHash,
    WrongChecksum,
    WrongEpoch,
    WrongStake,
    WrongVote,
)
from chain.proof_check import Basis, check, check_bank
from chain.proof_votes import check_votes
from chain.signed import signed_bytes
from chain.slot_proof import MalformedProof, Vote, read_proofs
from chain.transactions import Config, decode_wire, encode_wire
from tests.chain.proofs import ACCOUNTS, STAKES, VOTERS, chain, electorate, text, tower_sync, vote
from tests.chain.proofs import vote_transaction as signed
from tests.examples import examples
from upstream.archives.block_files import open_block_file
from upstream.archives.snapshots import Snapshot

(ONE,) = chain([5])
CHAIN = chain([5, 6, 9, 10], fork_at=9)
OWN = bytes(Hash.from_string(ONE["bankHash"]))


def verdict(document, stakes=None):
    given = () if stakes is None else read_electorates(text(stakes))
    return check(read_proofs(text(document)), given)


def counts(votes):
    return (votes.accounts, votes.stake, votes.total)


MINE = electorate(firstSlot=0, lastSlot=31)


def test_a_slot_that_all_stake_voted_for_is_proven_by_stakes_and_voters_of_ones_own():
    found = verdict(ONE, MINE)
    assert found.is_proven
    assert (found.first, found.last, found.slots, found.bank_hash) == (5, 5, 1, OWN)
    assert counts(found.votes) == (4, 100, 100)
    assert found.votes.share == 1
    assert found.believed == ("that the stakes and voters given are those of epoch 0",)


def test_by_the_documents_own_word_it_is_voted_for_and_not_proven():
    found = verdict(ONE)
    assert (found.is_voted, found.is_proven, found.basis) == (True, False, Basis.DOCUMENT)
    assert found.believed == (
        "the stakes of epoch 0, as the document has them: give your own with --stakes",
        "that the voters named may vote for their accounts in that epoch",
        "the epoch of slot 5: no hash covers it",
    )


@pytest.mark.parametrize(
    ("voters", "is_proven"), [([0, 1], True), ([0, 2], False), ([1, 2, 3], False), ([], False)]
)
def test_more_than_two_thirds_of_the_stake_have_to_vote(voters, is_proven):
    found = verdict({**ONE, "votes": [ONE["votes"][number] for number in voters]}, MINE)
    assert found.is_proven is is_proven
    assert found.votes.stake == sum(STAKES[number] for number in voters)


def test_two_thirds_are_not_more_than_two_thirds():
    assert not verdict({**ONE, "totalStake": 150}).is_voted
    assert verdict({**ONE, "totalStake": 149}).is_voted


def test_without_stakes_it_is_not_known_how_much_voted():
    votes = [{key: each[key] for key in each if key != "stake"} for each in ONE["votes"]]
    for document in ({**ONE, "votes": votes}, {**ONE, "totalStake": None}):
        found = verdict(document)
        assert (found.is_voted, found.votes.accounts, found.votes.share) == (False, 4, None)


def test_the_callers_stakes_count_in_place_of_the_documents():
    mine = {str(ACCOUNTS[0]): 1, str(ACCOUNTS[1]): 1, str(Hash(bytes([9]) * 32)): 8}
    found = verdict(ONE, mine)
    assert (found.is_voted, counts(found.votes)) == (False, (2, 2, 10))
    assert found.votes.uncounted == 2
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
    found = verdict(ONE, said)
    assert (found.is_voted, counts(found.votes)) == (False, (4, 100, 150))
    found = verdict(ONE, {str(ACCOUNTS[1]): 7})
    assert (found.is_voted, found.is_proven, found.basis) == (True, False, Basis.STAKES)


def test_the_callers_voters_count_in_place_of_the_documents():
    quiet = [{**each, "authorizedVoter": None} for each in ONE["votes"]]
    assert verdict({**ONE, "votes": quiet}, MINE).is_proven
    other = copy.deepcopy(MINE)
    for account in ACCOUNTS[:2]:
        other["stakes"][str(account)]["authorizedVoter"] = str(STRANGER.pubkey())
    found = verdict(ONE, other)
    assert (found.is_voted, counts(found.votes), found.votes.uncounted) == (False, (2, 30, 100), 2)


def test_the_epoch_has_to_be_the_slots():
    with pytest.raises(WrongEpoch, match="slot 5: it is in epoch 0, not in epoch 7"):
        verdict({**ONE, "epoch": 7}, MINE)
    with pytest.raises(OtherEpoch, match=r"those of epoch 1; slot 5 is said to be in epoch 0"):
        verdict(ONE, electorate(1))
    with pytest.raises(OtherEpoch, match=r"epoch 1 \(slots 32 to 63\); slot 5 is said"):
        verdict(ONE, electorate(1, firstSlot=32, lastSlot=63))
    found = verdict(ONE, electorate(0))
    assert found.is_proven
    assert "the epoch of slot 5: no hash covers it" in found.believed
    assert verdict(ONE, [electorate(1, firstSlot=32, lastSlot=63), MINE]).is_proven


def test_numbers_are_covered_by_votes_or_believed():
    documents = chain([5, 6, 7, 9, 10])
    quiet = [{**each, "votes": []} for each in documents[:-1]]
    found = verdict([*quiet, documents[-1]], MINE)
    assert found.is_proven
    assert found.believed == (
        "that the stakes and voters given are those of epoch 0",
        "the number of slots 5, 6, 7: no hash and no vote covers it",
        "that slot 4 is the parent of slot 5: no hash covers it",
    )
    # With votes for 5 and for 7, the one between them has no other number.
    found = verdict([documents[0], quiet[1], *documents[2:]], MINE)
    assert found.believed == ("that the stakes and voters given are those of epoch 0",)
    # Votes name slots of ancestors.
    bank = bytes(Hash.from_string(documents[2]["bankHash"]))
    votes = [vote(at, 7, bank, data=tower_sync([4, 5, 6, 7], bank)) for at in range(4)]
    found = verdict([*quiet[:2], {**documents[2], "votes": votes}], MINE)
    assert found.believed == ("that the stakes and voters given are those of epoch 0",)
    votes[0] = vote(0, 7, bank, data=tower_sync([4, 5, 7], bank))
    found = verdict([*quiet[:2], {**documents[2], "votes": votes}], MINE)
    assert "the number of slots 5, 6: no hash and no vote covers it" in found.believed


def test_votes_for_a_slot_above_need_the_documents_up_to_it():
    documents = [{**each, "votedThrough": 9} for each in chain([5, 6, 9])]
    quiet = [{**each, "votes": []} for each in documents[:-1]]
    found = verdict(quiet[0], MINE)
    assert (found.is_voted, found.missing) == (False, 9)
    assert verdict({**quiet[0], "chain": [quiet[1], documents[2]]}, MINE).is_proven
    assert verdict([{**quiet[0], "chain": [quiet[1]]}, documents[2]], MINE).is_proven
    answers = [{"jsonrpc": "2.0", "id": 1, "result": each} for each in (*quiet, documents[2])]
    assert verdict(answers, MINE).is_proven
    reason = "proves it only with the documents of the slots up to 9"
    with pytest.raises(WrongVote, match=reason):
        verdict({**quiet[0], "votes": documents[2]["votes"]}, MINE)
    with pytest.raises(Disconnected, match="the document of slot 6 is missing"):
        verdict([quiet[0], documents[2]], MINE)


def test_of_a_chain_the_last_ones_votes_are_enough():
    quiet = [{**each, "votes": []} for each in CHAIN[:-1]]
    found = verdict([*quiet, CHAIN[-1]], MINE)
    assert found.is_proven
    assert (found.first, found.last, found.slots, found.voted_slot) == (5, 10, 4, 10)
    found = verdict([*CHAIN[:-1], {**CHAIN[-1], "votes": []}], MINE)
    assert (found.is_proven, found.voted_slot, found.unvoted) == (False, 9, 1)


def test_what_getSlotProof_answers_is_read_as_it_came():
    answer = {"jsonrpc": "2.0", "id": 1, "result": ONE}
    assert verdict(answer, MINE).is_proven
    answer["result"] = {"context": {"slot": 5}, "value": [ONE]}
    assert verdict(answer, MINE).is_proven


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
        (text({**ONE, "parentSlot": 5}), "$.parentSlot"),
        (text({**ONE, "votedThrough": -1}), "$.votedThrough"),
        (text({**ONE, "chain": 5}), "$.chain"),
        (text([ONE, {**ONE, "chain": [{**ONE, "slot": "5"}]}]), "$[1].chain[0].slot"),
        (text([ONE, {"jsonrpc": "2.0", "result": {}}]), "$[1].result"),
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
        b"",
        b"[]",
        b"5",
        b"[" * 100_000,
        b'{"x": 5}',
        b'{"current": 5}',
        b'{"current": [5]}',
        text({str(ACCOUNTS[0]): -1}),
        text({str(ACCOUNTS[0]): True}),
        text({"current": [{"votePubkey": str(ACCOUNTS[0])}]}),
        text({"jsonrpc": "2.0", "error": {}}),
        b"{}",
        text({str(ACCOUNTS[0]): 0}),
        text({str(ACCOUNTS[0]): 2**64 - 1, str(ACCOUNTS[1]): 1}),
        text({str(ACCOUNTS[0]): 2**64}),
        text({"current": [{"votePubkey": str(ACCOUNTS[0]), "activatedStake": 1}] * 2}),
        text({"epoch": 0}),
        text({"stakes": {}}),
        text(electorate(epoch=-1)),
        text(electorate(epoch="0")),
        text(electorate(stakes={})),
        text(electorate(stakes={"x": 1})),
        text(electorate(stakes={str(ACCOUNTS[0]): {"authorizedVoter": str(ACCOUNTS[0])}})),
        text(electorate(stakes={str(ACCOUNTS[0]): {"lamports": 1, "authorizedVoter": "x"}})),
        text(electorate(firstSlot=5)),
        text(electorate(firstSlot=5, lastSlot=4)),
        text(electorate(lastslot=4)),
        text([electorate(), electorate()]),
    ],
)
def test_what_are_no_stakes_is_refused(content):
    with pytest.raises(MalformedProof):
        read_electorates(content)


def test_stakes_are_read_as_they_are_written():
    given = read_electorates(text([MINE, electorate(1)]))
    assert read_electorates(write_electorates(given)) == given
    assert given[0].voters is not None and given[0].slots == (0, 31)
    (large,) = read_electorates(text(electorate(stakes={str(ACCOUNTS[0]): 2**64 - 1})))
    assert large == Electorate({bytes(ACCOUNTS[0]): 2**64 - 1}, None, 0, None)


def test_version_1_may_carry_votes():
    wire = decode_wire(b64decode(ONE["votes"][0]["transaction"]))
    unsigned = replace(wire, version=1, config=Config())
    signature = bytes(VOTERS[0].sign_message(signed_bytes(unsigned)))
    signed_one = encode_wire(replace(unsigned, signatures=[signature]))
    change = {"transaction": b64encode(signed_one), "signature": str(Signature(signature))}
    document = {**ONE, "votes": [{**ONE["votes"][0], **change}, *ONE["votes"][1:]]}
    assert verdict(document, MINE).is_proven
    other = bytearray(signed_one)
    other[-70] ^= 1
    change["transaction"] = b64encode(bytes(other))
    with pytest.raises(WrongVote):
        verdict({**ONE, "votes": [{**ONE["votes"][0], **change}]}, MINE)


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
        read_electorates(content)


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
        assert place[name] < 5  # in no hash: the parent's bank hash is what counts
    else:
        assert not changed or name in BELIEVED
    assert found.bank_hash == OWN


def test_real_votes_for_one_bank_are_signed_and_of_different_accounts(fixtures):
    path = fixtures / "blocks" / "mainnet-332254855.confirmedblock.pb.zst"
    with open_block_file(path) as blocks:
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
    found = check_votes(proof)
    assert counts(found) == (len(most), 5 * len(most), 5 * len(most))
    assert found.ancestors
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
    assert verdict({**other, "votes": other["votes"][:2]}, MINE).is_proven
    assert vote(0, 5, OWN) == ONE["votes"][0]
