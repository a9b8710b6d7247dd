"""Sealed account changes as packed blocks.

Changes sorted by (pubkey, slot, position) go in, blocks come out: of each account in a block one
whole state, then what differs from version to version, columns apart, compressed with a
dictionary that many blocks share.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import zstandard

from rewind.sealing.batches import Batch, Piece, content_of
from rewind.sealing.body import MAX_CHANGES, Body
from rewind.sealing.changes import Block, BlockDamaged, Change
from rewind.sealing.digest import Digest
from rewind.sealing.frames import MAX_CONTENT, Compressor, unpack

__all__ = [
    "DICTIONARY_SIZE",
    "TARGET",
    "Block",
    "BlockDamaged",
    "Body",
    "Change",
    "Digest",
    "decode",
    "encode",
    "train",
]

# Bytes of a block, compressed: about 200 changes.
TARGET = 4_700
DICTIONARY_SIZE = 110 << 10
# Changes and bytes of data that are compared at once.
_BATCH, _BATCH_BYTES = 2_048, 2 << 20
# Samples that a dictionary is made of: more make it no better.
_SAMPLES, _SAMPLED_BYTES = 6_000, 24 << 20
_FEWEST_SAMPLES = 16
# What the parts of a change take, compressed, about; `_Cutter` corrects it by what came out.
_ACCOUNT_COST, _DATA_COST = 40.0, 0.25


def encode(
    changes: Iterable[Change], dictionary: bytes | None, *, target: int = TARGET
) -> Iterator[Block]:
    """Blocks of about `target` bytes of changes that are sorted by (pubkey, slot, position).

    No block crosses two first bytes of pubkeys. One that has a large account may be larger, so
    that the account's whole state is not repeated every few changes. ValueError for changes out
    of order or out of range, and for bytes that are no dictionary.
    """
    compressor = Compressor(dictionary)
    cutter = _Cutter(target)
    for pieces in _pieces(changes, cutter):
        body = compressor.pack(content_of(pieces))
        cutter.packed(len(body))
        (batch, begin, _), (last_batch, _, end) = pieces[0], pieces[-1]
        first, last = batch.rows[begin], last_batch.rows[end - 1]
        count = sum(end - begin for _, begin, end in pieces)
        yield Block(*first[:3], *last[:3], count, body)


def decode(body: bytes, dictionary: bytes | None) -> Body:
    """A block's changes. BlockDamaged unless body and dictionary are those of encode."""
    return Body(unpack(body, dictionary))


def train(changes: Iterable[Change], *, size: int = DICTIONARY_SIZE) -> bytes:
    """A dictionary for blocks like those of these changes; b"" if they are too few for one.

    The changes are sorted, and a sample of accounts with all of their changes, or of ranges of
    keys: single changes would have nothing in common with what a block holds.
    """
    samples: list[bytes | bytearray | memoryview] = []
    held = 0
    for pieces in islice(_pieces(changes, _Cutter(TARGET)), _SAMPLES):
        content = content_of(pieces)
        held += len(content)
        samples.append(bytes(content))
        if held > _SAMPLED_BYTES:
            break
    if len(samples) < _FEWEST_SAMPLES:
        return b""
    try:
        trained: bytes = zstandard.train_dictionary(size, samples).as_bytes()
    except zstandard.ZstdError:
        return b""
    return trained


class _Cutter:
    """Where a block ends."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._ratio = 1.0  # bytes compressed, to what was expected
        self._clear()

    def _clear(self) -> None:
        self._bucket = b""
        self.count = 0
        self._cost = self._whole = self._since_whole = 0.0
        self._bytes = 0

    def packed(self, size: int) -> None:
        """The block that just ended has this size."""
        if self._expected:
            ratio = min(4.0, max(0.05, size / self._expected))
            self._ratio += 0.15 * (ratio - self._ratio)

    def full(self, is_account: bool, change: Change, cost: float, octets: int) -> bool:
        """Whether the block ends before this change; otherwise it has it now."""
        if self.count and self._ends(is_account, change, octets):
            self._expected = self._cost
            self._clear()
            return True
        size = len(change.data)
        if is_account or not self.count:
            whole = _ACCOUNT_COST + _DATA_COST * size
            self._whole, self._since_whole = whole, 0.0
            self._cost += whole
            self._bytes += size
        else:
            self._since_whole += cost
            self._cost += cost
            self._bytes += octets
        self.count += 1
        self._bucket = change.pubkey[:1]
        return False

    def finish(self) -> None:
        self._expected = self._cost
        self._clear()

    def _ends(self, is_account: bool, change: Change, octets: int) -> bool:
        if is_account and change.pubkey[:1] != self._bucket:
            return True
        if self.count >= MAX_CHANGES:
            return True
        if self._bytes + (len(change.data) if is_account else octets) > MAX_CONTENT // 2:
            return True
        if self._cost * self._ratio < self._target:
            return False
        return is_account or self._since_whole >= self._whole


def _pieces(changes: Iterable[Change], cutter: _Cutter) -> Iterator[list[Piece]]:
    """The pieces of each block: parts of the batches in which changes are compared."""
    open_pieces: list[Piece] = []
    for batch in _batches(changes):
        begin = 0
        rows = zip(batch.is_account, batch.rows, batch.costs, batch.octet_counts, strict=True)
        for number, (is_account, change, cost, octets) in enumerate(rows):
            if cutter.full(is_account, change, cost, octets):
                if begin < number:
                    open_pieces.append(Piece(batch, begin, number))
                yield open_pieces
                open_pieces, begin = [], number
                cutter.full(is_account, change, cost, octets)
        open_pieces.append(Piece(batch, begin, len(batch.rows)))
    if open_pieces:
        cutter.finish()
        yield open_pieces


def _batches(changes: Iterable[Change]) -> Iterator[Batch]:
    before: Change | None = None
    rows: list[Change] = []
    held = 0
    for change in changes:
        rows.append(change)
        held += len(change.data)
        if held >= _BATCH_BYTES or len(rows) >= _BATCH:
            yield Batch(rows, before)
            before, rows, held = change, [], 0
    if rows:
        yield Batch(rows, before)
