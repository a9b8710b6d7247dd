"""CAR epochs (Old Faithful): one pass over the file, one block in memory → SlotRecord."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import libipld
from google.protobuf.message import DecodeError
from solders.hash import Hash

from chain.blocks import CURRENT_FORM, SlotRecord, TransactionRecord
from chain.leb128 import LONGEST, leb128
from chain.transactions import BadTransaction, decode_wire, sanitize
from chain.units import I64_MAX, Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.car_nodes import (
    BLOCK,
    CID_SIZE,
    CID_START,
    ENTRY,
    EPOCH,
    KINDS,
    REWARDS,
    SUBSET,
    TRANSACTION,
    LinkedNodes,
    Nodes,
    decoded,
    link,
    links,
    member,
    payload,
    unpacked,
)
from upstream.archives.compression import ByteStream
from upstream.archives.errors import Unreadable
from upstream.archives.status_meta import loaded_keys, meta_json, rewards_of, was_recorded
from upstream.archives.stored_meta import stored_meta, stored_rewards
from upstream.protobuf import confirmed_block_pb2 as schema

# The blockhash of a slot's block as someone else knows it, None where there is none.
BlockhashOf = Callable[[Slot], str | None]

# The map's keys stand in the order of their length.
_HEADER = re.compile(rb"[\x10-\x7f\x80-\xff]{1,2}\xa2\x65roots", re.DOTALL)
_LARGEST_HEADER = 1 << 14
_LARGEST_SECTION = 32 * 1024 * 1024
_WARNINGS_KEPT = 1_000


def is_car(start: bytes) -> bool:
    """Whether a file's first bytes are a CAR header: a length, then a map of `roots` and
    `version`.
    """
    return _HEADER.match(start) is not None


class CarBlocks:
    """The blocks of a CAR stream, in order. `known` counts those that were passed over because
    `blockhash_of` knew them by the same blockhash, `not_taken` those that could not be taken;
    `warnings` names the latter.

    A block's previous blockhash is that of its parent: of the block before it in the file, or else
    what `blockhash_of` says. `inside`: the stream is a part of a file, without its header.
    """

    def __init__(
        self, stream: ByteStream, most: int, blockhash_of: BlockhashOf, *, inside: bool = False
    ) -> None:
        self.known = 0
        self.not_taken = 0
        self.warnings: list[str] = []
        self._stream = stream
        self._most = most
        self._blockhash_of = blockhash_of
        self._inside = inside
        self._before: tuple[Slot, str] | None = None

    def __iter__(self) -> Iterator[SlotRecord]:
        if not self._inside:
            _read_header(self._stream)
        nodes = Nodes(self._most)
        while (section := _section(self._stream)) is not None:
            cid, data = section[:CID_SIZE], section[CID_SIZE:]
            kind = _kind(cid, data)
            if kind == BLOCK:
                record = self._block(decoded(cid, data, BLOCK, "a block"), nodes)
                nodes.clear()
                if record is not None:
                    yield record
            elif kind not in (SUBSET, EPOCH):
                nodes.add(cid, data)
        if nodes.sections:
            raise Unreadable(_after(self._before), "the file ends inside the next block")

    def _block(self, block: list[Any], nodes: Nodes) -> SlotRecord | None:
        slot = Slot(checks.u64(member(block, 1), "a block's slot"))
        try:
            entries = links(member(block, 3), "entries")
            if not entries:
                raise Unreadable("entries", "a block without entries has no blockhash")
            blockhash = entry_hash(nodes.node(entries[-1], ENTRY, f"entries[{len(entries) - 1}]"))
            before, self._before = self._before, (slot, blockhash)
            if self._blockhash_of(slot) == blockhash:
                self.known += 1
                return None
            meta = member(block, 4)
            if not isinstance(meta, list) or len(meta) < 2:
                raise Unreadable("meta", "expected [parent_slot, blocktime, block_height]")
            parent_slot = Slot(checks.u64(meta[0], "meta.parent_slot"))
            if parent_slot >= slot and slot != 0:
                raise Unreadable("meta.parent_slot", f"{parent_slot} is not before the slot")
            previous = self._previous(slot, parent_slot, blockhash, before)
            if previous is None:
                self.not_taken += 1
                self._warn(
                    f"slot {slot}: not taken: its previous blockhash is that of slot {parent_slot},"
                    " which stands neither before it in the file nor in the ledger. Import the file"
                    f" with slot {parent_slot}, then this one again"
                )
                return None
            rewards, partitions = _rewards(link(member(block, 5)), nodes)
            return SlotRecord(
                slot=slot,
                parent_slot=parent_slot,
                blockhash=blockhash,
                previous_blockhash=previous,
                block_time=block_time(meta[1]),
                block_height=_block_height(slot, member(meta, 2)),
                transactions=list(_transactions(slot, entries, nodes)),
                rewards=rewards,
                reward_partitions=partitions,
                form=CURRENT_FORM,
            )
        except Unreadable as fault:
            raise fault.inside(f"slot {slot}") from None

    def _previous(
        self, slot: Slot, parent: Slot, blockhash: str, before: tuple[Slot, str] | None
    ) -> str | None:
        if slot == 0:
            # Slot 0 is its own parent, and so is its blockhash: this is what nodes answer.
            return blockhash
        if before is not None and before[0] == parent:
            return before[1]
        return self._blockhash_of(parent)

    def _warn(self, text: str) -> None:
        if len(self.warnings) < _WARNINGS_KEPT:
            self.warnings.append(text)


def _after(before: tuple[Slot, str] | None) -> str:
    return "" if before is None else f"after slot {before[0]}"


def _read_header(stream: ByteStream) -> None:
    size = _length(stream, _LARGEST_HEADER)
    data = stream.read(size or 0)
    if size is None or len(data) < size:
        raise Unreadable("", "the CAR header ends too early")
    try:
        header = libipld.decode_dag_cbor(data)
    except (ValueError, RecursionError):
        raise Unreadable("", "the CAR header is damaged") from None
    if not isinstance(header, dict) or header.get("version") != 1:
        raise Unreadable("", "not a CAR of version 1")


def _section(stream: ByteStream) -> bytes | None:
    """The next section, its CID first; None at the end."""
    size = _length(stream, _LARGEST_SECTION)
    if size is None:
        return None
    section = stream.read(size)
    if len(section) < size:
        raise Unreadable("", "the file ends inside a section")
    if size <= CID_SIZE + 1:
        raise Unreadable("", f"a section of {size} bytes holds no node")
    return section


def _length(stream: ByteStream, most: int) -> int | None:
    """An unsigned LEB128 number; None where the stream ends before it."""
    start = stream.peek(LONGEST)
    if not start:
        return None
    value, width = leb128(start)
    if width == 0:
        raise Unreadable("", "the length of a section is damaged, or the file ends inside it")
    if value > most:
        raise Unreadable("", f"a section of {value} bytes is larger than any is")
    stream.read(width)
    return value


def _kind(cid: bytes, data: bytes) -> int:
    # A short array's first byte is 0x80 + its length; a small number is itself.
    if not cid.startswith(CID_START) or data[0] & 0xE0 != 0x80 or data[1] not in KINDS:
        raise Unreadable("", "a section that is no node of an epoch")
    return data[1]


def entry_hash(entry: list[Any]) -> str:
    """An Entry's hash, as base58: that of a block's last one is the blockhash."""
    value = member(entry, 2)
    if not isinstance(value, bytes) or len(value) != 32:
        raise Unreadable("entries", "expected a hash of 32 bytes")
    return str(Hash.from_bytes(value))


def block_time(value: Any) -> UnixTimestamp | None:
    """The time in a Block's meta, None where the ledger had none."""
    time = checks.u64_or_none(value, "meta.blocktime")
    if time is not None and time > I64_MAX:
        raise Unreadable("meta.blocktime", "expected a number up to 2^63-1")
    # Zero stands where the ledger had no time.
    return UnixTimestamp(time) if time else None


