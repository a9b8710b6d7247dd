"""The containers that hold many blocks: dbin, and tar of block files."""

from collections.abc import Iterator

from upstream.archives.compression import ByteStream
from upstream.archives.errors import Unreadable

# What a message of such a container is named.
SOLANA_BLOCK = "sf.solana.type.v1.Block"
DBIN_MAGIC = b"dbin"
_DBIN_HEADER = DBIN_MAGIC + b"\x00SOL01"
_LONGEST_TYPE = 128
_TAR_BLOCK = 512
_TAR_MAGIC_AT = 257
_TAR_FILES = (b"\0", b"0", b"7")
# Directories, and members that only describe the one after them (long names, attributes).
_TAR_PASSED_OVER = (b"5", b"L", b"K", b"x", b"g")


def dbin_messages(stream: ByteStream, most: int) -> Iterator[bytes]:
    """The messages of a dbin container, none larger than `most` bytes."""
    _read_dbin_header(stream)
    number = 1
    while length := stream.read(4):
        size = int.from_bytes(length)
        if len(length) == 4 and size > most:
            raise Unreadable(f"block {number}", f"a block larger than {most} bytes is not read")
        message = stream.read(size)
        if len(length) < 4 or len(message) < size:
            raise Unreadable(f"block {number}", "the file ends inside this block")
        yield message
        number += 1


def _read_dbin_header(stream: ByteStream) -> None:
    """Version 0 has three letters and two digits for its content, version 1 a name behind its
    length of two bytes.
    """
    start = stream.peek(len(_DBIN_HEADER))
    if start == _DBIN_HEADER:
        stream.read(len(start))
        return
    if start[: len(DBIN_MAGIC) + 1] == DBIN_MAGIC + b"\x01":
        size = min(int.from_bytes(start[5:7]), _LONGEST_TYPE)
        header = stream.read(7 + size)
        if len(header) < 7 + size:
            raise Unreadable("", "the dbin header ends too early")
        if header.endswith(SOLANA_BLOCK.encode()):
            return
        raise Unreadable("", f"a dbin container of another sort: {header!r}")
    if _DBIN_HEADER.startswith(start):
        raise Unreadable("", "the dbin header ends too early")
    raise Unreadable("", f"a dbin container of another sort: {start!r}")


def is_tar(start: bytes) -> bool:
    """Whether a file's first 512 bytes are a tar header."""
    return start[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


def tar_members(stream: ByteStream) -> Iterator[tuple[str, "Member"]]:
    """Name and bytes of each file in a tar, in order; each must be read before the next."""
    ended = False
    while header := stream.read(_TAR_BLOCK):
        if len(header) < _TAR_BLOCK:
            raise Unreadable("", "the tar ends inside a header")
        if not any(header):
            ended = True
            break
        name = header[:100].rstrip(b"\0").decode("utf-8", "backslashreplace")
        _check_header(header, name)
        size = _octal(header[124:136], name)
        kind = header[156:157]
        member = Member(stream, size, name)
        if kind in _TAR_FILES:
            yield name, member
        elif kind not in _TAR_PASSED_OVER:
            raise Unreadable(f"member {name}", "no plain file")
        member.skip_to_next()
    if not ended:
        raise Unreadable("", "the tar ends too early")


class Member:
    """One file of a tar, as a source of bytes; `left` of them have not been read."""

    def __init__(self, stream: ByteStream, size: int, name: str) -> None:
        self._stream = stream
        self.left = size
        self._padding = -size % _TAR_BLOCK
        self._name = name

    def read(self, size: int, /) -> bytes:
        wanted = min(size, self.left)
        chunk = self._stream.read(wanted)
        if len(chunk) < wanted:
            raise Unreadable("", "the tar ends inside this member")
        self.left -= wanted
        return chunk

    def skip_to_next(self) -> None:
        while self.left:
            self.read(1 << 16)
        if len(self._stream.read(self._padding)) < self._padding:
            raise Unreadable(f"member {self._name}", "the tar ends inside this member")


def _check_header(header: bytes, name: str) -> None:
    # The checksum counts its own field as spaces.
    total = sum(header) - sum(header[148:156]) + 8 * 32
    if total != _octal(header[148:156], name):
        raise Unreadable(f"member {name}", "the tar header is damaged")


def _octal(field: bytes, name: str) -> int:
    digits = field.strip(b"\0 ")
    if not digits or digits.strip(b"01234567"):
        raise Unreadable(f"member {name}", "the tar header is damaged")
    return int(digits, 8)
