"""Made instructions of the token programs, with every extension and both interfaces."""

import struct
from collections.abc import Iterator
from hashlib import sha256

from tests.chain.agave_decoder.fields import (
    TEXT_ALONE,
    Field,
    Fields,
    f64,
    key,
    mixed,
    one_off,
    option8,
    other_lengths,
    plain,
    pubkey,
    tag8,
    text,
    u8,
    u16,
    u64,
    usual,
)
from tests.chain.agave_decoder.instructions import Instruction, accounts, made, unknown

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"

_VARIANTS = 47
_BATCH = b"\xff"
_TEXT = text("<I")
_OPTION = option8(key(21))
_DECIMALS = u8(6)
_AMOUNT: Fields = [u64(1_234_567)]
_CHECKED: Fields = [u64(1_234_567), (*_DECIMALS, b"\x12", b"\x13", b"\x14", b"\x15")]
_EXTENSIONS: Field = (
    struct.pack("<2H", 7, 14),
    b"",
    b"\7",
    b"\7\0\1",
    *(struct.pack("<H", number) for number in (*range(31), 255, 256, 2**15, 2**16 - 1)),
)
_RATE: Field = tuple(struct.pack("<h", rate) for rate in (-7, 0, 1, -(2**15), 2**15 - 1))
_OFFSET: Field = (b"\0", b"\1", b"\xff", b"\x80")
_CIPHERTEXT: Field = (b"\x1f" * 36, bytes(36))
_AUDITED: Field = (b"\x2f" * 128,)
_BOOL = tag8(1, 2)

# Each by its first bytes: its accounts and its fields.
_Table = list[tuple[bytes, int, Fields]]

