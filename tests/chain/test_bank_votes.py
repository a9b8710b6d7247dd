"""Votes in transactions: each kind, real ones, and anything else."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.bank_votes import BankVote, votes_in
from chain.shown_votes import vote_of
from chain.transactions import BadTransaction, decode_wire
from tests.chain.proofs import ACCOUNTS, VOTE, VOTERS, tower_sync, vote_transaction
from tests.examples import examples
from upstream.archives.block_files import open_block_file

VOTED = bytes(range(32))


def lockouts(kind, slots):
    data = struct.pack("<IQ", kind, len(slots))
    data += b"".join(struct.pack("<QI", slot, 1) for slot in slots)
    return data + b"\x01" + struct.pack("<Q", 3) + VOTED + b"\x00"


def slots_of(kind, slots):
    return struct.pack(f"<IQ{len(slots)}Q", kind, len(slots), *slots) + VOTED + b"\x00"


def votes(data, **change):
    signed = vote_transaction(ACCOUNTS[0], VOTERS[0], data, **change)
    return list(votes_in(decode_wire(bytes(signed))))


@pytest.mark.parametrize(
    "data",
    [
        *(tower_sync([7, 8, 300], VOTED, kind=kind) for kind in (14, 15)),
        tower_sync([7, 8, 300], VOTED, root=5),
    ],
)
def test_each_kind_of_vote_names_its_newest_slot_and_its_bank(data):
    (found,) = votes(data)
    signers = (bytes(VOTERS[0].pubkey()),)
    assert found == BankVote(bytes(ACCOUNTS[0]), 300, VOTED, signers, (7, 8, 300))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("<I", 3),
        *(slots_of(kind, [7, 8, 300]) for kind in (2, 6)),  # retired
        *(lockouts(kind, [7, 8, 300]) for kind in (8, 9)),
        *(tower_sync([7, 8, 300], VOTED, kind=kind) for kind in (12, 13)),
        tower_sync([], VOTED),
        tower_sync([7, 8], VOTED)[:40],
        *(tower_sync([7, 8], VOTED, kind=kind)[:-1] for kind in (14, 15)),
        struct.pack("<IQ", 14, 5) + b"\x01" + b"\xff" * 9 + b"\x01" + bytes(99),
    ],
)
def test_what_is_no_vote_is_none(data):
    assert votes(data) == []


def test_only_signers_of_the_instruction_are_named():
    payer = Keypair.from_seed(bytes([9]) * 32)
    (found,) = votes(tower_sync([7], VOTED), payer=payer)
    assert found.signers == (bytes(VOTERS[0].pubkey()),)


@pytest.mark.parametrize(
    ("name", "retired"),
    [
        ("mainnet-332254855.confirmedblock.pb.zst", False),
        ("mainnet-254170887.base64.json.gz", True),
        ("mainnet-18144001.confirmedblock.pb", True),
    ],
)
def test_votes_of_real_blocks(fixtures: Path, name: str, retired: bool) -> None:
    with open_block_file(fixtures / "blocks" / name) as blocks:
        (record,) = blocks
    found = 0
    for each in record.transactions:
        wire = each.decoded
        mine = list(votes_in(wire))
        programs = [wire.account_keys[program : program + 1] for program, *_ in wire.instructions]
        told = vote_of(wire) if programs[0] == [bytes(VOTE)] else None
        if told is None:
            assert [bytes(VOTE)] in programs or not mine
            continue
        found += 1
        if retired:
            assert not mine
            continue
        (vote,) = mine
        assert str(Pubkey(vote.vote_account)) == told["votePubkey"]
        assert (list(vote.tower), str(Hash(vote.bank_hash))) == (told["slots"], told["hash"])
        assert vote.slot == told["slots"][-1]
        assert set(vote.signers) <= set(each.decoded.account_keys)
        assert vote.signers
    assert found > 0


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=120), st.integers(0, 20), st.booleans())
def test_any_data_are_votes_or_none(data, kind, damaged):
    content = struct.pack("<I", kind) + data
    if damaged:
        whole = tower_sync([7, 8, 300], VOTED)
        at = len(data) % len(whole)
        content = whole[:at] + data + whole[at + len(data) :]
    for vote in votes(content):
        assert 0 <= vote.slot < 2**64 and len(vote.bank_hash) == 32


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(min_size=1, max_size=30), st.integers(0, 300))
def test_damaged_transactions_are_refused_or_read(damage, at):
    whole = bytes(vote_transaction(ACCOUNTS[0], VOTERS[0], tower_sync([7], VOTED)))
    at %= len(whole)
    try:
        wire = decode_wire(whole[:at] + damage + whole[at + len(damage) :])
    except BadTransaction:
        return
    assert len(list(votes_in(wire))) <= len(wire.instructions)


def test_the_program_is_the_vote_program():
    assert bytes(VOTE) == bytes(Pubkey.from_string("Vote" + "1" * 39))
