"""A block out of an epoch's CAR: the sections between its parent's Block node and its own."""

from dataclasses import dataclass
from typing import Any

from chain.blocks import SlotRecord
from chain.leb128 import leb128
from chain.units import Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.car import CarBlocks, block_time, entry_hash
from upstream.archives.car_nodes import BLOCK, CID_SIZE, ENTRY, links, member
from upstream.archives.compression import ByteStream
from upstream.archives.errors import Unreadable
from upstream.old_faithful import layout
from upstream.old_faithful.epoch_files import EpochFiles
from upstream.old_faithful.errors import Damaged

LARGEST_BLOCK = 256 * 1_048_576
# Bytes before the parent's Block node that are read with it: its last Entry stands there, unless
# the rewards at an epoch's start come between them.
_TAIL = 16_384


@dataclass(frozen=True, slots=True)
class BlockNode:
    """A slot's Block node, checked against its CID. `block_time` is None where there was none."""

    slot: Slot
    parent_slot: Slot
    block_time: UnixTimestamp | None
    entries: list[Any]
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class CarBlock:
    """The sections of a block, its own Block node last, and its parent's blockhash as base58."""

    slot: Slot
    previous_blockhash: str
    sections: bytes

    def packed(self) -> bytes:
        """As bytes, for a cache."""
        return self.previous_blockhash.encode().ljust(64) + self.sections

    @classmethod
    def unpacked(cls, slot: Slot, data: bytes) -> "CarBlock":
        return cls(slot, data[:64].rstrip().decode(), data[64:])

    def record(self, path: str) -> SlotRecord:
        """The block, every node checked against its CID; raises Damaged."""
        stream = ByteStream(iter((self.sections,)))
        reader = CarBlocks(stream, LARGEST_BLOCK, lambda slot: self.previous_blockhash, inside=True)
        try:
            found = list(reader)
        except Unreadable as fault:
            raise Damaged(path, str(fault)) from None
        if [each.slot for each in found] != [self.slot]:
            raise Damaged(path, f"slot {self.slot}: its sections are not those of one block")
        return found[0]


def block_node(files: EpochFiles, slot: int) -> BlockNode | None:
    """The slot's Block node; None where the epoch has no block for it."""
    cid = files.cid_of_slot(slot)
    return None if cid is None else _node(files, cid, slot)


def slot_of_block(files: EpochFiles, cid: bytes) -> int:
    """The slot that a Block node itself names."""
    return checks.u64(member(files.node(cid, BLOCK, "a block"), 1), "a block's slot")


def car_block(files: EpochFiles, node: BlockNode, before: "EpochFiles | None") -> CarBlock:
    """The block of a Block node, in one range read where its parent is in the epoch. `before` is
    the epoch before this one, for the first block of an epoch.
    """
    end = node.offset + node.size
    own_parent = node.slot == 0  # slot 0 is its own parent
    if own_parent or layout.epoch_of(node.parent_slot) != files.epoch:
        sections = _range(files, files.header_size(), end)
        previous = "" if own_parent else _blockhash_before(files, node, before)
        return CarBlock(node.slot, previous, sections)
    parent = block_node(files, node.parent_slot)
    if parent is None or parent.offset + parent.size > node.offset:
        raise Damaged(files.slots.path, f"no block {node.parent_slot}, the parent of {node.slot}")
    start = max(parent.offset - _TAIL, 0)
    data = _range(files, start, end)
    own = parent.offset + parent.size - start
    previous = _blockhash(files, parent, data[: parent.offset - start])
    return CarBlock(node.slot, previous, data[own:])


def _node(files: EpochFiles, cid: bytes, slot: int) -> BlockNode | None:
    offset, size = files.place_of(cid)
    section = files.reading.cached(files.car, offset, size)
    node = files.node_at(cid, BLOCK, section)
    try:
        if checks.u64(member(node, 1), "a block's slot") != slot:
            return None  # the index has no such slot: see compact_index
        meta = member(node, 4)
        if not isinstance(meta, list) or len(meta) < 2:
            raise Unreadable("meta", "expected [parent_slot, blocktime, block_height]")
        parent = checks.u64(meta[0], "meta.parent_slot")
        entries = links(member(node, 3), "entries")
        if (parent >= slot and slot != 0) or not entries:
            raise Unreadable("", f"a block of {len(entries)} entries after slot {parent}")
        time = block_time(meta[1])
    except Unreadable as fault:
        raise Damaged(files.car, str(fault.inside(f"slot {slot}"))) from None
    return BlockNode(Slot(slot), Slot(parent), time, entries, offset, size)


def _range(files: EpochFiles, start: int, end: int) -> bytes:
    if not 0 < end - start <= LARGEST_BLOCK:
        raise Damaged(files.car, f"a block of {end - start} bytes from {start}")
    return files.reading.read(files.car, start, end - start)


def _blockhash_before(files: EpochFiles, node: BlockNode, before: EpochFiles | None) -> str:
    parent = None if before is None else block_node(before, node.parent_slot)
    if before is None or parent is None:
        raise Damaged(files.car, f"no block {node.parent_slot}, the parent of {node.slot}")
    return _blockhash(before, parent, b"")


def _blockhash(files: EpochFiles, node: BlockNode, bytes_before: bytes) -> str:
    """The hash of the block's last entry, from the bytes before its Block node if it is there."""
    cid = node.entries[-1]
    entry = None
    if isinstance(cid, bytes) and len(cid) == CID_SIZE:
        section = _section_in(bytes_before, cid)
        entry = None if section is None else files.node_at(cid, ENTRY, section)
    try:
        return entry_hash(files.node(cid, ENTRY, "entries") if entry is None else entry)
    except Unreadable as fault:
        raise Damaged(files.car, str(fault.inside(f"slot {node.slot}"))) from None


def _section_in(data: bytes, cid: bytes) -> bytes | None:
    """The section of a CID, which is behind its length of one to three bytes."""
    at = data.rfind(cid)
    for size in (1, 2, 3):
        if at < size:
            return None
        length, taken = leb128(data[at - size : at])
        if taken == size and length > CID_SIZE and at + length <= len(data):
            return data[at - size : at + length]
    return None
