"""Made instructions: every type of every parsed program, whole and broken."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tests.chain.agave_decoder.fields import (
    TEXT_ALONE,
    Field,
    Fields,
    address,
    key,
    mixed,
    one_off,
    option8,
    other_lengths,
    plain,
    pubkey,
    several,
    tag32,
    text,
    u8,
    u16,
    u32,
    u64,
    usual,
)

SYSTEM = "11111111111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
STAKE = "Stake11111111111111111111111111111111111111"
LOADER = "BPFLoader2111111111111111111111111111111111"
UPGRADEABLE = "BPFLoaderUpgradeab1e11111111111111111111111"
LOOKUP_TABLE = "AddressLookupTab1e1111111111111111111111111"
ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
MEMOS = (
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH",
)
# Programs that the node does not parse.
OTHERS = (
    "ComputeBudget111111111111111111111111111111",
    "BPFLoader1111111111111111111111111111111111",
    "LoaderV411111111111111111111111111111111111",
    "Config1111111111111111111111111111111111111",
    "ZkE1Gama1Proof11111111111111111111111111111",
)
_CLOCK = "SysvarC1ock11111111111111111111111111111111"
_RENT = "SysvarRent111111111111111111111111111111111"
_CONFIG = "StakeConfig11111111111111111111111111111111"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One made instruction, its accounts' addresses resolved."""

    program: str
    accounts: tuple[str, ...]
    data: bytes


def accounts(count: int) -> tuple[str, ...]:
    return tuple(address(number) for number in range(1, count + 1))


def made(program: str, count: int, fields: Fields) -> Iterator[Instruction]:
    """An instruction of `count` accounts: with each field in each form, of every other length,
    and with fewer and more accounts.
    """
    whole = accounts(count)
    for data in one_off(fields):
        yield Instruction(program, whole, data)
    data = usual(fields)
    for cut in other_lengths(data):
        yield Instruction(program, whole, cut)
    for other in range(count + 5):
        if other != count:
            yield Instruction(program, accounts(other), data)
    yield Instruction(program, (address(9),) * count, data)


def unknown(program: str, tags: Field) -> Iterator[Instruction]:
    """Variants that the program may not have, with data that could be anyone's."""
    for tag in tags:
        for tail in (b"", bytes(8), bytes(64), key(3) + key(4), b"\xff" * 200):
            for count in (0, 1, 5, 12):
                yield Instruction(program, accounts(count), tag + tail)


def made_instructions() -> Iterator[Instruction]:
    """All but those of the token programs."""
    for tag, (program, count, fields) in _numbered():
        yield from made(program, count, [tag32(tag, 0)[:1], *fields])
    yield from _stakes_with_sysvars()
    yield from _votes()
    for program, most in ((SYSTEM, 14), (VOTE, 20), (STAKE, 18), (UPGRADEABLE, 10)):
        yield from unknown(program, tag32(most, 2))
        yield from _by_chance(program, most + 2)
    for program in (LOADER, LOOKUP_TABLE):
        yield from unknown(program, tag32(2, 6))
        yield from _by_chance(program, 7)
    yield from _associated()
    for memo in MEMOS:
        for text_alone in (*TEXT_ALONE, b"\0", bytes(8), b"m" * 566):
            for count in (0, 1, 3):
                yield Instruction(memo, accounts(count), text_alone)
    for other in OTHERS:
        yield from made(other, 2, [u32(2), u64(1)])


def _by_chance(program: str, variants: int) -> Iterator[Instruction]:
    for tag in range(variants):
        for number, tail in enumerate(mixed(25, salt=tag)):
            yield Instruction(program, accounts(number % 9), struct.pack("<I", tag) + tail)


