"""One block in four forms: Geyser messages, getBlock JSON, a CAR epoch, ConfirmedBlock protobuf."""

import base64
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain.blocks import Granularity, SlotRecord
from chain.units import Slot
from tests.localnet_process import Localnet, running_localnet
from tests.upstream import car_files, old_faithful_files
from upstream.archives.block_files import open_block_file
from upstream.archives.confirmed_block import slot_record
from upstream.geyser import messages
from upstream.geyser.assembly import Assembler
from upstream.geyser.client import GeyserStream
from upstream.geyser.events import SlotClosed
from upstream.geyser.messages import slot_record as assembled
from upstream.geyser.updates import BlockMetaUpdate, TransactionUpdate
from upstream.node import Node
from upstream.old_faithful.history import History
from upstream.old_faithful.ranges import Archive
from upstream.protobuf import confirmed_block_pb2 as schema
from upstream.protobuf import geyser_pb2 as stream_schema

PAYER = Keypair.from_seed(b"four forms".ljust(32))


@dataclasses.dataclass
class Streamed:
    """A slot as the stream gave it: the assembled record, and the messages it was made of."""

    record: SlotRecord
    meta: Any
    transactions: list[Any]


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=60) as localnet:
        yield localnet


def send(localnet: Localnet, lamports: int) -> str:
    """A transfer without preflight; one of more than there is fails on chain."""
    blockhash = Hash.from_string(localnet.call("getLatestBlockhash")["value"]["blockhash"])
    instruction = transfer(
        TransferParams(
            from_pubkey=PAYER.pubkey(), to_pubkey=Pubkey(bytes([9]) * 32), lamports=lamports
        )
    )
    message = MessageV0.try_compile(PAYER.pubkey(), [instruction], [], blockhash)
    wire = base64.b64encode(bytes(VersionedTransaction(message, [PAYER]))).decode()
    config = {"encoding": "base64", "skipPreflight": True}
    return str(localnet.call("sendTransaction", wire, config))


@pytest.fixture(scope="module")
def streamed(localnet: Localnet) -> list[Streamed]:
    """Consecutive slots of localnet with an airdrop, transfers and a failed one among them."""
    assembler, closed = Assembler(), []
    transactions: dict[int, dict[int, Any]] = {}
    metas: dict[int, Any] = {}
    wanted: set[str] = set()
    seen: set[str] = set()
    with GeyserStream(localnet.geyser_url) as stream:
        for update in stream:
            if isinstance(update, (TransactionUpdate, BlockMetaUpdate)):
                message = stream_schema.SubscribeUpdate.FromString(update.packed)
                if isinstance(update, TransactionUpdate):
                    info = message.transaction.transaction
                    transactions.setdefault(update.slot, {})[info.index] = info
                else:
                    metas[update.slot] = message.block_meta
            for event in assembler.feed(update):
                if isinstance(event, SlotClosed):
                    assert event.reason == ""
                    record = assembled(event.closed)
                    closed.append(record)
                    seen.update(_signatures(record))
                    assert len(closed) < 1_000, "what was sent does not arrive"
            if len(closed) == 1 and not wanted:
                wanted.add(localnet.call("requestAirdrop", str(PAYER.pubkey()), 10**9))
            elif len(wanted) == 1 and wanted <= seen:
                wanted |= {send(localnet, each) for each in (1_000_000, 2_000_000, 10**12)}
            elif len(wanted) == 4 and wanted <= seen:
                break
    return [
        Streamed(
            each,
            metas[each.slot],
            [info for _index, info in sorted(transactions.get(each.slot, {}).items())],
        )
        for each in closed
    ]


def _signatures(record: SlotRecord) -> list[str]:
    return [
        str(VersionedTransaction.from_bytes(each.wire).signatures[0])
        for each in record.transactions
    ]


def of_ledger(record: SlotRecord) -> SlotRecord:
    """What every form has: all but the account writes."""
    return dataclasses.replace(record, account_writes=None, granularity=Granularity.WRITE)


def test_the_stream_proves_every_write_and_has_what_was_sent(streamed: list[Streamed]) -> None:
    assert all(each.record.granularity is Granularity.WRITE for each in streamed)
    assert all(each.record.account_writes for each in streamed)
    metas = [tx.meta for each in streamed for tx in each.record.transactions]
    failed = [meta for meta in metas if meta is not None and meta["err"] is not None]
    assert len(failed) == 1 and len(metas) >= 4


def test_get_block_gives_the_streams_block(localnet: Localnet, streamed: list[Streamed]) -> None:
    node = Node(localnet.url)
    for each in streamed:
        assert node.block(each.record.slot) == of_ledger(each.record)


