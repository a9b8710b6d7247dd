"""How the texts of a sealed range's transactions are stored: frames of texts that share the range's
dictionary (historical/sealed/dictionary.py).

A text is the stored JSON of a transaction, without its first signature. In a frame its 32-byte keys
are numbers in the range's or the frame's own list, and instruction data is bytes: base58 hides from
the compressor what repeats. Control characters mark both, which JSON never has unescaped.

Keys and data are the frame's; the texts are compressed in sections, so that one is read without the
others. Each section has a checksum, and so has all the rest. Older frames are one section, with one
checksum for everything.
"""

import re
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

import zstandard

from chain.encodings import b58decode, b58encode
from eventloop.of_thread import OfThread
from historical.sealed.dictionary import (
    KEY_TEXT,
    LEVEL,
    MOST_KEYS,
    KeyTexts,
    SegmentDictionary,
    key_of,
    token,
)

# Stored text per frame; larger frames compress better, and take longer to fetch.
FRAME_TEXT = 192 * 1024
# Marked text per section: what is opened for one transaction.
SECTION = 24 * 1024
# Of what is compressed without the dictionary.
_decompressor = OfThread(zstandard.ZstdDecompressor)

_DATA_TEXT = re.compile(rb'"data":"([1-9A-HJ-NP-Za-km-z]+)"')
_DATA = b"\x03"
_DATA_MARKED = b'"data":"\x03"'
# Longer data is left as it is: base58 takes quadratic time.
_LONGEST_DATA = 350
_MARKS = re.compile(rb"[\x01-\x03]")
_LOCAL = 2
# Of the range's keys and of the frame's own: see segment_dictionary.token.
_KEY_MARKS = [re.compile(rb"\x01(..)", re.DOTALL), re.compile(rb"\x02(..)", re.DOTALL)]
# Checksum; form; texts, data items; sections (bytes of texts without them), bytes of items.
_HEAD = struct.Struct("<IBIIII")
# Numbers of a section take four bytes in a frame that is LONG, else two.
_REWRITTEN, _SECTIONED, _LONG = 1, 2, 4
# Texts, bytes and checksum of a section.
_SECTION = struct.Struct("<HII")
_MOST_SHORT = 65_535
_CHECKSUM_BYTES = 4


class DamagedFrame(Exception):
    """A frame is not what was written."""


def pack_frame(texts: Sequence[bytes], dictionary: SegmentDictionary) -> bytes:
    """A frame of stored texts, in their order."""
    rewritten = not any(_MARKS.search(text) for text in texts)
    keys: list[bytes] = []
    data: list[bytes] = []
    written = _rewritten(texts, dictionary, keys, data) if rewritten else texts
    is_long = len(data) > _MOST_SHORT or max(map(len, written), default=0) > _MOST_SHORT
    streams, table = _sections(written, rewritten, dictionary, "I" if is_long else "H")
    items = array("H", map(len, data)).tobytes() + b"".join(data)
    packed_items = zstandard.ZstdCompressor(level=LEVEL).compress(items) if data else b""
    form = _SECTIONED | (_REWRITTEN if rewritten else 0) | (_LONG if is_long else 0)
    head = _HEAD.pack(0, form, len(texts), len(data), len(streams), len(packed_items))
    rest = b"".join((head[_CHECKSUM_BYTES:], *table, packed_items, *keys))
    return b"".join((zlib.crc32(rest).to_bytes(_CHECKSUM_BYTES, "little"), rest, *streams))


