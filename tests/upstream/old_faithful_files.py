"""Writes an archive of CAR epochs as it is published: each epoch's CAR, its CID and its indexes."""

import base64
import hashlib
import itertools
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import libipld
import numpy as np
import xxhash
from solders.hash import Hash

from chain.blocks import SlotRecord
from chain.transactions import first_signature
from tests.upstream.car_files import Link, Writer, leb128
from upstream.protobuf import confirmed_block_pb2 as schema

SLOTS = 432_000
_PLACEHOLDER = bytes(32)


class EpochWriter(Writer):
    """A CAR whose Subset links its blocks and whose header names its Epoch node."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.blocks: list[Link] = []

    def node(self, value: Any) -> Link:
        link = super().node(value)
        if value[0] == 2:
            self.blocks.append(link)
        return link

    def rooted(self, first: int, last: int) -> tuple[bytes, bytes]:
        """The whole file, and its root CID."""
        subset = self.node([3, first, last, list(self.blocks)])
        root = self.node([4, first // SLOTS, [subset]])
        start = b"\x01\x71\x12\x20"
        content = bytes(self.out).replace(start + _PLACEHOLDER, bytes(root), 1)
        return content, bytes(root)


def empty_blocks(*slots: tuple[int, int]) -> list[SlotRecord]:
    """Blocks without transactions of (slot, parent), each with a blockhash of its own."""

    def blockhash(slot: int) -> str:
        return str(Hash(hashlib.sha256(b"remote block %d" % slot).digest()))

    return [
        SlotRecord(
            slot=slot,
            parent_slot=parent,
            blockhash=blockhash(slot),
            previous_blockhash=blockhash(parent),
            block_time=1_600_000_000 + slot,
            block_height=slot,
            transactions=[],
            rewards=[],
        )
        for slot, parent in slots
    ]


Content = tuple[SlotRecord, Sequence[Any], Any]


def bare(record: SlotRecord) -> Content:
    """A block without transactions, to be written."""
    return (record, [], None)


def confirmed(record: SlotRecord, block: Any) -> Content:
    """A block with the metas and the rewards of its ConfirmedBlock message."""
    metas = [each.meta if each.HasField("meta") else None for each in block.transactions]
    rewards = schema.Rewards(rewards=block.rewards)
    if block.HasField("num_partitions"):
        rewards.num_partitions.CopyFrom(block.num_partitions)
    return (record, metas, rewards)


def publish(
    folder: Path,
    contents: Sequence[Content],
    *,
    signatures: bool = True,
    exists: bool = False,
    others: int = 0,
    **options: Any,
) -> Path:
    """Writes the epoch of these blocks, lowest first, into the archive; returns its folder. With
    `exists` it has the index of the signatures that exist, too.
    """
    writer = EpochWriter(**options)
    for record, metas, rewards in contents:
        writer.block(record, metas, rewards)
    first, last = contents[0][0].slot, contents[-1][0].slot
    car, root = writer.rooted(first, last)
    indexes = {"signatures": signatures, "exists": exists}
    return publish_car(folder, first // SLOTS, car, root, others=others, **indexes)


def publish_car(
    folder: Path,
    epoch: int,
    car: bytes,
    root: bytes,
    *,
    network: str = "mainnet",
    signatures: bool = True,
    exists: bool = False,
    others: int = 0,
) -> Path:
    """The same of a whole CAR. With `others` the indexes have so many made entries besides, and one
    for each slot outside of the CAR's, so that they are read as those of a whole epoch are.
    """
    places: dict[bytes, bytes] = {}
    slots: dict[bytes, bytes] = {}
    named: dict[bytes, bytes] = {}
    for offset, size, cid, data in sections(car):
        places[cid] = offset.to_bytes(6, "little") + size.to_bytes(3, "little")
        node = libipld.decode_dag_cbor(data)
        if node[0] == 2:
            slots[node[1].to_bytes(8, "little")] = cid
        elif node[0] == 0:
            named[first_signature(node[1][4])] = cid  # it stands in the first frame
    if others:
        own = {int.from_bytes(slot, "little") for slot in slots}
        for slot in range(epoch * SLOTS, (epoch + 1) * SLOTS):
            if not min(own) <= slot <= max(own):
                slots[slot.to_bytes(8, "little")] = _made(b"slot %d" % slot)
        for number in range(others):
            places[_made(b"node %d" % number)] = bytes(9)
            named[_made(b"signature %d" % number).ljust(64)] = _made(b"node %d" % number)
    target = folder / str(epoch)
    target.mkdir(parents=True, exist_ok=True)
    (target / f"epoch-{epoch}.car").write_bytes(car)
    text = "b" + base64.b32encode(root).decode().lower().rstrip("=")
    (target / f"epoch-{epoch}.cid").write_text(text)
    kinds = {"slot-to-cid": (slots, SLOTS), "cid-to-offset-and-size": (places, len(places))}
    if signatures:
        kinds["sig-to-cid"] = (named, max(len(named), 1))
    for kind, (pairs, items) in kinds.items():
        metadata = {
            "epoch": epoch.to_bytes(8, "little"),
            "rootCid": root,
            "network": network.encode(),
            "kind": kind.encode(),
        }
        path = target / f"epoch-{epoch}-{text}-{network}-{kind}.index"
        path.write_bytes(index_file(pairs, metadata, items, 9 if "offset" in kind else 36))
    if exists:
        del metadata["kind"]
        path = target / f"epoch-{epoch}-{text}-{network}-sig-exists.index"
        path.write_bytes(filter_file(named, metadata))
    return target


def _made(of: bytes) -> bytes:
    return b"\x01\x71\x12\x20" + hashlib.sha256(of).digest()


def sections(car: bytes) -> Any:
    """(offset, size, CID, data) of each section."""
    at = _number(car, 0)[1] + _number(car, 0)[0]
    while at < len(car):
        length, start = _number(car, at)
        yield at, start - at + length, car[start : start + 36], car[start + 36 : start + length]
        at = start + length


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(10):
        value |= (data[at + index] & 0x7F) << 7 * index
        if data[at + index] < 0x80:
            break
    assert data[at : at + index + 1] == leb128(value)
    return value, at + index + 1


def index_file(
    pairs: dict[bytes, bytes], metadata: dict[str, bytes], items: int, value_size: int
) -> bytes:
    """compactindexsized: header, table of buckets, the buckets' entries."""
    count = -(-items // 10_000)
    buckets: list[dict[bytes, bytes]] = [{} for _ in range(count)]
    for key, value in pairs.items():
        buckets[xxhash.xxh64_intdigest(key) % count][key] = value
    words = bytes([len(metadata)])
    for name, value in metadata.items():
        words += bytes([len(name)]) + name.encode() + bytes([len(value)]) + value
    rest = value_size.to_bytes(8, "little") + count.to_bytes(4, "little") + b"\1" + words
    header = b"compiszd" + len(rest).to_bytes(4, "little") + rest
    offset = len(header) + 16 * count
    table, body = b"", b""
    for bucket in buckets:
        domain, entries = _mined(bucket)
        place = (offset + len(body)).to_bytes(6, "little")
        table += domain.to_bytes(4, "little") + len(bucket).to_bytes(4, "little") + b"\3\0" + place
        body += b"".join(hashed.to_bytes(3, "little") + value for hashed, value in entries)
    return header + table + body


def filter_file(signatures: Iterable[bytes], metadata: dict[str, bytes]) -> bytes:
    """bucketteer 2: header, table of the prefixes of signatures, the hashes of each."""
    hashes: dict[int, list[int]] = {}
    for each in signatures:
        prefix = int.from_bytes(each[:2], "little")
        hashes.setdefault(prefix, []).append(xxhash.xxh64_intdigest(each))
    words = bytes([len(metadata)])
    for name, value in metadata.items():
        words += bytes([len(name)]) + name.encode() + bytes([len(value)]) + value
    counts = np.zeros(65_536, "<u4")
    for prefix, found in hashes.items():
        counts[prefix] = len(found)
    # Each prefix has its count and its hashes in the body, one behind the other.
    places = np.zeros(65_536, [("prefix", "<u2"), ("at", "<u8")])
    places["prefix"] = np.arange(65_536)
    places["at"][1:] = np.cumsum(4 + 8 * counts.astype("<u8"))[:-1]
    table, body = places.tobytes(), bytearray(4 * 65_536 + 8 * int(counts.sum()))
    for prefix, found in hashes.items():
        ordered, at = _tree(sorted(found)), int(places["at"][prefix])
        body[at : at + 4 + 8 * len(ordered)] = struct.pack(
            f"<I{len(ordered)}Q", len(ordered), *ordered
        )
    rest = b"buckette" + (2).to_bytes(8, "little") + words + (65_536).to_bytes(8, "little")
    return (len(rest) + len(table)).to_bytes(4, "little") + rest + table + body


def _mined(bucket: dict[bytes, bytes]) -> tuple[int, list[tuple[int, bytes]]]:
    """A hash domain in which no two keys have one hash, and the entries as a search tree."""
    for domain in itertools.count():
        block = domain.to_bytes(4, "little") + bytes(28)
        hashed = {
            xxhash.xxh64_intdigest(block + key) & 0xFFFFFF: value for key, value in bucket.items()
        }
        if len(hashed) == len(bucket):
            break
    return domain, _tree(sorted(hashed.items()))


def _tree(ordered: list[Any]) -> list[Any]:
    """The same as a search tree: entry i's children are 2 i + 1 and 2 i + 2."""
    out: list[Any] = [None] * len(ordered)
    following = iter(ordered)

    def fill(index: int) -> None:
        if index < len(out):
            fill(2 * index + 1)
            out[index] = next(following)
            fill(2 * index + 2)

    fill(0)
    return out


def damaged(path: Path, at: int, bit: int = 0) -> None:
    """Flips a bit of the file."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(bytes(content))
