"""Yellowstone gRPC for customers: entries, which are followed but not stored."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from solders.hash import Hash
from solders.pubkey import Pubkey

from livefeed.parts import Part
from tests.localnet.wallets import SOL, pay, send, signed, wallet
from tests.patience import wait
from tests.recorded_node import load
from tests.yellowstone.conftest import Geyser, Request
from upstream.geyser.updates import BlockMetaUpdate, EntryUpdate, update_of
from upstream.protobuf import geyser_pb2 as schema

LEVELS = tuple(schema.CommitmentLevel.values())
FINALIZED = schema.CommitmentLevel.FINALIZED


def check(entries: list[Any], meta: Any) -> None:
    """They are the whole block: every one, in order, and the last one's hash is the block's."""
    assert [each.index for each in entries] == list(range(meta.entries_count))
    begun = 0
    for each in entries:
        assert each.starting_transaction_index == begun
        begun += each.executed_transaction_count
    assert begun == meta.executed_transaction_count
    assert str(Hash(entries[-1].hash)) == meta.blockhash


def blocks_of(updates: list[Any]) -> dict[int, tuple[list[Any], Any]]:
    """The entries and the block's message of each slot whose message is there."""
    found = {}
    for update in updates:
        if update.HasField("block_meta"):
            slot = update.block_meta.slot
            entries = [each.entry for each in updates if each.HasField("entry")]
            found[slot] = [each for each in entries if each.slot == slot], update.block_meta
    return found


@pytest.mark.parametrize("commitment", LEVELS)
def test_a_block_has_all_its_entries(geyser: Geyser, commitment: Any) -> None:
    localnet = geyser.localnet
    payer = wallet(localnet, 100 * SOL)
    request = Request(
        entry={"one": {}, "other": {}},
        blocks_meta={"meta": {}},
        blocks={"block": {"include_entries": True, "include_transactions": False}},
        commitment=commitment,
    )
    with geyser.subscribed(request) as stream:
        stream.until(lambda update: update.HasField("block_meta"))
        send(localnet, signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer))
        found = stream.until(lambda update: update.block_meta.executed_transaction_count)
    for entries, meta in blocks_of(found).values():
        check(entries, meta)
    whole = [each.block for each in found if each.HasField("block")]
    assert whole
    for block in whole:
        check(list(block.entries), block)
    entry = next(each for each in found if each.HasField("entry"))
    assert set(entry.filters) == {"one", "other"} and entry.created_at.seconds


def test_they_are_replayed_as_far_as_the_feed_keeps_slots(geyser: Geyser) -> None:

    def finalized() -> int:
        return int(geyser.call("GetSlot", schema.GetSlotRequest(commitment=FINALIZED)).slot)

    wait(lambda: finalized() > 3, "some finalized slots")
    caught = finalized()
    request = Request(
        entry={"e": {}}, blocks_meta={"m": {}}, commitment=FINALIZED, from_slot=caught - 3
    )
    with geyser.subscribed(request) as stream:
        found = stream.until(lambda update: update.block_meta.slot > caught + 5)
    blocks = blocks_of(found)
    assert list(blocks) == list(range(caught - 3, max(blocks) + 1))
    for entries, meta in blocks.values():
        check(entries, meta)
    request.from_slot = 0
    with geyser.subscribed(request) as stream:
        refusal = stream.refusal()
    assert refusal.code() is grpc.StatusCode.OUT_OF_RANGE
    assert "from_slot_not_kept" in refusal.details()


def test_they_are_refused_where_they_are_not_followed(geyser: Geyser, settings: Any) -> None:
    settings.FOLLOW_ENTRIES = False
    for request, name in (
        (Request(entry={"e": {}}), "entry"),
        (Request(blocks={"b": {"include_entries": True}}), "blocks.b: include_entries"),
    ):
        with geyser.subscribed(request) as stream:
            refusal = stream.refusal()
        assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert f"{name}: entries are not followed here" in refusal.details()


@pytest.mark.parametrize(("version", "first"), [("4.1.2", 200), ("4.4.0", 600)])
def test_all_entries_are_known_where_a_node_counts_none(
    fixtures: Path, version: str, first: int
) -> None:
    """A recorded leader's blocks: `entries_count` is 0, the last entry has the block's hash."""
    parts: dict[int, Part] = {}
    for message in load(fixtures / f"agave-{version}", first, first + 10).messages:
        update = update_of(message.body)
        part = parts.setdefault(message.slot, Part())
        if isinstance(update, EntryUpdate):
            part.entries[update.place] = update.packed
        elif isinstance(update, BlockMetaUpdate):
            assert not update.entry_count
            part.put(update)
    blocks = [part for part in parts.values() if part.meta is not None]
    assert len(blocks) == 11 and all(part.has_entries for part in blocks)
    for part in blocks:
        missing = part.entries.pop(max(part.entries))
        assert not part.has_entries
        part.entries = dict(enumerate([*part.entries.values(), missing], start=1))
        assert not part.has_entries
