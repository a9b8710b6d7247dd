"""Whether transactions are what was signed: of every version, real and made, and altered ones."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.transaction import VersionedTransaction

from chain.blocks import TransactionRecord
from chain.encodings import b58encode
from chain.signed import Defect, duplicates_among, is_signed, signed_bytes, unsigned_among
from chain.transaction_json import wire_from_json
from chain.transactions import Config, Wire, encode_wire
from tests.altered import ALTERATIONS, altered, made
from tests.examples import examples
from upstream.archives.block_files import open_block_file

# From the first blocks to today's, votes among them, of the networks and of all versions.
BLOCKS = {
    "mainnet-0-9.old-faithful.car": None,
    "mainnet-43200.confirmedblock.pb": 43_200,
    "mainnet-18144001.confirmedblock.pb": 18_144_001,
    "solders-147078735.json.json.gz": 147_078_735,
}
seeds = st.integers(0, 2**64).map(Random)


def records(*wires: Wire) -> list[TransactionRecord]:
    return [TransactionRecord(each, None) for each in wires]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_transaction_of_a_real_block_is_signed(fixtures: Path, name: str) -> None:
    with open_block_file(fixtures / "blocks" / name, slot=BLOCKS[name]) as blocks:
        for record in blocks:
            assert list(unsigned_among(record.transactions)) == []
            assert list(duplicates_among(record.transactions)) == []


def test_real_transactions_of_version_1_are_signed_and_not_as_version_0(fixtures: Path) -> None:
    path = fixtures / "agave-4.4.0" / "blocks.json.zst"
    blocks = json.loads(zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read())
    found = [
        wire_from_json(entry["transaction"], 1)
        for block in blocks.values()
        for entry in block["transactions"]
        if entry["version"] == 1
    ]
    assert len(found) > 100
    for number, wire in enumerate(found):
        assert is_signed(wire)
        as_0 = replace(wire, version=0, config=None)
        named = list(unsigned_among(records(wire, as_0)))
        assert named == [(1, Defect.DOWNGRADED_VERSION, b58encode(wire.signatures[0]), 1)], number
        assert "downgraded version (version 1 handed on as version 0" in str(named[0])


@settings(max_examples=examples(300))
@given(seeds)
def test_signed_bytes_are_those_that_solders_verifies(chance: Random) -> None:
    wire = made(chance)
    assert is_signed(wire)
    if wire.config is None:  # solders reads no version 1 from bytes with every setting
        theirs = VersionedTransaction.from_bytes(encode_wire(wire))
        assert all(theirs.verify_with_results())
    assert signed_bytes(wire) in encode_wire(wire)


@settings(max_examples=examples(600))
@given(seeds, st.sampled_from(sorted(ALTERATIONS)))
def test_no_altered_transaction_is_signed(chance: Random, kind: str) -> None:
    wires = [made(chance) for _ in range(3)]
    at = chance.randrange(3)
    wires[at] = altered(wires[at], kind, chance)
    assert [each.position for each in unsigned_among(records(*wires))] == [at]


def test_a_defect_is_named_for_what_it_is() -> None:
    chance = Random(36)
    wires = {wire.version: wire for wire in (made(chance) for _ in range(50)) if not wire.lookups}
    one = replace(wires[1], config=Config(5_000, 9_000, 65_536, 65_536))
    changed = [altered(wires["legacy"], "another_amount", chance), wires[0], one]
    names = [each.defect for each in unsigned_among(records(*changed))]
    assert names == [Defect.WRONG_SIGNATURE, Defect.WRONG_SIGNATURE]
    twice = list(duplicates_among(records(wires[0], wires[1], wires[0], wires[0])))
    assert [(each.position, each.first) for each in twice] == [(2, 0), (3, 0)]
    signature = b58encode(wires[0].signatures[0])
    assert str(twice[0]) == (
        f"transactions[2] ({signature}): the transaction is in the block already, at index 0"
    )
