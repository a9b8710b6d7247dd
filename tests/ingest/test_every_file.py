"""manage.py import_blocks on every real form of a file, and one chain in one database."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.utils import timezone
from solders.hash import Hash

from chain.encodings import b58encode
from historical.models import AddressEntries, Block, Import, Transaction
from ingest import chain_identity
from ingest.errors import OtherChain
from rewind.models import ArchiveState
from tests import emptying
from tests.upstream import sample_blocks as sample
from tests.upstream.test_car import car_of, chain
from upstream.archives.block_files import open_block_file
from upstream.archives.compression import plain
from upstream.archives.confirmed_block import slot_record
from upstream.archives.containers import dbin_messages
from upstream.geyser import messages
from upstream.protobuf import confirmed_block_pb2 as schema
from upstream.protobuf import geyser_pb2 as stream

HISTORICAL = "/historical"
MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
OTHER = b58encode(bytes([77]) * 32)
V0 = {"maxSupportedTransactionVersion": 0}


@pytest.fixture(autouse=True)
def empty_ledger(db: None) -> None:
    """No block in sight, whatever the session holds; rolled back with the test."""
    tables = [model._meta.db_table for model in (Block, Transaction, AddressEntries, Import)]
    emptying.truncate_filled([*tables, "ingest_storedchain", "rewind_archivestate"])


def run(*arguments: Any, command: str = "import_blocks") -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(*arguments: Any, command: str = "import_blocks") -> str:
    """What is said on the way to an exit status that is not 0."""
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command(command, *map(str, arguments), stdout=io.StringIO(), stderr=err)
    return err.getvalue()


def file(folder: Path, content: bytes | Any, name: str = "blocks") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def slots() -> list[int]:
    return list(Block.objects.order_by("slot").values_list("slot", flat=True))


def linked_blocks(*numbers: int, parent: int = sample.PARENT) -> list[Any]:
    """getBlock results of these slots, each the parent of the next."""
    blocks, previous = [], sample.PREVIOUS
    for number in numbers:
        blockhash = b58encode(number.to_bytes(32))
        block = {**sample.block_json("base64"), "blockhash": blockhash, "transactions": []}
        block |= {"previousBlockhash": previous, "parentSlot": parent}
        blocks.append(block)
        parent, previous = number, blockhash
    return blocks


# Containers


def without_inner_slot(content: bytes) -> bytes:
    """A dbin whose blocks leave the slot to the container."""
    stream_of = plain(io.BytesIO(content))
    out = b"dbin\0SOL01"
    for message in dbin_messages(stream_of, 1 << 29):
        outer = schema.ContainedBlock.FromString(message)
        block = schema.ConfirmedBlock.FromString(outer.payload)
        block.ClearField("slot")
        outer.payload = block.SerializeToString()
        packed = outer.SerializeToString()
        out += len(packed).to_bytes(4) + packed
    return out


def test_a_dbin_block_without_a_slot_has_its_containers(tmp_path):
    run(file(tmp_path, without_inner_slot(sample.dbin_file((103,)))), "--genesis", "mainnet")
    assert slots() == [103]


def test_a_real_firehose_file_without_inner_slots_reads_as_before(fixtures, tmp_path):
    source = fixtures / "blocks" / "mainnet-55065000-55065099.dbin.zst"
    path = file(tmp_path, zstandard.compress(without_inner_slot(source.read_bytes())))
    with open_block_file(source) as expected, open_block_file(path) as found:
        pairs = list(zip(expected, found, strict=True))
    assert len(pairs) == 88 and all(left == right for left, right in pairs)


def version_one(payload_type: str, **change: Any) -> bytes:
    name = b"sf.solana.type.v1.Block"
    outer = schema.ContainedBlock(
        number=sample.SLOT,
        id=sample.BLOCKHASH,
        previous_id=sample.PREVIOUS,
        previous_number=sample.PARENT,
        typed_payload={
            "type_url": f"type.googleapis.com/{payload_type}",
            "value": sample.protobuf_file(),
        },
    )
    for field, value in change.items():
        setattr(outer, field, value)
    packed = outer.SerializeToString()
    return b"dbin\1" + len(name).to_bytes(2) + name + len(packed).to_bytes(4) + packed


def test_a_dbin_of_version_1_is_taken(rpc, tmp_path):
    run(file(tmp_path, version_one("sf.solana.type.v1.Block")), "--genesis", "mainnet")
    block = rpc(HISTORICAL, "getBlock", sample.SLOT, V0)["result"]
    assert block == sample.block_json("json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (version_one("sf.ethereum.type.v2.Block"), "is not Solana's"),
        (version_one("sf.solana.type.v1.Block", previous_number=7), "comes after 7"),
        (b"dbin\1\0\x19sf.ethereum.type.v1.Block", "another sort"),
    ],
)
def test_a_container_that_contradicts_its_block_is_refused(tmp_path, content, reason):
    assert reason in refused(file(tmp_path, content), "--genesis", "mainnet")
    assert not slots()


# Arrays, updates of the stream, single transactions


def test_an_array_of_answers_has_the_slots_that_its_blocks_name(rpc, tmp_path):
    blocks = linked_blocks(103, 105, 106)
    answers = [{"jsonrpc": "2.0", "id": n, "result": block} for n, block in enumerate(blocks)]
    skipped = {"jsonrpc": "2.0", "id": 9, "error": {"code": -32007, "message": "Slot was skipped"}}
    _, err = run(file(tmp_path, [*answers[:1], skipped, *answers[1:]]), "--genesis", "mainnet")
    assert slots() == [103, 105, 106]
    assert "[1]: Slot was skipped: passed over" in err
    assert "parentSlot + 1 = 106" in err  # nothing comes after it that names it


def test_an_array_of_bare_results_in_any_order_is_taken(tmp_path):
    blocks = linked_blocks(103, 105, 106)
    run(file(tmp_path, blocks[::-1]), "--genesis", "mainnet")
    assert slots() == [103, 105, 106]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], "found an array without any"),
        ([*linked_blocks(103), 7], "[1]: expected a getBlock response"),
        ([{"error": {"code": -32004, "message": "no"}}], "no block in it ([0]: no)"),
        ([*linked_blocks(103), {"parentSlot": "x"}], "[1], parentSlot: expected a number"),
    ],
)
def test_an_array_with_something_else_leaves_nothing(tmp_path, content, reason):
    assert reason in refused(file(tmp_path, content), "--genesis", "mainnet")
    assert not slots()


def block_update() -> Any:
    record = slot_record(sample.block_message(), sample.SLOT)
    update = messages.block(record, entry_count=1)
    for index, each in enumerate(record.transactions):
        update.transactions.append(messages.transaction_info(index, each))
    return update


def delimited(*contents: bytes) -> bytes:
    out = b""
    for content in contents:
        size = len(content)
        while size >= 0x80:
            out += bytes([size & 0x7F | 0x80])
            size >>= 7
        out += bytes([size]) + content
    return out


def updates() -> dict[str, bytes]:
    bare = block_update()
    wrapped = stream.SubscribeUpdate(filters=["blocks"], block=bare)
    unnamed = stream.SubscribeUpdate(block=bare)
    shuffled = block_update()
    infos = list(shuffled.transactions)[::-1]
    del shuffled.transactions[:]
    shuffled.transactions.extend(infos)
    return {
        "bare": bare.SerializeToString(),
        "update": wrapped.SerializeToString(),
        "without a filter's name": unnamed.SerializeToString(),
        "delimited": delimited(bare.SerializeToString()),
        "delimited updates": delimited(wrapped.SerializeToString()),
        "shuffled": shuffled.SerializeToString(),
    }


@pytest.mark.parametrize("kind", list(updates()))
def test_a_block_of_the_stream_is_taken(rpc, tmp_path, kind):
    run(file(tmp_path, zstandard.compress(updates()[kind])), "--genesis", "mainnet")
    assert rpc(HISTORICAL, "getBlock", sample.SLOT, V0)["result"] == sample.block_json("json")
    assert Import.objects.get().format == "SubscribeUpdateBlock protobuf"


def test_blocks_of_the_stream_behind_one_another_are_all_taken(tmp_path):
    first, second = block_update(), block_update()
    del second.transactions[:]
    second.executed_transaction_count = 0
    second.slot, second.parent_slot = 105, sample.SLOT
    second.parent_blockhash, second.blockhash = sample.BLOCKHASH, b58encode(bytes([6]) * 32)
    content = delimited(first.SerializeToString(), second.SerializeToString())
    run(file(tmp_path, content), "--genesis", "mainnet")
    assert slots() == [103, 105]
    assert "message 2" in refused(file(tmp_path, content[:-3]), "--genesis", "mainnet")


def test_a_block_of_the_stream_without_all_its_transactions_is_refused(tmp_path):
    update = block_update()
    del update.transactions[0]
    told = refused(file(tmp_path, update.SerializeToString()), "--genesis", "mainnet")
    assert "1 of the block's 2; subscribe with include_transactions" in told


def test_a_single_transaction_is_refused_by_name(fixtures, tmp_path):
    folder = fixtures / "transactions"
    answers = [
        *folder.glob("explorer/*.json"),
        *folder.glob("pumpfun/raw_*_from_gettransaction.json"),
        *folder.glob("tx-parser/*_swap_0.json"),
    ]
    assert len(answers) > 8
    for path in answers:
        told = refused(path, "--genesis", "mainnet")
        assert "a getTransaction answer: one transaction and not its block; fetch getBlock" in told
    update = folder / "vixen" / "mainnet-420181274.subscribe_update_transaction.pb"
    assert "a SubscribeUpdateTransaction" in refused(update, "--genesis", "mainnet")
    assert not slots()


# CAR files


def test_a_car_file_asks_the_ledger_for_the_block_before(tmp_path):
    records = chain(*((slot, slot - 1) for slot in range(100, 110)))
    first = file(tmp_path, car_of(records[:5]), "epoch-0-1.car")
    second = file(tmp_path, car_of(records[5:]), "epoch-0-2.car")
    told = refused(second, "--genesis", "mainnet")
    assert "slot 105: not taken: its previous blockhash is that of slot 104" in told
    assert "1 block of this file could not be imported" in told
    assert slots() == [106, 107, 108, 109]
    assert "slot 100: not taken" in refused(first, "--genesis", "mainnet")
    out, err = run(second)
    assert slots() == list(range(101, 110)) and err == ""
    assert "1 block imported with 0 transactions, 4 there already" in out


# One chain in one database


def test_without_a_genesis_hash_nothing_enters_first(tmp_path):
    told = refused(file(tmp_path, sample.json_file(), f"{sample.SLOT}.json"))
    assert "its chain is unknown" in told and "--genesis" in told
    assert not slots() and chain_identity.known() == ""


def test_the_first_file_names_the_chain_and_another_is_refused(tmp_path):
    path = file(tmp_path, linked_blocks(103, 104), "two.json")
    run(path, "--genesis", "mainnet")
    assert chain_identity.known() == MAINNET
    far = file(tmp_path, sample.json_file(), "900.json")
    for command in ("import_blocks", "import_epoch"):
        told = refused(far, "--genesis", OTHER, command=command)
        assert f"its genesis hash is {OTHER}, and the stored data comes from {MAINNET}" in told
    assert slots() == [103, 104]
    run(path)  # there already: it is of this chain


def test_a_file_that_links_to_what_is_stored_needs_no_genesis_hash(tmp_path):
    blocks = linked_blocks(103, 105, 106, 108)
    run(file(tmp_path, blocks[1], "105.json"), "--genesis", "mainnet")
    run(file(tmp_path, blocks[2], "106.json"))  # its parent is stored
    run(file(tmp_path, blocks[0], "103.json"))  # its child is
    assert slots() == [103, 105, 106]
    unlinked = {**blocks[3], "parentSlot": 107, "previousBlockhash": sample.PREVIOUS}
    told = refused(file(tmp_path, unlinked, "108.json"))
    assert (
        f"it links to no stored block. If it is from the stored chain, add --genesis {MAINNET}"
        in told
    )
    run(file(tmp_path, unlinked, "108.json"), "--genesis", "mainnet")
    assert slots() == [103, 105, 106, 108]


def test_a_block_that_contradicts_its_neighbours_is_refused(tmp_path):
    blocks = linked_blocks(103, 105, 106)
    run(file(tmp_path, blocks[1], "105.json"), "--genesis", "mainnet")
    child = {**blocks[2], "previousBlockhash": sample.PREVIOUS}
    told = refused(file(tmp_path, child, "106.json"), "--genesis", "mainnet")
    assert "but the block of slot 105 here is" in told and "another chain" in told
    parent = {**blocks[0], "blockhash": b58encode(bytes([3]) * 32)}
    told = refused(file(tmp_path, parent, "103.json"), "--genesis", "mainnet")
    assert "but the block stored for slot 105 comes after" in told
    told = refused(
        file(tmp_path, [blocks[2], {**child, "parentSlot": 106}]), "--genesis", "mainnet"
    )
    assert "another chain" in told
    assert slots() == [105]


def test_a_refused_file_names_no_chain(tmp_path):
    broken = {**linked_blocks(103)[0], "blockTime": "noon"}
    refused(file(tmp_path, broken, "103.json"), "--genesis", OTHER)
    assert chain_identity.known() == ""
    run(file(tmp_path, linked_blocks(103), "103.json"), "--genesis", "mainnet")


@pytest.mark.parametrize("word", ["", "main", str(Hash.default())[:-2]])
def test_a_word_that_is_no_genesis_hash_is_refused(tmp_path, word):
    with pytest.raises(CommandError, match="neither a genesis hash nor one of mainnet"):
        run(file(tmp_path, linked_blocks(103)), f"--genesis={word}")


def test_a_database_that_followed_a_chain_keeps_to_it(tmp_path):
    ArchiveState.objects.create(id=1, filters_set_for=OTHER)
    told = refused(file(tmp_path, linked_blocks(103)), "--genesis", "mainnet")
    assert f"comes from {OTHER}" in told
    with pytest.raises(OtherChain):
        chain_identity.claim(MAINNET, source="a file", now=timezone.now())