_PLAIN: _Table = [
    (b"\x00", 2, [_DECIMALS, pubkey(21), _OPTION]),
    (b"\x01", 4, []),
    (b"\x02", 4, [u8(2)]),
    (b"\x03", 3, _AMOUNT),
    (b"\x04", 3, _AMOUNT),
    (b"\x05", 2, []),
    (b"\x06", 2, [tag8(0, 19), _OPTION]),
    (b"\x07", 3, _AMOUNT),
    (b"\x08", 3, _AMOUNT),
    (b"\x09", 3, []),
    (b"\x0a", 3, []),
    (b"\x0b", 3, []),
    (b"\x0c", 4, _CHECKED),
    (b"\x0d", 4, _CHECKED),
    (b"\x0e", 3, _CHECKED),
    (b"\x0f", 3, _CHECKED),
    (b"\x10", 3, [pubkey(21)]),
    (b"\x11", 1, []),
    (b"\x12", 2, [pubkey(21)]),
    (b"\x13", 3, [u8(2)]),
    (b"\x14", 1, [_DECIMALS, pubkey(21), _OPTION]),
    (b"\x15", 1, [_EXTENSIONS]),
    (b"\x16", 1, []),
    (b"\x17", 1, _AMOUNT),
    (b"\x18", 1, [(b"1.25", *TEXT_ALONE)]),
    (b"\x26", 3, []),
    (b"\x2d", 3, [option8(struct.pack("<Q", 7))]),
]
_OF_EXTENSIONS: _Table = [
    (b"\x19", 1, [_OPTION]),
    (b"\x1a\x00", 1, [_OPTION, option8(key(22)), u16(50), u64(7)]),
    (b"\x1a\x01", 4, [*_CHECKED, u64(9)]),
    (b"\x1a\x02", 3, []),
    (b"\x1a\x03", 5, [(b"\2", b"\0", b"\1", b"\3", b"\xff")]),
    (b"\x1a\x04", 3, []),
    (b"\x1a\x05", 2, [u16(50), u64(7)]),
    (b"\x1c\x00", 1, [tag8(1, 3)]),
    (b"\x1c\x01", 2, [tag8(2, 3)]),
    (b"\x1d", 4, [_EXTENSIONS]),
    (b"\x1e\x00", 2, []),
    (b"\x1e\x01", 2, []),
    (b"\x1f", 3, []),
    (b"\x20", 1, []),
    (b"\x21\x00", 1, [pubkey(21), _RATE]),
    (b"\x21\x01", 2, [_RATE]),
    (b"\x22\x00", 2, []),
    (b"\x22\x01", 2, []),
    (b"\x23", 1, [pubkey(21)]),
    *((tag + b"\0", 1, [pubkey(21), pubkey(22)]) for tag in (b"\x24", b"\x27", b"\x28", b"\x29")),
    *((tag + b"\1", 2, [pubkey(21)]) for tag in (b"\x24", b"\x27", b"\x28", b"\x29")),
    (b"\x2b\x00", 1, [pubkey(21), f64(1.25)]),
    (b"\x2b\x01", 2, [f64(1.25), u64(1_700_000_000)]),
    (b"\x2c\x00", 1, [pubkey(21)]),
    (b"\x2c\x01", 2, []),
    (b"\x2c\x02", 2, []),
    (b"\x2e\x00", 1, [pubkey(21)]),
    (b"\x2e\x01", 4, _AMOUNT),
    (b"\x2e\x02", 4, _CHECKED),
]
_CONFIDENTIAL: _Table = [
    (b"\x1b\x00", 1, [pubkey(21), _BOOL, pubkey(22)]),
    (b"\x1b\x01", 2, [_BOOL, pubkey(22)]),
    (b"\x1b\x02", 4, [_CIPHERTEXT, u64(7), _OFFSET]),
    (b"\x1b\x03", 3, []),
    (b"\x1b\x04", 3, [_OFFSET]),
    (b"\x1b\x05", 3, [u64(7), u8(6)]),
    (b"\x1b\x06", 6, [u64(7), u8(6), _CIPHERTEXT, _OFFSET, _OFFSET]),
    (b"\x1b\x07", 7, [_CIPHERTEXT, _AUDITED, _OFFSET, _OFFSET, _OFFSET]),
    (b"\x1b\x08", 2, [u64(7), _CIPHERTEXT]),
    *((b"\x1b" + bytes([tag]), 2, []) for tag in (9, 10, 11, 12)),
    (b"\x1b\x0d", 9, [_CIPHERTEXT, _AUDITED, *([_OFFSET] * 5)]),
    (b"\x1b\x0e", 3, []),
    (b"\x25\x00", 1, [pubkey(21), pubkey(22)]),
    (b"\x25\x01", 4, [_OFFSET, _CIPHERTEXT]),
    (b"\x25\x02", 6, [(b"\2", b"\0", b"\1", b"\3", b"\xff"), _OFFSET, _CIPHERTEXT]),
    (b"\x25\x03", 3, []),
    (b"\x25\x04", 2, []),
    (b"\x25\x05", 2, []),
    (b"\x2a\x00", 1, [pubkey(22), _CIPHERTEXT]),
    (b"\x2a\x01", 3, [pubkey(22), _OFFSET]),
    (b"\x2a\x02", 2, [_CIPHERTEXT]),
    (b"\x2a\x03", 6, [_CIPHERTEXT, _AUDITED, _OFFSET, _OFFSET, _OFFSET]),
    (b"\x2a\x04", 6, [_CIPHERTEXT, _AUDITED, _OFFSET, _OFFSET, _OFFSET]),
    (b"\x2a\x05", 2, []),
    (b"\x2e\x03", 7, [_CIPHERTEXT, _AUDITED, _OFFSET, _OFFSET, _OFFSET]),
]


def _interface(name: str) -> bytes:
    return sha256(f"spl_token_{name}".encode()).digest()[:8]