def _block_height(slot: Slot, value: Any) -> int | None:
    height = checks.u64_or_none(value, "meta.block_height")
    return 0 if slot == 0 else height


def _transactions(slot: Slot, entries: list[Any], nodes: Nodes) -> Iterator[TransactionRecord]:
    position = 0
    for index, cid in enumerate(entries):
        entry = nodes.node(cid, ENTRY, f"entries[{index}]")
        for transaction in links(member(entry, 3) or [], f"entries[{index}].transactions"):
            place = f"transactions[{position}]"
            node = nodes.node(transaction, TRANSACTION, place)
            try:
                yield transaction_of(node, slot, position, nodes)
            except Unreadable as fault:
                raise Unreadable(f"{place}.{fault.place}".rstrip("."), fault.reason) from None
            position += 1


def transaction_of(
    node: list[Any], slot: Slot, position: int, nodes: LinkedNodes
) -> TransactionRecord:
    """A Transaction node's content; Unreadable where it is not of that slot and position."""
    if member(node, 3) != slot:
        raise Unreadable("slot", f"{member(node, 3)!r:.40} is declared")
    if member(node, 4) not in (None, position):
        raise Unreadable("index", f"{node[4]!r:.40} is declared")
    wire = payload(member(node, 1), nodes, "data")
    try:
        facts = decode_wire(wire)
        sanitize(facts)
    except BadTransaction as fault:
        raise Unreadable(f"data.{fault.place}".rstrip("."), fault.reason) from None
    packed = payload(member(node, 2), nodes, "metadata")
    if not packed:
        return TransactionRecord(facts, None)
    message = _message(unpacked(packed, "metadata"), schema.TransactionStatusMeta, stored_meta)
    if not was_recorded(message):
        return TransactionRecord(facts, None)
    meta = meta_json(message)
    checks.meta_fits(meta, facts)
    return TransactionRecord(facts, meta, loaded_keys(message))


def _rewards(cid: Any, nodes: Nodes) -> tuple[list[dict[str, Any]], int | None]:
    if cid is None:
        return [], None
    node = nodes.node(cid, REWARDS, "rewards")
    packed = payload(member(node, 2), nodes, "rewards")
    if not packed:
        return [], None
    try:
        message = _message(unpacked(packed, ""), schema.Rewards, stored_rewards)
    except Unreadable as fault:
        raise Unreadable("rewards", fault.reason) from None
    return rewards_of(message)


def _message(data: bytes, kind: Any, stored: Callable[[bytes], Any]) -> Any:
    """Protobuf first: no bincode form begins with a valid field number, and never the other way."""
    try:
        return kind.FromString(data)
    except DecodeError:
        return stored(data)
