"""Real blocks of mainnet, read from the files they were recorded in."""

import base64
import gzip
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from solders.transaction import VersionedTransaction
from solders.transaction_status import UiTransactionStatusMeta

from chain.blocks import CURRENT_FORM, Form, SlotRecord
from chain.transactions import decode_wire, encode_wire, sanitize
from tests.upstream.sample_blocks import message_json
from upstream.archives.block_files import open_block_file
from upstream.archives.errors import BadBlockFile

BLOCKS = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "blocks"
pytestmark = pytest.mark.skipif(not BLOCKS.is_dir(), reason="no recorded blocks beside the tree")

# file, format, blocks, transactions, first slot, last slot
FILES = [
    ("mainnet-18144001.confirmedblock.pb", "ConfirmedBlock protobuf", 1, 89, 18144001, 18144001),
    ("mainnet-43200.confirmedblock.pb", "ConfirmedBlock protobuf", 1, 4, 43200, 43200),
    (
        "mainnet-43200000.confirmedblock.pb.zst",
        "ConfirmedBlock protobuf",
        1,
        208,
        43200000,
        43200000,
    ),
    (
        "mainnet-332254855.confirmedblock.pb.zst",
        "ConfirmedBlock protobuf",
        1,
        1445,
        332254855,
        332254855,
    ),
    ("mainnet-254170887.base64.json.gz", "getBlock json", 1, 602, 254170887, 254170887),
    ("mainnet-55065000-55065099.dbin.zst", "dbin", 88, 34950, 55065000, 55065099),
    ("mainnet-genesis-1-194.tar.zst", "tar of block files", 194, 776, 1, 194),
]
JSON_FILES = [
    "solders-147078735.json.json.gz",
    "chainstorage/client/block.json",
    "chainstorage/client/block_without_parent_hash.json",
    "chainstorage/parser/block.json",
    "chainstorage/parser/block_with_versioned_tx.json",
    "chainstorage/parser/transaction_err.json",
]


@cache
def records(name: str) -> list[SlotRecord]:
    with open_block_file(BLOCKS / name) as blocks:
        return list(blocks)


def source(name: str) -> dict[str, Any]:
    content = (BLOCKS / name).read_bytes()
    if name.endswith(".gz"):
        content = gzip.decompress(content)
    answer = json.loads(content)
    found = answer.get("result", answer)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("name", "form", "blocks", "transactions", "first", "last"), FILES)
def test_a_file_holds_the_blocks_it_is_known_for(
    name: str, form: str, blocks: int, transactions: int, first: int, last: int
) -> None:
    with open_block_file(BLOCKS / name) as opened:
        assert opened.format == form
    found = records(name)
    assert len(found) == blocks
    assert sum(len(each.transactions) for each in found) == transactions
    assert (found[0].slot, found[-1].slot) == (first, last)
    assert {each.form for each in found} == {CURRENT_FORM}


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_every_recorded_transaction_is_signed_and_keeps_its_bytes(name: str) -> None:
    for record in records(name):
        for each in record.transactions:
            assert all(VersionedTransaction.from_bytes(each.wire).verify_with_results())
            facts = decode_wire(each.wire)
            sanitize(facts)
            assert encode_wire(facts) == each.wire


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_every_recorded_meta_is_one_that_a_client_reads(name: str) -> None:
    for record in records(name):
        for each in record.transactions[:400]:
            if each.meta is not None:
                told = json.dumps(each.meta)
                assert json.loads(UiTransactionStatusMeta.from_json(told).to_json()) == each.meta


@pytest.mark.parametrize(
    ("name", "skipped"),
    [("mainnet-55065000-55065099.dbin.zst", 12), ("mainnet-genesis-1-194.tar.zst", 0)],
)
def test_a_range_of_blocks_is_a_chain(name: str, skipped: int) -> None:
    found = records(name)
    for before, after in pairwise(found):
        assert after.previous_blockhash == before.blockhash
        assert after.parent_slot == before.slot
    assert found[-1].slot - found[0].slot + 1 - len(found) == skipped