_FIELD: Field = (b"\0", b"\1", b"\2", b"\3" + _TEXT[0], *(b"\3" + each for each in _TEXT), b"\4")
_BOUND = option8(struct.pack("<Q", 7))
_INTERFACES: _Table = [
    (_interface("group_interface:initialize_token_group"), 3, [pubkey(21), u64(7)]),
    (_interface("group_interface:update_group_max_size"), 2, [u64(7)]),
    (_interface("group_interface:update_authority"), 2, [pubkey(21)]),
    (_interface("group_interface:initialize_member"), 5, []),
    (_interface("metadata_interface:initialize_account"), 4, [_TEXT, _TEXT, _TEXT]),
    (_interface("metadata_interface:updating_field"), 2, [_FIELD, _TEXT]),
    (_interface("metadata_interface:remove_key_ix"), 2, [_BOOL, _TEXT]),
    (_interface("metadata_interface:update_the_authority"), 2, [pubkey(21)]),
    (_interface("metadata_interface:emitter"), 1, [_BOUND, _BOUND]),
]
_ALL = (*_PLAIN, *_OF_EXTENSIONS, *_CONFIDENTIAL, *_INTERFACES)


def made_token_instructions() -> Iterator[Instruction]:
    for tag, count, fields in _ALL:
        yield from made(TOKEN_2022, count, [plain(tag), *fields])
    for tag, count, fields in _CONFIDENTIAL:
        yield from _proofs(tag, count, fields)
    for tag, count, fields in _ALL:
        # The node reads both programs' instructions alike.
        for data in one_off([plain(tag), *fields]):
            yield Instruction(TOKEN, accounts(count), data)
    for tags in (tuple(bytes([tag]) for tag in (47, 48, 100, 121, 210, 254)), (b"",)):
        yield from unknown(TOKEN, tags)
    for first in (26, 27, 28, 30, 33, 34, 36, 37, 39, 40, 41, 42, 43, 44, 46):
        yield from unknown(TOKEN_2022, tuple(bytes([first, tag]) for tag in (2, 6, 15, 255)))
        for tag in range(16):
            for number, tail in enumerate(mixed(8, salt=tag)):
                yield Instruction(TOKEN_2022, accounts(number), bytes([first, tag]) + tail)
    for tag in range(_VARIANTS):
        for number, tail in enumerate(mixed(25, salt=tag)):
            yield Instruction(TOKEN_2022, accounts(number % 8), bytes([tag]) + tail)
    yield from _batches()


def _proofs(tag: bytes, most: int, fields: Fields) -> Iterator[Instruction]:
    """Proofs here and there, with as many accounts as they need, fewer and more."""
    places = [at for at, field in enumerate(fields) if field is _OFFSET]
    for which in range(1, 2 ** len(places)):
        chosen = list(fields)
        for bit, at in enumerate(places):
            chosen[at] = plain(b"\5" if which >> bit & 1 else b"\0")
        data = tag + usual(chosen)
        for count in range(2, most + 3):
            yield Instruction(TOKEN_2022, accounts(count), data)


def _batches() -> Iterator[Instruction]:
    """Instructions of a batch: right, broken, none, unknown, a batch again, of other lengths."""
    inner = {
        "transfer": (b"\x03" + struct.pack("<Q", 7), 3),
        "checked": (b"\x0c" + struct.pack("<QB", 7, 6), 4),
        "native": (b"\x11", 1),
        "group": (_INTERFACES[2][0] + key(21), 2),
        "cut off": (b"\x03\7", 3),
        "unknown": (b"\x64", 1),
        "empty": (b"", 1),
        "batch": (_BATCH, 1),
        "batched": (_BATCH + b"\1\1\x11", 1),
        "accountless": (b"\x11", 0),
    }
    for first, first_count in inner.values():
        for second, second_count in inner.values():
            data = _BATCH
            for each, count in ((first, first_count), (second, second_count)):
                data += bytes([count, len(each)]) + each
            total = first_count + second_count
            for count in {total, max(total - 1, 0), total + 2}:
                yield Instruction(TOKEN_2022, accounts(count), data)
    whole, count = inner["checked"]
    data = _BATCH + (bytes([count, len(whole)]) + whole) * 3
    for program in (TOKEN, TOKEN_2022):
        for cut in other_lengths(data):
            yield Instruction(program, accounts(3 * count), cut)
        for other in range(3 * count + 3):
            yield Instruction(program, accounts(other), data)
        yield Instruction(program, accounts(5), _BATCH)
        yield Instruction(program, (), _BATCH)
