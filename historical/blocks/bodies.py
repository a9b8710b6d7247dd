"""How a block's transactions are stored: JSON texts in compressed frames, so that the whole block
is a fetch, a decompression and a copy, and one transaction the same with a single frame.

A text leaves out its first signature, which stands in the transaction's row: 64 random bytes are
most of what a compressed vote is. It is put back on the way out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import zstandard

from chain.encodings import b58encode
from eventloop.of_thread import OfThread

# Text per frame. Larger frames compress better and cost more to read one transaction from:
# docs/decisions/ledger-storage.md has the figures.
FRAME_TEXT = 128 * 1024
LEVEL = 6

# Making one costs as much as opening a small frame.
_decompressor = OfThread(zstandard.ZstdDecompressor)

# A quote inside a JSON string is always escaped, so this occurs only where the structure has it.
SIGNATURES = b'"signatures":['


@dataclass(frozen=True, slots=True)
class TextLocation:
    """Where one transaction's text stands: frame number, offset and length in the frame's text."""

    frame: int
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Body:
    """Compressed frames one after the other, and the end offset of each."""

    data: bytes
    frames: list[int]
    places: list[TextLocation]


def pack(texts: Iterable[bytes]) -> Body:
    """The body of a block from its transactions' JSON texts, in order."""
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    pieces: list[bytes] = []
    frames: list[int] = []
    places: list[TextLocation] = []
    pending: list[bytes] = []
    start = end = 0

    def close_frame() -> None:
        nonlocal end, start
        pieces.append(compressor.compress(b",".join(pending)))
        end += len(pieces[-1])
        frames.append(end)
        pending.clear()
        start = 0

    for text in texts:
        places.append(TextLocation(len(frames), start, len(text)))
        pending.append(text)
        start += len(text) + 1
        if start >= FRAME_TEXT:
            close_frame()
    if pending:
        close_frame()
    return Body(b"".join(pieces), frames, places)


def unpack(data: bytes, frames: Sequence[int], signatures: Sequence[bytes]) -> bytes:
    """All texts of a body, joined by commas: the inside of a JSON array."""
    decompress = _decompressor.value.decompress
    following = iter(signatures)
    view = memoryview(data)
    pieces: list[bytes] = []
    start = 0
    for end in frames:
        if pieces:
            pieces.append(b",")
        _complete(decompress(view[start:end]), following, pieces)
        start = end
    return b"".join(pieces)


def open_frame(frame: bytes) -> bytes:
    """The stored texts of one frame."""
    return _decompressor.value.decompress(frame)


def open_frames(data: bytes, ends: Sequence[int]) -> list[bytes]:
    """The stored texts of each frame of a body. Raises zstandard.ZstdError."""
    return [open_frame(data[start:end]) for start, end in pairwise((0, *ends))]


def completed(stored: bytes, *signatures: bytes) -> bytes:
    """Stored texts joined by commas, each with its first signature put back."""
    pieces: list[bytes] = []
    _complete(stored, iter(signatures), pieces)
    return b"".join(pieces)


def _complete(stored: bytes, signatures: Iterator[bytes], pieces: list[bytes]) -> None:
    """Appends the texts, each with its first signature put back. Large bodies are joined once:
    a copy of 6 MB costs as much as opening its frames.
    """
    first, *others = stored.split(SIGNATURES)
    pieces.append(first)
    for piece in others:
        more = b"," if piece[:1] == b'"' else b""
        pieces += (SIGNATURES, b'"', b58encode(next(signatures)).encode(), b'"', more, piece)