def _associated() -> Iterator[Instruction]:
    for tag, count in ((0, 6), (1, 6), (2, 7)):
        yield from made(ASSOCIATED, count, [plain(bytes([tag]))])
    for count in range(9):
        yield Instruction(ASSOCIATED, accounts(count), b"")
    yield from unknown(ASSOCIATED, tuple(bytes([tag]) for tag in (3, 4, 127, 128, 255)))


_TEXT = text("<Q")
_SYSTEM: list[tuple[int, Fields]] = [
    (2, [u64(7), u64(165), pubkey(21)]),
    (1, [pubkey(21)]),
    (2, [u64(7)]),
    (2, [pubkey(21), _TEXT, u64(7), u64(9), pubkey(22)]),
    (3, []),
    (5, [u64(7)]),
    (3, [pubkey(21)]),
    (2, [pubkey(21)]),
    (1, [u64(7)]),
    (2, [pubkey(21), _TEXT, u64(7), pubkey(22)]),
    (2, [pubkey(21), _TEXT, pubkey(22)]),
    (3, [u64(7), _TEXT, pubkey(21)]),
    (1, []),
    (2, [u64(7), u64(9), pubkey(21)]),
]
_ROLE = tag32(0, 2)
_LOCKUP: Fields = [option8(struct.pack("<q", -7)), option8(struct.pack("<Q", 9))]
_STAKE: list[tuple[int, Fields]] = [
    (2, [pubkey(21), pubkey(22), u64(7), u64(9), pubkey(23)]),
    (3, [pubkey(21), _ROLE]),
    (6, []),
    (3, [u64(7)]),
    (5, [u64(7)]),
    (3, []),
    (2, [*_LOCKUP, option8(key(21))]),
    (5, []),
    (3, [pubkey(21), _ROLE, _TEXT, pubkey(22)]),
    (4, []),
    (4, [_ROLE]),
    (4, [_ROLE, _TEXT, pubkey(22)]),
    (3, _LOCKUP),
    (1, []),
    (3, []),
    (5, []),
    (3, [u64(7)]),
    (3, [u64(7)]),
]
_BYTES = several("<Q", b"\x7f", b"E", b"L", b"F", b"\0")
_LOADER: list[tuple[int, Fields]] = [(1, [u32(7), _BYTES]), (2, [])]
_UPGRADEABLE: list[tuple[int, Fields]] = [
    (2, []),
    (2, [u32(7), _BYTES]),
    (8, [u64(7)]),
    (8, [u64(7), plain(b"\0")]),
    (7, []),
    (3, []),
    (4, []),
    (4, [u32(7)]),
    (3, []),
    (3, []),
    (5, [u32(7)]),
]
_LOOKUP_TABLE: list[tuple[int, Fields]] = [
    (4, [u64(7), u8(254)]),
    (2, []),
    (4, [several("<Q", key(21), key(22), key(23))]),
    (2, []),
    (3, []),
]


def _numbered() -> Iterator[tuple[int, tuple[str, int, Fields]]]:
    for program, table in (
        (SYSTEM, _SYSTEM),
        (STAKE, _STAKE),
        (LOADER, _LOADER),
        (LOOKUP_TABLE, _LOOKUP_TABLE),
    ):
        for tag, (count, fields) in enumerate(table):
            yield tag, (program, count, fields)
    tags = (0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9)
    for tag, (count, fields) in zip(tags, _UPGRADEABLE, strict=True):
        yield tag, (UPGRADEABLE, count, fields)


def _stakes_with_sysvars() -> Iterator[Instruction]:
    """Every stake instruction with the sysvars where its older form had them, and elsewhere."""
    for tag, (_, fields) in enumerate(_STAKE):
        data = struct.pack("<I", tag) + usual(fields)
        for count in range(1, 9):
            for put in (
                {1: _CLOCK},
                {2: _CLOCK},
                {1: _RENT},
                {2: _CLOCK, 4: _CONFIG},
                {1: _CLOCK, 2: _CLOCK},
                {4: _CONFIG},
            ):
                whole = list(accounts(count))
                for at, sysvar in put.items():
                    if at < count:
                        whole[at] = sysvar
                yield Instruction(STAKE, tuple(whole), data)


