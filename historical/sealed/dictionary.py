"""What the texts of a sealed range have in common: the keys that occur most, and a dictionary for
zstd. Both are stored with the range; without them its frames cannot be read.
"""

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import zstandard

from chain.encodings import b58decode, b58encode
from eventloop.of_thread import OfThread

# The text of a 32-byte key, by itself.
KEY_TEXT = re.compile(
    rb"(?<![1-9A-HJ-NP-Za-km-z])[1-9A-HJ-NP-Za-km-z]{32,44}(?![1-9A-HJ-NP-Za-km-z])"
)
LEVEL = 9
# A key's number takes two bytes of seven bits.
MOST_KEYS = 2**14
_SEGMENT = 1
_LARGEST = 112_640
# Text per byte of dictionary. It is stored compressed, in a third or less.
_TEXT_PER_BYTE = 128
_SMALLEST = 1_024
_MOST_TRAINED_ON = 6_000_000
_CHECKSUM_BYTES = 4


class DamagedDictionary(Exception):
    """A stored dictionary is not what was written."""


def key_of(text: bytes) -> bytes | None:
    """The 32 bytes that the text is the base58 of; None where it is not."""
    if set(text) == {49}:  # as many zero bytes as ones
        return bytes(32) if len(text) == 32 else None
    key = b58decode(text.decode())
    return key if len(key) == 32 and b58encode(key).encode() == text else None


def token(mark: int, number: int) -> bytes:
    """The mark of a key: three bytes, the last two of them not ASCII."""
    return bytes((mark, 128 | number >> 7, 128 | number & 127))


class KeyTexts(dict[bytes, bytes]):
    """The number of a key, as its mark has it → the key's text, encoded when it is first wanted."""

    def __init__(self, keys: bytes) -> None:
        self._keys = keys

    def __missing__(self, number: bytes) -> bytes:
        at = 32 * ((number[0] & 127) << 7 | number[1] & 127)
        text = self[number] = b58encode(self._keys[at : at + 32]).encode()
        return text


class SegmentDictionary:
    """Of one sealed range; compressors and decompressors are each thread's own."""

    def __init__(self, keys: bytes, trained: bytes) -> None:
        self.keys = keys
        self.trained = trained
        data = zstandard.ZstdCompressionDict(trained) if trained else None
        self.compressor = OfThread(
            lambda: zstandard.ZstdCompressor(level=LEVEL, dict_data=data, write_dict_id=False)
        )
        self.decompressor = OfThread(lambda: zstandard.ZstdDecompressor(dict_data=data))
        self.texts = KeyTexts(keys)
        self._tokens: dict[bytes, bytes] | None = None

    def __len__(self) -> int:
        return 3 * len(self.keys) + 2 * len(self.trained)

    @property
    def tokens(self) -> dict[bytes, bytes]:
        """A key's text → its mark."""
        if self._tokens is None:
            marks = [token(_SEGMENT, number) for number in range(len(self.keys) // 32)]
            self._tokens = {self.texts[mark[1:]]: mark for mark in marks}
        return self._tokens


def common_keys(frames: Sequence[Sequence[bytes]]) -> bytes:
    """The keys that occur in at least two of the frames' texts, those in most of them first."""
    counts: Counter[bytes] = Counter()
    for texts in frames:
        counts.update({found for text in texts for found in KEY_TEXT.findall(text)})
    chosen = []
    for text, count in counts.most_common(MOST_KEYS):
        if count < 2:
            break
        key = key_of(text)
        if key is not None:
            chosen.append(key)
    return b"".join(chosen)


def train(samples: Sequence[bytes], text_bytes: int) -> bytes:
    """A zstd dictionary from rewritten texts, for so many bytes of stored text; empty where it
    would cost more than it saves.
    """
    size = min(_LARGEST, text_bytes // _TEXT_PER_BYTE)
    if size < _SMALLEST:
        return b""
    step = sum(map(len, samples)) // _MOST_TRAINED_ON + 1
    try:
        found = zstandard.train_dictionary(size, list(samples[::step]), k=512, d=8)
    except zstandard.ZstdError:  # too few samples, or too much alike
        return b""
    return bytes(found.as_bytes())


def sealed(content: bytes) -> bytes:
    """The content compressed, with a checksum before it."""
    content = zstandard.ZstdCompressor(level=19).compress(content)
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little") + content


def opened(stored: bytes) -> bytes:
    """The content as it was. Raises DamagedDictionary."""
    content = stored[_CHECKSUM_BYTES:]
    if zlib.crc32(content) != int.from_bytes(stored[:_CHECKSUM_BYTES], "little"):
        raise DamagedDictionary("its checksum differs")
    return bytes(zstandard.ZstdDecompressor().decompress(content))
