"""Writes frames of texts as they were before they had sections, with one checksum."""

import struct
import zlib
from array import array
from collections.abc import Sequence

import zstandard

from historical.sealed import packed_texts
from historical.sealed.dictionary import SegmentDictionary

_HEAD = struct.Struct("<IBIIII")


def pack_as_before(texts: Sequence[bytes], dictionary: SegmentDictionary) -> bytes:
    """A frame of stored texts, in their order."""
    rewritten = not any(mark in text for text in texts for mark in (b"\1", b"\2", b"\3"))
    keys: list[bytes] = []
    data: list[bytes] = []
    written = list(texts)
    if rewritten:
        written = packed_texts._rewritten(texts, dictionary, keys, data)
    trained = zstandard.ZstdCompressionDict(dictionary.trained) if dictionary.trained else None
    compressor = zstandard.ZstdCompressor(level=9, dict_data=trained)
    stream = compressor.compress(array("I", map(len, written)).tobytes() + b"".join(written))
    items = array("H", map(len, data)).tobytes() + b"".join(data)
    packed_items = zstandard.ZstdCompressor(level=9).compress(items) if data else b""
    head = _HEAD.pack(0, rewritten, len(texts), len(data), len(stream), len(packed_items))
    frame = b"".join((head[4:], stream, packed_items, *keys))
    return zlib.crc32(frame).to_bytes(4, "little") + frame