_BLS = b"\5" * 48 + b"\6" * 96
_AUTHORITY: Field = (*tag32(0, 3), struct.pack("<I", 2) + _BLS, struct.pack("<I", 2) + _BLS[:-1])
_STAMP = option8(struct.pack("<q", 1_700_000_000))
_KIND = tag32(0, 2)


def _lockouts(*each: tuple[int, int]) -> Field:
    return several("<Q", *(struct.pack("<QI", *one) for one in each))


# Counts in one to three bytes and offsets in as many as ten: right, not in their shortest form,
# too long, and adding up to more than a u64.
_COMPACT: Field = (
    b"\3\1\x1f\2\1\x81\1\7",
    b"\0",
    b"\1\0\0",
    b"\1\x80\0\5",
    b"\1\x80\x80\1\5",
    b"\1" + b"\xff" * 9 + b"\1\5",
    b"\1" + b"\xff" * 9 + b"\2\5",
    b"\1" + b"\xff" * 10 + b"\1\5",
    b"\1" + b"\x80" * 9 + b"\0\5",
    b"\2" + (b"\xff" * 9 + b"\1\5") * 2,
    b"\x81\0\1\5",
    b"\x82\x80\0" + b"\1\5" * 2,
    b"\x81\x80\4" + b"\1\5",
    b"\x80\x80\4",
    b"\xff\xff\3",
    b"\xff\xff\x83",
    b"\x20" + b"\1\5" * 32,
    b"\x81\1" + b"\1\5" * 129,
)
_COMPACT_UPDATE: Fields = [u64(1_000), _COMPACT, pubkey(21), _STAMP]
_UPDATE: Fields = [
    _lockouts((5, 31), (9, 2), (7, 1)),
    option8(struct.pack("<Q", 4)),
    pubkey(21),
    _STAMP,
]
_CAST: Fields = [
    several("<Q", *(struct.pack("<Q", slot) for slot in (5, 6, 9))),
    pubkey(21),
    _STAMP,
]
_VOTE: list[tuple[int, Fields]] = [
    (4, [pubkey(21), pubkey(22), pubkey(23), u8(7)]),
    (3, [pubkey(21), _AUTHORITY]),
    (4, _CAST),
    (3, [u64(7)]),
    (3, []),
    (2, [u8(7)]),
    (4, [*_CAST, pubkey(22)]),
    (4, [_AUTHORITY]),
    (2, _UPDATE),
    (2, [*_UPDATE, pubkey(22)]),
    (3, [_AUTHORITY, pubkey(21), _TEXT, pubkey(22)]),
    (4, [_AUTHORITY, pubkey(21), _TEXT]),
    (2, _COMPACT_UPDATE),
    (2, [*_COMPACT_UPDATE, pubkey(22)]),
    (2, [*_COMPACT_UPDATE, pubkey(22)]),
    (2, [*_COMPACT_UPDATE, pubkey(22), pubkey(23)]),
    (
        4,
        [
            pubkey(21),
            pubkey(22),
            plain(_BLS),
            pubkey(23),
            u16(1_234),
            pubkey(24),
            u16(56),
            pubkey(25),
        ],
    ),
    (3, [_KIND]),
    (2, [u16(1_234), _KIND]),
    (2, [u64(7)]),
]


def _votes() -> Iterator[Instruction]:
    for tag, (count, fields) in enumerate(_VOTE):
        yield from made(VOTE, count, [plain(struct.pack("<I", tag)), *fields])
    for tag in (1, 7, 10, 11):
        count, fields = _VOTE[tag]
        with_bls = [((field[-2],) if field is _AUTHORITY else field) for field in fields]
        yield from made(VOTE, count, [plain(struct.pack("<I", tag)), *with_bls])
