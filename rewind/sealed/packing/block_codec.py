"""Sealed account changes as packed blocks.

Changes sorted by (pubkey, slot, position) go in, blocks come out: of each account in a block one
whole state, then what differs from version to version, columns apart, compressed with a
dictionary that many blocks share.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import zstandard

from rewind.sealed.packing.batches import content_of
from rewind.sealed.packing.body import Body
from rewind.sealed.packing.changes import Block, BlockDamaged, Change
from rewind.sealed.packing.cutting import Cutter, blocks_of
from rewind.sealed.packing.digest import Digest
from rewind.sealed.packing.frames import Compressor, unpack

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
# Samples that a dictionary is made of: more make it no better.
_SAMPLES, _SAMPLED_BYTES = 6_000, 24 << 20
_FEWEST_SAMPLES = 16
# Segments of a kilobyte, found by what eight bytes occur often. Left to search for better ones,
# zstd gives dictionaries of a few kilobytes where samples are few, and blocks a fifth larger.
_TRAINING = {"k": 1_024, "d": 8, "steps": 1}


def encode(
    changes: Iterable[Change], dictionary: bytes | None, *, target: int = TARGET
) -> Iterator[Block]:
    """Blocks of about `target` bytes of changes that are sorted by (pubkey, slot, position).

    No block crosses two first bytes of pubkeys. One that has a large account may be larger, so
    that the account's whole state is not repeated every few changes. ValueError for changes out
    of order or out of range, and for bytes that are no dictionary.
    """
    compressor = Compressor(dictionary)
    cutter = Cutter(target)
    for pieces in blocks_of(changes, cutter):
        body = compressor.pack(content_of(pieces))
        cutter.took(len(body))
        first = pieces[0].wholes[0]
        count = sum(piece.end - piece.begin for piece in pieces)
        yield Block(*first[:3], *pieces[-1].last, count, body)


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
    for pieces in islice(blocks_of(changes, Cutter(TARGET, crosses_buckets=True)), _SAMPLES):
        content = bytes(content_of(pieces))
        held += len(content)
        samples.append(content)
        if held > _SAMPLED_BYTES:
            break
    if len(samples) < _FEWEST_SAMPLES:
        return b""
    try:
        trained: bytes = zstandard.train_dictionary(size, samples, **_TRAINING).as_bytes()
    except zstandard.ZstdError:
        return b""
    return trained