def test_confirmed_block_gives_the_streams_block(streamed: list[Streamed]) -> None:
    for each in streamed:
        assert slot_record(_confirmed(each), each.record.slot) == of_ledger(each.record)


def test_a_car_epoch_gives_the_streams_blocks(streamed: list[Streamed], tmp_path: Path) -> None:
    writer = car_files.Writer(frame=200)
    for each in streamed:
        block = _confirmed(each)
        rewards = schema.Rewards(rewards=block.rewards)
        if block.HasField("num_partitions"):
            rewards.num_partitions.CopyFrom(block.num_partitions)
        writer.block(each.record, [tx.meta for tx in each.transactions], rewards)
    first, last = streamed[0].record, streamed[-1].record
    path = tmp_path / "epoch-0.car.zst"
    path.write_bytes(writer.finished(first.slot, last.slot))
    known = {first.parent_slot: first.previous_blockhash}
    with open_block_file(path, blockhash_of=known.get) as blocks:
        assert list(blocks) == [of_ledger(each.record) for each in streamed]
        assert blocks.warnings == []


def test_an_archive_gives_the_streams_blocks_by_ranges(
    streamed: list[Streamed], tmp_path: Path
) -> None:
    expected = [of_ledger(each.record) for each in streamed]
    contents = [
        old_faithful_files.confirmed(each, _confirmed(other))
        for each, other in zip(expected, streamed, strict=True)
    ]
    old_faithful_files.publish(tmp_path, contents, frame=200)
    archive = Archive(f"file://{tmp_path}", timeout_seconds=20, cache_bytes=1 << 24)
    history = History(archive, network="mainnet")
    assert [history.block(each.slot) for each in expected[1:]] == expected[1:]
    first, last = expected[0].slot, expected[-1].slot
    assert history.slots_between(first, last, 10_000) == [each.slot for each in expected]
    for record in expected[1:]:
        for index, transaction in enumerate(record.transactions):
            found = history.transaction(transaction.signature, [0])
            assert found is not None
            assert (found.slot, found.index, found.record) == (record.slot, index, transaction)


def _confirmed(streamed: Streamed) -> Any:
    """The stream's messages as a ConfirmedBlock, whose parts have the stream's own shape."""
    meta = streamed.meta
    block = schema.ConfirmedBlock(
        blockhash=meta.blockhash,
        previous_blockhash=meta.parent_blockhash,
        parent_slot=meta.parent_slot,
    )
    for name in ("block_time", "block_height"):
        if meta.HasField(name):
            getattr(block, name).ParseFromString(getattr(meta, name).SerializeToString())
    rewards = schema.Rewards.FromString(meta.rewards.SerializeToString())
    block.rewards.extend(rewards.rewards)
    if rewards.HasField("num_partitions"):
        block.num_partitions.CopyFrom(rewards.num_partitions)
    for info in streamed.transactions:
        added = block.transactions.add()
        added.transaction.ParseFromString(info.transaction.SerializeToString())
        added.meta.ParseFromString(info.meta.SerializeToString())
    return block


FIXTURES = [
    ("mainnet-332254855.confirmedblock.pb.zst", 332254855),
    ("mainnet-43200000.confirmedblock.pb.zst", 43200000),
]


@pytest.mark.parametrize(("name", "slot"), FIXTURES)
def test_mainnets_blocks_are_the_same_in_a_car(
    fixtures: Path, tmp_path: Path, name: str, slot: int
) -> None:
    packed = (fixtures / "blocks" / name).read_bytes()
    block = schema.ConfirmedBlock.FromString(
        zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    )
    record = slot_record(block, Slot(slot))
    path = tmp_path / "epoch.car"
    path.write_bytes(car_files.of_confirmed(record, block, frame=1_000))
    known = {record.parent_slot: record.previous_blockhash}
    with open_block_file(path, blockhash_of=known.get) as blocks:
        assert list(blocks) == [record]


def test_mainnets_json_is_the_same_block_in_the_other_forms(fixtures: Path, tmp_path: Path) -> None:
    # 602 transactions: lookup tables, token balances, return data, errors.
    with open_block_file(fixtures / "blocks" / "mainnet-254170887.base64.json.gz") as blocks:
        (source,) = blocks
    infos = [messages.transaction_info(index, tx) for index, tx in enumerate(source.transactions)]
    assert [messages.transaction_of(info) for info in infos] == source.transactions
    streamed = Streamed(source, messages.block_meta(source, entry_count=1), infos)
    block = _confirmed(streamed)
    assert slot_record(block, source.slot) == source
    path = tmp_path / "epoch.car"
    path.write_bytes(car_files.of_confirmed(source, block, frame=700))
    known = {source.parent_slot: source.previous_blockhash}
    with open_block_file(path, blockhash_of=known.get) as blocks:
        assert list(blocks) == [source]