def test_what_december_2020_did_not_record_is_none() -> None:
    for record in records("mainnet-55065000-55065099.dbin.zst"):
        for each in record.transactions:
            assert each.meta is not None
            assert not each.meta.keys() & {"returnData", "computeUnitsConsumed", "costUnits"}
    for record in records("mainnet-genesis-1-194.tar.zst"):
        assert record.block_time is None
        assert all(each.meta is None for each in record.transactions)


def test_custom_errors_are_the_ones_that_the_programs_logged() -> None:
    logged = re.compile(r"failed: custom program error: 0x([0-9a-f]+)$")
    seen = 0
    for name in (
        "mainnet-55065000-55065099.dbin.zst",
        "mainnet-332254855.confirmedblock.pb.zst",
    ):
        for record in records(name):
            for each in record.transactions:
                assert each.meta is not None
                lines = each.meta["logMessages"] or []
                code = logged.search(lines[-1]) if lines else None
                if code:
                    assert each.meta["err"]["InstructionError"][1] == {"Custom": int(code[1], 16)}
                    seen += 1
    assert seen > 3000


@pytest.mark.parametrize("name", JSON_FILES)
def test_a_block_in_encoding_json_keeps_every_field(name: str) -> None:
    (record,) = records(name)
    block = source(name)
    assert record.slot == block["parentSlot"] + 1
    assert (record.blockhash, record.previous_blockhash) == (
        block["blockhash"],
        block["previousBlockhash"],
    )
    assert (record.block_time, record.block_height, record.rewards) == (
        block.get("blockTime"),
        block.get("blockHeight"),
        block.get("rewards"),
    )
    for each, told in zip(record.transactions, block["transactions"], strict=True):
        assert each.meta == told["meta"]
        facts = decode_wire(each.wire)
        assert facts.version == told.get("version", "legacy")
        message = message_json(facts)
        for instruction in message["instructions"]:
            del instruction["stackHeight"]
        assert message == told["transaction"]["message"]


def test_a_block_in_encoding_base64_keeps_every_field() -> None:
    (record,) = records("mainnet-254170887.base64.json.gz")
    block = source("mainnet-254170887.base64.json.gz")
    for each, told in zip(record.transactions, block["transactions"], strict=True):
        assert each.meta == told["meta"]
        assert base64.b64encode(each.wire).decode() == told["transaction"][0]
        assert decode_wire(each.wire).version == told["version"]


def test_one_block_in_two_encodings_is_one_record() -> None:
    assert records("solders-147078735.json.json.gz") == records("solders-147078735.base64.json.gz")
    assert records("solders-147078735.base64.json.gz")[0].form == Form.LOADED_ADDRESSES
    parsed = source("solders-147078735.json_parsed.json.gz")
    wires = [
        decode_wire(each.wire) for each in records("solders-147078735.json.json.gz")[0].transactions
    ]
    for facts, told in zip(wires, parsed["transactions"], strict=True):
        told_message = told["transaction"]["message"]
        assert message_json(facts)["accountKeys"] == [
            each["pubkey"] for each in told_message["accountKeys"]
        ]
        assert message_json(facts)["recentBlockhash"] == told_message["recentBlockhash"]


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("client/block_transaction_no_signatures", "signatures", "no signatures"),
        ("client/block_transaction_signatures_empty_string", "signatures[0]", "64 bytes"),
        ("client/block_v2", "message.accountKeys[0]", "json or base64"),
        ("parser/block_241043141_v2", "message.accountKeys[0]", "json or base64"),
        ("parser/block_no_preBalances", "message.accountKeys[0]", "json or base64"),
        ("parser/block_account_deletion", "message.accountKeys[0]", "json or base64"),
        ("parser/block_new_token_account", "message.accountKeys[0]", "json or base64"),
    ],
)
def test_recorded_broken_and_parsed_blocks_are_refused(name: str, place: str, reason: str) -> None:
    with pytest.raises(BadBlockFile) as caught:
        records(f"chainstorage/{name}.json")
    assert caught.value.place == f"transactions[0].transaction.{place}"
    assert reason in caught.value.reason


def test_a_file_of_another_sort_is_refused() -> None:
    with pytest.raises(BadBlockFile):
        records("replay-candidates.json")
