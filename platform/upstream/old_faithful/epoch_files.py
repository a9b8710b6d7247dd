"""One epoch of an archive: its indexes, and nodes of its CAR by their CIDs."""

from typing import Any

from chain.leb128 import leb128
from upstream.archives.car_nodes import CID_SIZE, decoded
from upstream.archives.errors import Unreadable
from upstream.old_faithful import layout
from upstream.old_faithful.compact_index import CompactIndex
from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.ranges import NoSuchFile, Reading
from upstream.old_faithful.signature_filter import SignatureFilter, UnknownForm

_OFFSET_SIZE = 6
_OFFSET_AND_SIZE = 9
_MOST_CID_FILE = 1_024
_CAR_START = 4_096


def root_of(epoch: int, reading: Reading) -> bytes | None:
    """The root CID of the epoch's CAR; None where the archive does not have the epoch."""
    path = layout.cid_path(epoch)
    content = reading.whole(path, _MOST_CID_FILE)
    if content is None:
        return None
    root = layout.cid_bytes(content.decode("latin-1").strip())
    if root is None:
        raise Damaged(path, "no CID of a node")
    return root


class EpochFiles:
    """The files of an epoch, as one call reads them. Raises Unreachable, Damaged."""

    def __init__(self, epoch: int, root: bytes, network: str, reading: Reading) -> None:
        self.epoch = epoch
        self.reading = reading
        self.car = layout.car_path(epoch)
        self._root = root
        self._network = network
        self._indexes: dict[str, CompactIndex] = {}

    def index(self, kind: str, value_size: int) -> CompactIndex:
        """The index of that kind, which says itself that it is this epoch's."""
        found = self._indexes.get(kind)
        if found is None:
            path = layout.index_path(self.epoch, self._root, self._network, kind)
            found = CompactIndex(path, self.reading, value_size)
            if found.metadata.get("kind") != kind.encode():
                raise Damaged(path, "an index of another kind")
            self._check(path, found.metadata)
            self._indexes[kind] = found
        return found

    def _check(self, path: str, says: dict[str, bytes]) -> None:
        expected = {
            "epoch": self.epoch.to_bytes(8, "little"),
            "rootCid": self._root,
            "network": self._network.encode(),
        }
        for name, value in expected.items():
            if says.get(name) != value:
                raise Damaged(path, f"an index of another {name}")

    @property
    def slots(self) -> CompactIndex:
        return self.index(layout.SLOT_TO_CID, CID_SIZE)

    def cid_of_slot(self, slot: int) -> bytes | None:
        """The CID of the slot's Block node, or of another's (see compact_index)."""
        return self.slots.find(slot.to_bytes(8, "little"), self.reading)

    def cid_of_signature(self, signature: bytes) -> bytes | None:
        """The CID of the signature's Transaction node, or of another's."""
        found = self.index(layout.SIGNATURE_TO_CID, CID_SIZE)
        return found.find(signature, self.reading)

    def may_have(self, signature: bytes) -> bool | None:
        """Whether the epoch may have the signature, by its index of those that exist; None where
        the archive has no such index, or one that is not read here.
        """
        path = layout.index_path(self.epoch, self._root, self._network, layout.SIGNATURE_EXISTS)
        try:
            found = SignatureFilter(path, self.reading)
        except (NoSuchFile, UnknownForm):
            return None
        self._check(path, found.metadata)
        return found.may_have(signature, self.reading)

    def place_of(self, cid: bytes) -> tuple[int, int]:
        """(offset, size) of a node's section in the CAR."""
        index = self.index(layout.CID_TO_OFFSET_AND_SIZE, _OFFSET_AND_SIZE)
        found = index.find(cid, self.reading)
        if found is None:
            raise Damaged(index.path, f"no place of {layout.cid_text(cid)}")
        offset = int.from_bytes(found[:_OFFSET_SIZE], "little")
        size = int.from_bytes(found[_OFFSET_SIZE:], "little")
        if size <= CID_SIZE + 1:
            raise Damaged(index.path, f"no section has {size} bytes")
        return offset, size

    def node(self, cid: Any, kind: int, place: str) -> list[Any]:
        """A node of the CAR, checked against its CID; so that links can be followed from here."""
        if not isinstance(cid, bytes) or len(cid) != CID_SIZE:
            raise Unreadable(place, "expected a link to a node")
        offset, size = self.place_of(cid)
        return self.node_at(cid, kind, self.reading.read(self.car, offset, size))

    def node_at(self, cid: bytes, kind: int, section: bytes) -> list[Any]:
        """The node of a section."""
        length, start = leb128(section)
        if start + length != len(section) or section[start : start + CID_SIZE] != cid:
            raise Damaged(self.car, f"another section stands in place of {layout.cid_text(cid)}")
        try:
            return decoded(cid, section[start + CID_SIZE :], kind, layout.cid_text(cid))
        except Unreadable as fault:
            raise Damaged(self.car, str(fault)) from None

    def header_size(self) -> int:
        """Where the first section of the CAR begins."""
        length, start = leb128(self.reading.cached_start(self.car, _CAR_START))
        if not 0 < length < _CAR_START:
            raise Damaged(self.car, "the CAR's header is damaged")
        return start + length