def _sections(
    written: Sequence[bytes], marks: bool, dictionary: SegmentDictionary, kind: str
) -> tuple[list[bytes], list[bytes]]:
    """The compressed sections, and the table of them. A section begins with how many data items are
    before it, and the lengths of its texts, as numbers of that kind.
    """
    compressor = dictionary.compressor.value
    streams: list[bytes] = []
    table: list[bytes] = []
    first = items = size = 0
    for end, text in enumerate(written, 1):
        size += len(text) + 1
        if size >= SECTION or end == len(written):
            of_section = written[first:end]
            content = b"".join(of_section)
            lengths = array(kind, [items, *map(len, of_section)]).tobytes()
            streams.append(compressor.compress(lengths + content))
            check = zlib.crc32(streams[-1])
            table.append(_SECTION.pack(end - first, len(streams[-1]), check))
            items += content.count(_DATA) if marks else 0
            first, size = end, 0
    return streams, table


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
    """A frame whose texts can be read. `len` is what it takes of memory."""

    def __init__(self, frame: bytes, dictionary: SegmentDictionary) -> None:
        """Raises DamagedFrame."""
        if len(frame) < _HEAD.size:
            raise DamagedFrame("it is too short")
        check, form, count, self._item_count, parts, item_bytes = _HEAD.unpack_from(frame)
        self._rewritten = bool(form & _REWRITTEN)
        self._is_sectioned = bool(form & _SECTIONED)
        self._kind = "H" if form & (_SECTIONED | _LONG) == _SECTIONED else "I"
        self._frame = memoryview(frame)
        self._dictionary = dictionary
        start, end = _HEAD.size, len(frame)
        if self._is_sectioned:
            start += parts * _SECTION.size
            if start > end:
                raise DamagedFrame("it is too short")
            table = _SECTION.iter_unpack(self._frame[_HEAD.size : start])
            counts, sizes, self._checks = zip(*table, strict=True)
            end = streams = len(frame) - sum(sizes)
        else:
            counts, sizes, streams = (count,), (parts,), start
            start += parts
        if end < start or zlib.crc32(self._frame[_CHECKSUM_BYTES:end]) != check:
            raise DamagedFrame("its checksum differs")
        self._firsts: list[int] = list(accumulate(counts, initial=0))
        self._streams = list(accumulate(sizes, initial=streams))
        self._packed_items = self._frame[start : start + item_bytes]
        self._keys = frame[start + item_bytes : end]
        self._items: tuple[array[int], bytes] | None = None
        self._own_texts: KeyTexts | None = None
        self._whole = None if self._is_sectioned else self._open(0)

    def __len__(self) -> int:
        whole = len(self._whole[0]) if self._whole else 0
        return len(self._frame) + whole + len(self._packed_items) * 3 + len(self._keys) * 3

    @property
    def count(self) -> int:
        return self._firsts[-1]

    def texts(self, first: int, end: int) -> bytes:
        """The stored texts from `first` on, before `end`, joined by commas. Raises DamagedFrame."""
        found = []
        number = bisect_right(self._firsts, first) - 1
        while first < end:
            of_section = min(end, self._firsts[number + 1])
            found.append(self._of_section(number, first, of_section))
            first = of_section
            number += 1
        return found[0] if len(found) == 1 else b",".join(found)

    def _open(self, number: int) -> tuple[bytes, list[int], int]:
        """A section's content, where its texts end, and how many data items are before them."""
        stream = self._frame[self._streams[number] : self._streams[number + 1]]
        if self._is_sectioned and zlib.crc32(stream) != self._checks[number]:
            raise DamagedFrame("the checksum of a section differs")
        try:
            content = self._dictionary.decompressor.value.decompress(stream)
        except zstandard.ZstdError as error:
            raise DamagedFrame(str(error)) from None
        count = self._firsts[number + 1] - self._firsts[number]
        numbers = array(self._kind)
        start = numbers.itemsize * (count + self._is_sectioned)
        numbers.frombytes(content[:start])
        before = numbers.pop(0) if self._is_sectioned else 0
        return content, list(accumulate(numbers, initial=start)), before

    def _of_section(self, number: int, first: int, end: int) -> bytes:
        """The texts of those numbers, which the section has."""
        content, ends, before = self._whole or self._open(number)
        first, end = first - self._firsts[number], end - self._firsts[number]
        joined = b",".join([content[ends[each] : ends[each + 1]] for each in range(first, end)])
        if not self._rewritten:
            return joined
        for mark, key_texts in zip(_KEY_MARKS, self._key_texts(), strict=True):
            pieces = mark.split(joined)
            if len(pieces) > 1:
                pieces[1::2] = [key_texts[number] for number in pieces[1::2]]
                joined = b"".join(pieces)
        start, *parts = joined.split(_DATA)
        if not parts:
            return joined
        items = self._data(before + content.count(_DATA, ends[0], ends[first]), len(parts))
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
            raw = _decompressor.value.decompress(self._packed_items)
            lengths = array("H")
            lengths.frombytes(raw[: 2 * self._item_count])
            self._items = lengths, raw
        lengths, raw = self._items
        start = 2 * self._item_count + sum(lengths[:first])
        ends = list(accumulate(lengths[first : first + count], initial=start))
        return [raw[low:high] for low, high in pairwise(ends)]
