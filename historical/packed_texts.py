"""How the texts of a sealed range's transactions are stored: frames of texts that share the range's
dictionary (historical/segment_dictionary.py).

A text is the stored JSON of a transaction, without its first signature. In a frame its 32-byte keys
are numbers in the range's or the frame's own list, and instruction data is bytes: base58 hides from
the compressor what repeats. Control characters mark both, which JSON never has unescaped.
"""

import re
import struct
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise

import zstandard

from chain.encodings import b58decode, b58encode
from historical.segment_dictionary import (
    KEY_TEXT,
    MOST_KEYS,
    KeyTexts,
    SegmentDictionary,
    key_of,
    token,
)

# Stored text per frame; larger frames compress better, and cost more to read one transaction from.
FRAME_TEXT = 192 * 1024
LEVEL = 9

_DATA_TEXT = re.compile(rb'"data":"([1-9A-HJ-NP-Za-km-z]+)"')
_DATA = b"\x03"
_DATA_MARKED = b'"data":"\x03"'
# Longer data is left as it is: base58 takes quadratic time.
_LONGEST_DATA = 350
_MARKS = re.compile(rb"[\x01-\x03]")
_LOCAL = 2
# Checksum; whether the texts are rewritten; texts, data items, bytes of the two streams.
_HEAD = struct.Struct("<IBIIII")
_CHECKSUM_BYTES = 4


class DamagedFrame(Exception):
    """A frame is not what was written."""


def pack_frame(texts: Sequence[bytes], dictionary: SegmentDictionary) -> bytes:
    """A frame of stored texts, in their order."""
    rewritten = not any(_MARKS.search(text) for text in texts)
    keys: list[bytes] = []
    data: list[bytes] = []
    written = _rewritten(texts, dictionary, keys, data) if rewritten else texts
    lengths = array("I", map(len, written)).tobytes()
    compressor = dictionary.compressor(LEVEL)
    stream = compressor.compress(lengths + b"".join(written))
    items = array("H", map(len, data)).tobytes() + b"".join(data)
    packed_items = zstandard.ZstdCompressor(level=LEVEL).compress(items) if data else b""
    head = _HEAD.pack(0, rewritten, len(texts), len(data), len(stream), len(packed_items))
    frame = b"".join((head[_CHECKSUM_BYTES:], stream, packed_items, *keys))
    return zlib.crc32(frame).to_bytes(_CHECKSUM_BYTES, "little") + frame


def rewritten_texts(texts: Sequence[bytes], dictionary: SegmentDictionary) -> list[bytes]:
    """The texts as frames have them, to train a dictionary on."""
    return _rewritten(texts, dictionary, [], [])


def _rewritten(
    texts: Sequence[bytes], dictionary: SegmentDictionary, keys: list[bytes], data: list[bytes]
) -> list[bytes]:
    """The texts with marks; appends the frame's own keys and the data items."""
    tokens: dict[bytes, bytes] = {}
    known = dictionary.tokens

    def mark_key(match: re.Match[bytes]) -> bytes:
        text = match[0]
        found = known.get(text) or tokens.get(text)
        if found is None:
            key = key_of(text)
            if key is None or len(keys) >= MOST_KEYS:
                found = text
            else:
                found = token(_LOCAL, len(keys))
                keys.append(key)
            tokens[text] = found
        return found

    def mark_data(match: re.Match[bytes]) -> bytes:
        text = match[1]
        if len(text) > _LONGEST_DATA:
            return match[0]
        raw = b58decode(text.decode())
        if b58encode(raw).encode() != text:
            return match[0]
        data.append(raw)
        return _DATA_MARKED

    return [KEY_TEXT.sub(mark_key, _DATA_TEXT.sub(mark_data, text)) for text in texts]


class OpenFrame:
    """A frame's texts, decompressed. `len` is what it takes of memory."""

    def __init__(self, frame: bytes, dictionary: SegmentDictionary) -> None:
        """Raises DamagedFrame."""
        if zlib.crc32(memoryview(frame)[_CHECKSUM_BYTES:]) != int.from_bytes(
            frame[:_CHECKSUM_BYTES], "little"
        ):
            raise DamagedFrame("its checksum differs")
        _, self._rewritten, count, items, stream, packed_items = _HEAD.unpack_from(frame)
        start = _HEAD.size
        try:
            content = dictionary.decompressor().decompress(frame[start : start + stream])
        except zstandard.ZstdError as error:
            raise DamagedFrame(str(error)) from None
        lengths = array("I")
        lengths.frombytes(content[: 4 * count])
        self._ends = list(accumulate(lengths, initial=4 * count))
        self._content = content
        start += stream
        self._item_count, self._packed_items = items, frame[start : start + packed_items]
        self._keys = frame[start + packed_items :]
        self._dictionary = dictionary
        self._items: tuple[array[int], bytes] | None = None
        self._own_texts: KeyTexts | None = None

    def __len__(self) -> int:
        return len(self._content) + len(self._packed_items) * 3 + len(self._keys)

    @property
    def count(self) -> int:
        return len(self._ends) - 1

    def texts(self, first: int, end: int) -> bytes:
        """The stored texts from `first` on, before `end`, joined by commas."""
        ends = self._ends
        content = self._content
        parts = [content[ends[each] : ends[each + 1]] for each in range(first, end)]
        joined = b",".join(parts)
        if not self._rewritten:
            return joined
        for number, key_texts in enumerate(self._key_texts(), 1):
            start, *parts = joined.split(bytes((number,)))
            pieces = [piece for part in parts for piece in (key_texts[part[:2]], part[2:])]
            joined = b"".join((start, *pieces))
        start, *parts = joined.split(_DATA)
        if not parts:
            return joined
        items = self._data(content.count(_DATA, ends[0], ends[first]), len(parts))
        texts = {item: b58encode(item).encode() for item in set(items)}
        pieces = [
            piece for item, part in zip(items, parts, strict=True) for piece in (texts[item], part)
        ]
        return b"".join((start, *pieces))

    def each(self) -> list[bytes]:
        """Every text by itself."""
        return [self.texts(number, number + 1) for number in range(self.count)]

    def _key_texts(self) -> "tuple[KeyTexts, KeyTexts]":
        """By their marks."""
        if self._own_texts is None:
            self._own_texts = KeyTexts(self._keys)
        return self._dictionary.texts, self._own_texts

    def _data(self, first: int, count: int) -> list[bytes]:
        if self._items is None:
            raw = self._dictionary.plain_decompressor().decompress(self._packed_items)
            lengths = array("H")
            lengths.frombytes(raw[: 2 * self._item_count])
            self._items = lengths, raw
        lengths, raw = self._items
        start = 2 * self._item_count + sum(lengths[:first])
        ends = list(accumulate(lengths[first : first + count], initial=start))
        return [raw[low:high] for low, high in pairwise(ends)]
