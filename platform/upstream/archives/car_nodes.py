"""The nodes of a CAR epoch (dag-cbor arrays) and the payloads that they carry in frames."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import libipld
import zstandard

from upstream.archives import checks
from upstream.archives.errors import Unreadable
from upstream.archives.frame_hashes import is_hash_of

TRANSACTION, ENTRY, BLOCK, SUBSET, EPOCH, REWARDS, DATA_FRAME = range(7)
KINDS = frozenset(range(7))
_NAMES = ("Transaction", "Entry", "Block", "Subset", "Epoch", "Rewards", "DataFrame")
# CID version 1, dag-cbor, sha2-256, 32 bytes; then the digest.
CID_START = b"\x01\x71\x12\x20"
CID_SIZE = 36
# An identity CID of nothing stands where a block has no rewards.
_NO_LINK = b"\x01\x55\x00\x00"
_LARGEST_PAYLOAD = 256 * 1024 * 1024
# Writers split a payload at about 1 MB, and the frames' links are a tree of small depth.
_MOST_FRAMES = 1_024


class LinkedNodes(Protocol):
    """Where links lead to."""

    def node(self, cid: Any, kind: int, place: str) -> list[Any]: ...


@dataclass(slots=True)
class Nodes:
    """Sections read and not used yet, by CID: what the next block is made of."""

    most: int
    sections: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0

    def add(self, cid: bytes, data: bytes) -> None:
        self.size += len(data) + CID_SIZE
        if self.size > self.most:
            raise Unreadable("", f"a block larger than {self.most} bytes is not read")
        self.sections[cid] = data

    def node(self, cid: Any, kind: int, place: str) -> list[Any]:
        """The node that a link leads to, checked against its CID and kind."""
        name = _NAMES[kind]
        if not isinstance(cid, bytes):
            raise Unreadable(place, f"expected a link to a node of kind {name}")
        data = self.sections.get(cid)
        if data is None:
            raise Unreadable(place, f"the {name} it links to does not come before it")
        return decoded(cid, data, kind, place)

    def clear(self) -> None:
        self.sections.clear()
        self.size = 0


def decoded(cid: bytes, data: bytes, kind: int, place: str) -> list[Any]:
    """A section's node; Unreadable when it is damaged, or of another kind."""
    if hashlib.sha256(data).digest() != cid[4:]:
        raise Unreadable(place, "the bytes do not have the hash of their CID")
    try:
        node = libipld.decode_dag_cbor(data)
    except (ValueError, RecursionError):
        raise Unreadable(place, "not dag-cbor") from None
    if not isinstance(node, list) or not node or node[0] != kind:
        raise Unreadable(place, f"expected a node of kind {_NAMES[kind]}")
    return node


def member(node: Sequence[Any], index: int) -> Any:
    """A node's member; None where trailing optional ones are left out."""
    return node[index] if index < len(node) else None


def link(value: Any) -> bytes | None:
    """The CID of a link, None for the link to nothing."""
    return None if value is None or value == _NO_LINK else value


def links(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(place, "expected a list of links")
    return value


def payload(frame: Any, nodes: LinkedNodes, place: str) -> bytes:
    """The whole of a payload whose first frame stands in a node."""
    first = _frame(frame, place)
    total = checks.u64_or_none(member(first, 3), f"{place}.total")
    if total in (None, 0, 1):
        # The CID of the node vouches for it; a CRC in Python would take longer than all else.
        return bytes(first[4])
    if total > _MOST_FRAMES:
        raise Unreadable(place, f"{total} frames are more than a payload has")
    frames: dict[int, bytes] = {}
    left = [first]
    while left:
        each = left.pop()
        index = checks.u64(member(each, 2), f"{place}.index")
        if index >= total or index in frames:
            raise Unreadable(place, f"frame {index} of {total} is one too many")
        frames[index] = each[4]
        for cid in links(member(each, 5) or [], f"{place}.next"):
            left.append(_frame(nodes.node(cid, DATA_FRAME, f"{place}.next"), place))
    if len(frames) != total:
        raise Unreadable(place, f"{len(frames)} frames of {total}")
    whole = b"".join(frames[index] for index in range(total))
    declared = member(first, 1)
    if type(declared) is int and not is_hash_of(whole, declared):
        raise Unreadable(place, "the payload does not have the hash of its first frame")
    return whole


def unpacked(data: bytes, place: str) -> bytes:
    """A zstd payload's content."""
    try:
        # A frame that declares its size is unpacked whole, whatever max_output_size is.
        if zstandard.frame_content_size(data) > _LARGEST_PAYLOAD:
            raise Unreadable(place, f"more than {_LARGEST_PAYLOAD} bytes")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=_LARGEST_PAYLOAD)
    except (zstandard.ZstdError, MemoryError):
        raise Unreadable(place, "the zstd data is damaged") from None


def _frame(value: Any, place: str) -> list[Any]:
    if (
        not isinstance(value, list)
        or len(value) < 5
        or value[0] != DATA_FRAME
        or not isinstance(value[4], bytes)
    ):
        raise Unreadable(place, "expected a data frame")
    return value
