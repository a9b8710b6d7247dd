"""Fields of made data: each is its usual bytes, followed by other ones, right and wrong."""

import random
import struct
from collections.abc import Iterator

from solders.pubkey import Pubkey

# The bytes a field may have; the first are the usual ones.
Field = tuple[bytes, ...]
# A field after another: an instruction's data, or an account's.
Fields = list[Field]

_SEED = 35


def key(number: int) -> bytes:
    return bytes([number]) * 32


def address(number: int) -> str:
    return str(Pubkey(key(number)))


def plain(data: bytes) -> Field:
    return (data,)


def u8(usual: int) -> Field:
    return tuple(bytes([each]) for each in (usual, 0, 1, 2, 127, 128, 255))


def u16(usual: int) -> Field:
    return tuple(struct.pack("<H", each) for each in (usual, 0, 1, 0x7FFF, 0x8000, 0xFFFF))


def u32(usual: int) -> Field:
    return tuple(struct.pack("<I", each) for each in (usual, 0, 1, 2**31, 2**32 - 1))


def u64(usual: int) -> Field:
    numbers = (usual, 0, 1, 10**9, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1)
    return tuple(struct.pack("<Q", each) for each in numbers)


def f64(usual: float) -> Field:
    numbers = (usual, 0.0, -0.0, 1.0, 0.1, 1e21, 1.5e-7, 5e-324, -2.5e300, float("inf"))
    return (
        *(struct.pack("<d", each) for each in numbers),
        struct.pack("<d", float("-inf")),
        bytes.fromhex("000000000000f87f"),
    )


def tag32(usual: int, count: int) -> Field:
    """A variant of `count`, four bytes."""
    others = (*range(count), count, 255, 256, 2**31, 2**32 - 1)
    return tuple(struct.pack("<I", each) for each in (usual, *others))


def tag8(usual: int, count: int) -> Field:
    """A variant of `count`, or a bool with a `count` of 2, one byte."""
    return tuple(bytes([each]) for each in (usual, *range(count), count, count + 1, 128, 255))


def pubkey(number: int) -> Field:
    return (key(number), bytes(32), b"\xff" * 32)


def option8(inside: bytes) -> Field:
    """An option with a tag of one byte."""
    return (
        b"\1" + inside,
        b"\0",
        b"\0" + inside,
        b"\1",
        b"\2" + inside,
        b"\xff" + inside,
        b"\1" + inside[:-1],
    )


def option32(inside: bytes) -> Field:
    """An option of fixed size with a tag of four bytes."""
    tags = (1, 0, 2, 256, 257, 2**32 - 1)
    empty = struct.pack("<I", 1) + bytes(len(inside))
    return (*(struct.pack("<I", tag) + inside for tag in tags), empty)


_TEXTS = (
    b"seed",
    b"",
    "Tidemark é ☃ 🦀".encode(),
    b'"quoted"\\ \n\t\x01\x7f\0',
    b"\xff",
    b"ab\x80",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x98",
    "\ufeff\u2028\u202e".encode(),
    b"x" * 33,
)


def text(prefix: str) -> Field:
    """Text after its length, whose struct format is `prefix`; and lengths that lie."""
    longest = 2 ** (8 * struct.calcsize(prefix)) - 1
    return (
        *(struct.pack(prefix, len(each)) + each for each in _TEXTS),
        struct.pack(prefix, 5) + b"seed",
        struct.pack(prefix, 3) + b"seed",
        struct.pack(prefix, longest) + b"seed",
        struct.pack(prefix, longest // 2 + 1) + b"seed",
    )


TEXT_ALONE: Field = _TEXTS


def several(prefix: str, *items: bytes) -> Field:
    """A list after its count; and counts that lie."""
    longest = 2 ** (8 * struct.calcsize(prefix)) - 1
    joined = b"".join(items)
    counts = (len(items), len(items) + 1, max(len(items) - 1, 0), longest, longest // 32 + 1)
    return (
        *(struct.pack(prefix, count) + joined for count in counts),
        struct.pack(prefix, 0),
        struct.pack(prefix, 1) + items[0],
    )


def usual(fields: Fields) -> bytes:
    return b"".join(field[0] for field in fields)


def one_off(fields: Fields) -> Iterator[bytes]:
    """The usual data, and with each field in each of its other forms."""
    yield usual(fields)
    for at, field in enumerate(fields):
        before, after = usual(fields[:at]), usual(fields[at + 1 :])
        for other in field[1:]:
            yield before + other + after


def other_lengths(data: bytes, *, step_after: int = 200) -> Iterator[bytes]:
    """The data cut off at every length (every 13th beyond `step_after`), and with more behind."""
    for length in (*range(min(len(data), step_after)), *range(step_after, len(data), 13)):
        yield data[:length]
    for more in (b"\0", b"\1", b"\xff", bytes(8), bytes(32), b"\xff" * 33):
        yield data + more


def mixed(count: int, salt: int) -> Iterator[bytes]:
    """Tails of pieces that mean something here and there, the same in every run."""
    # Only getrandbits: what choices and samples draw differs between versions of Python.
    chance = random.Random(_SEED * 1_000 + salt)
    pieces = [b"\0", b"\1", b"\2", b"\3", b"\xff", bytes(4), bytes(8), key(7), bytes(32), b"ab"]
    for _ in range(count):
        yield b"".join(
            pieces[chance.getrandbits(16) % len(pieces)] for _ in range(chance.getrandbits(3))
        ) + bytes(chance.getrandbits(8) for _ in range(chance.getrandbits(2)))
