"""Blocks and transactions of an archive of CAR epochs, by slot and by signature."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

from chain.blocks import SlotRecord, TransactionRecord
from chain.transactions import BadTransaction, first_signature
from chain.units import SLOTS_PER_EPOCH, Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.car import transaction_of
from upstream.archives.car_nodes import TRANSACTION, member, payload
from upstream.archives.errors import Unreadable
from upstream.old_faithful import layout, slot_list
from upstream.old_faithful.blocks import BlockNode, CarBlock, block_node, car_block
from upstream.old_faithful.epoch_files import EpochFiles, root_of
from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.ranges import Archive, Reading

P = ParamSpec("P")
T = TypeVar("T")
# An epoch that is not there may be published any day; a root never changes.
_ABSENT_SECONDS = 60.0
_MOST_ABSENT = 10_000
# Slots after a skipped one that are looked up one by one, before the whole list is read.
_NEXT_SLOTS = 8


@dataclass(frozen=True, slots=True)
class FoundTransaction:
    """A transaction and where it stands. `block_time` is None where its block has none."""

    slot: Slot
    index: int
    block_time: UnixTimestamp | None
    record: TransactionRecord


def _reading(
    method: "Callable[Concatenate[History, Reading, P], T]",
) -> "Callable[Concatenate[History, P], T]":
    """A method whose reads are one Reading."""

    @wraps(method)
    def reads(history: "History", /, *args: P.args, **kwargs: P.kwargs) -> T:
        reading = history.archive.reading()
        try:
            return method(history, reading, *args, **kwargs)
        except Damaged:
            reading.forget()
            history.forget_roots()  # an epoch may have been published again
            raise

    return reads


class History:
    """An archive's blocks. `network` is the one in the names of its indexes. Epochs below
    `first_epoch` are not looked for. For threads; every method may raise Unreachable and Damaged,
    and what proves to be damaged is dropped from the cache.
    """

    def __init__(self, archive: Archive, *, network: str, first_epoch: int = 0) -> None:
        self.archive = archive
        self._network = network
        self._first_epoch = first_epoch
        self._roots: dict[int, bytes] = {}
        self._absent: dict[int, float] = {}
        self._unfiltered: dict[int, float] = {}
        self._lock = Lock()

    @_reading
    def has_epoch(self, reading: Reading, slot: int) -> bool:
        """Whether the archive has the slot's epoch."""
        return self._files(layout.epoch_of(slot), reading) is not None

    @_reading
    def block(self, reading: Reading, slot: int) -> SlotRecord | None:
        """The slot's block; None where the archive has none for it."""
        files = self._files(layout.epoch_of(slot), reading)
        node = None if files is None else block_node(files, slot)
        if files is None or node is None:
            return None
        return self._block(files, node)

    @_reading
    def block_time(self, reading: Reading, slot: int) -> tuple[UnixTimestamp | None] | None:
        """A block's time (None: not recorded) in a tuple; None where there is no block."""
        files = self._files(layout.epoch_of(slot), reading)
        node = None if files is None else block_node(files, slot)
        return None if node is None else (node.block_time,)

    @_reading
    def slots_between(self, reading: Reading, first: int, last: int, limit: int) -> list[int]:
        """Slots that hold a block, ascending, both ends inclusive, the first `limit` of them.
        Epochs that the archive does not have are left out.
        """
        found: list[int] = []
        for epoch in range(layout.epoch_of(first), layout.epoch_of(last) + 1):
            files = self._files(epoch, reading)
            if files is not None:
                bits = self._bits(files)
                found += slot_list.slots_in(bits, epoch, first, last)
            if len(found) >= limit:
                break
        return found[:limit]

    @_reading
    def parent_of_next_block(self, reading: Reading, slot: int) -> int | None:
        """The parent link of the lowest block above the slot, in its epoch or the next; None where
        the archive has no such block.
        """
        epoch = layout.epoch_of(slot)
        files = self._files(epoch, reading)
        if files is None:
            return None
        end = (epoch + 1) * SLOTS_PER_EPOCH
        for following in range(slot + 1, min(slot + 1 + _NEXT_SLOTS, end)):
            node = block_node(files, following)
            if node is not None:
                return node.parent_slot
        for each in (files, self._files(epoch + 1, reading)):
            if each is None:
                return None
            bits = self._bits(each)
            above = slot_list.slots_in(bits, each.epoch, slot + 1, end + SLOTS_PER_EPOCH)
            found = next(above, None)
            node = None if found is None else block_node(each, found)
            if node is not None:
                return node.parent_slot
        return None

    @_reading
    def first_slot(self, reading: Reading) -> int | None:
        """The lowest slot that holds a block, in the first epoch; None where that is not there."""
        first = self._first_epoch * SLOTS_PER_EPOCH
        files = self._files(self._first_epoch, reading)
        if files is None:
            return None
        few = range(first, first + _NEXT_SLOTS)
        found = next((slot for slot in few if block_node(files, slot) is not None), None)
        if found is not None:
            return found
        last = first + SLOTS_PER_EPOCH - 1
        slots = slot_list.slots_in(self._bits(files), files.epoch, first, last)
        return next(slots, None)

    @_reading
    def transaction(
        self, reading: Reading, signature: bytes, epochs: Sequence[int]
    ) -> FoundTransaction | None:
        """The transaction of that first signature in the epochs, which are tried in their order;
        None where it is in none that the archive has.
        """
        for epoch in epochs:
            files = self._files(epoch, reading)
            # In one epoch most of what is asked for is there: its filter would be read besides.
            if files is None or (len(epochs) > 1 and not self._may_have(files, signature)):
                continue
            cid = files.cid_of_signature(signature)
            if cid is not None:
                try:
                    found = self._transaction(files, cid, signature)
                except (Unreadable, BadTransaction) as fault:
                    raise Damaged(files.car, str(fault)) from None
                if found is not None:
                    return found
        return None

    def _may_have(self, files: EpochFiles, signature: bytes) -> bool:
        """True too where the epoch has no index of the signatures that exist."""
        with self._lock:
            if self._unfiltered.get(files.epoch, 0.0) > time.monotonic():
                return True
        found = files.may_have(signature)
        if found is None:
            with self._lock:
                self._unfiltered[files.epoch] = time.monotonic() + _ABSENT_SECONDS
        return found is not False

    def _transaction(
        self, files: EpochFiles, cid: bytes, signature: bytes
    ) -> FoundTransaction | None:
        node = files.node(cid, TRANSACTION, "a transaction")
        if first_signature(payload(member(node, 1), files, "data")) != signature:
            return None  # the index has no such signature: see compact_index
        slot = checks.u64(member(node, 3), "slot")
        block = block_node(files, slot)
        if block is None:
            raise Damaged(files.slots.path, f"no block {slot}, which has a transaction")
        index = checks.u64_or_none(member(node, 4), "index")
        if index is not None:
            record = transaction_of(node, Slot(slot), index, files)
            return FoundTransaction(Slot(slot), index, block.block_time, record)
        # Old epochs do not say where in its block a transaction stands.
        for index, record in enumerate(self._block(files, block).transactions):
            if record.signature == signature:
                return FoundTransaction(Slot(slot), index, block.block_time, record)
        raise Damaged(files.car, f"block {slot} does not have the transaction that names it")

    def _block(self, files: EpochFiles, node: BlockNode) -> SlotRecord:
        def make() -> bytes:
            before = None
            if node.slot and layout.epoch_of(node.parent_slot) < files.epoch:
                before = self._files(layout.epoch_of(node.parent_slot), files.reading)
            return car_block(files, node, before).packed()

        key = ("block", node.slot)
        packed = self.archive.cache.get(key, make)
        try:
            return CarBlock.unpacked(node.slot, packed).record(files.car)
        except Damaged:
            self.archive.cache.drop([key])
            raise

    def _bits(self, files: EpochFiles) -> bytes:
        return self.archive.cache.get(("slots", files.epoch), lambda: slot_list.slot_bits(files))

    def _files(self, epoch: int, reading: Reading) -> EpochFiles | None:
        if epoch < self._first_epoch:
            return None
        with self._lock:
            root = self._roots.get(epoch)
            if root is None and self._absent.get(epoch, 0.0) > time.monotonic():
                return None
        if root is None:
            root = root_of(epoch, reading)
            with self._lock:
                if root is None:
                    if len(self._absent) >= _MOST_ABSENT:
                        self._absent.clear()
                    self._absent[epoch] = time.monotonic() + _ABSENT_SECONDS
                    return None
                self._roots[epoch] = root
        return EpochFiles(epoch, root, self._network, reading)

    def forget_roots(self) -> None:
        with self._lock:
            self._roots.clear()
