"""Made accounts of the token programs: mints, holders and multisigs, with every extension."""

import struct
from collections.abc import Iterator

from tests.chain.agave_decoder.accounts import NOW, Account, states
from tests.chain.agave_decoder.fields import (
    Field,
    Fields,
    f64,
    key,
    mixed,
    one_off,
    option32,
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

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"

_MINT_SIZE, _HOLDER_SIZE, _MULTISIG_SIZE = 82, 165, 355

_MINT: Fields = [option32(key(21)), u64(10**15), u8(6), tag8(1, 2), option32(key(22))]
_AMOUNT: Field = u64(1_234_567_890)
_HOLDER: Fields = [
    pubkey(21),
    pubkey(22),
    _AMOUNT,
    option32(key(23)),
    tag8(1, 3),
    option32(struct.pack("<Q", 2_039_280)),
    u64(99),
    option32(key(24)),
]
_MULTISIG: Fields = [
    u8(2),
    u8(3),
    tag8(1, 2),
    pubkey(21),
    pubkey(22),
    pubkey(23),
    plain(bytes(256)),
]
MINT = usual(_MINT)
HOLDER = usual(_HOLDER)

_BOOL = tag8(1, 2)
_COUNT = u64(7)
_POINTER: Fields = [pubkey(21), pubkey(22)]
_CIPHERTEXT: Field = (b"\x2f" * 64, bytes(64))
_DECRYPTABLE: Field = (b"\x1f" * 36,)
_RATE: Field = tuple(struct.pack("<h", rate) for rate in (-7, 0, 500, -(2**15), 2**15 - 1))
_TIME: Field = tuple(
    struct.pack("<q", time) for time in (NOW - 10**7, 0, NOW, NOW + 9, -(2**63), 2**63 - 1)
)
_TEXT = text("<I")
_PAIR = _TEXT[0] * 2
_PAIRS: Field = (
    struct.pack("<I", 2) + _PAIR * 2,
    struct.pack("<I", 0),
    struct.pack("<I", 1) + _PAIR * 2,
    struct.pack("<I", 3) + _PAIR * 2,
    struct.pack("<I", 2**32 - 1) + _PAIR,
    struct.pack("<I", 1) + _TEXT[0] + _TEXT[4],
)
_FEE: Fields = [u64(5), u64(7), u16(50)]
_INTEREST: Fields = [pubkey(21), _TIME, _RATE, _TIME, _RATE]
_SCALED: Fields = [pubkey(21), f64(1.25), _TIME, f64(2.5)]
_EXTENSIONS: dict[int, Fields] = {
    1: [pubkey(21), pubkey(22), _COUNT, *_FEE, *_FEE],
    2: [_COUNT],
    3: [pubkey(21)],
    4: [pubkey(21), _BOOL, pubkey(22)],
    5: [
        _BOOL,
        pubkey(21),
        _CIPHERTEXT,
        _CIPHERTEXT,
        _CIPHERTEXT,
        _DECRYPTABLE,
        _BOOL,
        _BOOL,
        _COUNT,
        _COUNT,
        _COUNT,
        _COUNT,
    ],
    6: [tag8(2, 3)],
    7: [],
    8: [_BOOL],
    9: [],
    10: _INTEREST,
    11: [_BOOL],
    12: [pubkey(21)],
    13: [],
    14: _POINTER,
    15: [_BOOL],
    16: [pubkey(21), pubkey(22), _BOOL, _CIPHERTEXT],
    17: [_CIPHERTEXT],
    18: _POINTER,
    19: [pubkey(21), pubkey(22), _TEXT, _TEXT, _TEXT, _PAIRS],
    20: _POINTER,
    21: [pubkey(21), pubkey(22), _COUNT, _COUNT],
    22: _POINTER,
    23: [pubkey(21), pubkey(22), _COUNT],
    24: [_CIPHERTEXT, _DECRYPTABLE, pubkey(21), _CIPHERTEXT],
    25: _SCALED,
    26: [pubkey(21), _BOOL],
    27: [],
    28: [pubkey(21)],
}


def entry(kind: int, body: bytes, length: int | None = None) -> bytes:
    return struct.pack("<HH", kind, len(body) if length is None else length) + body


def mint(*entries: bytes, base: bytes = MINT) -> bytes:
    return base.ljust(_HOLDER_SIZE, b"\0") + b"\1" + b"".join(entries)


def holder(*entries: bytes, base: bytes = HOLDER) -> bytes:
    return base + b"\2" + b"".join(entries)


def made_token_accounts() -> Iterator[Account]:
    for owner in (TOKEN, TOKEN_2022):
        for fields in (_MINT, _MULTISIG):
            yield from states(owner, fields)
        for account in states(owner, _HOLDER):
            yield Account(owner, account.data, mint=MINT)
        yield Account(owner, HOLDER)
        yield Account(owner, HOLDER.ljust(_MULTISIG_SIZE, b"\0"), mint=MINT)
        yield Account(owner, mint(base=MINT).ljust(_MULTISIG_SIZE, b"\0"))
    yield from _kinds()
    for kind, fields in _EXTENSIONS.items():
        yield from _extended(kind, fields)
    yield from _several()
    yield from _amounts()
    for salt in range(10):
        for tail in mixed(20, salt=200 + salt):
            yield Account(TOKEN_2022, mint(tail))
            yield Account(TOKEN_2022, holder(tail), mint=MINT)


def _kinds() -> Iterator[Account]:
    """The byte that tells a mint from an account, and the padding before it."""
    for kind in (0, 1, 2, 3, 255):
        for base in (MINT.ljust(_HOLDER_SIZE, b"\0"), HOLDER):
            for tail in (b"", b"\0", bytes(4), entry(7, b""), entry(9, b"")):
                yield Account(TOKEN_2022, base + bytes([kind]) + tail, mint=MINT)
    for at in (_MINT_SIZE, _HOLDER_SIZE - 1):
        padded = bytearray(mint(entry(9, b"")))
        padded[at] = 1
        yield Account(TOKEN_2022, bytes(padded))
        yield Account(TOKEN_2022, HOLDER, mint=bytes(padded))


def _extended(kind: int, fields: Fields) -> Iterator[Account]:
    """One extension on a mint and on an account; one of them is wrong."""
    for body in one_off(fields):
        yield Account(TOKEN_2022, mint(entry(kind, body)))
        yield Account(TOKEN_2022, holder(entry(kind, body)), mint=MINT)
    body = usual(fields)
    for cut in other_lengths(body, step_after=64):
        yield Account(TOKEN_2022, mint(entry(kind, cut)))
        yield Account(TOKEN_2022, holder(entry(kind, cut)), mint=MINT)
    for length in (len(body) + 1, 65_535):
        yield Account(TOKEN_2022, mint(entry(kind, body, length)))
        yield Account(TOKEN_2022, holder(entry(kind, body, length)), mint=MINT)


def _several() -> Iterator[Account]:
    """Extensions one after another: all of them, one twice, unknown ones, and what follows."""
    of_mint = [entry(kind, usual(_EXTENSIONS[kind])) for kind in (18, 3, 1, 12, 19, 9)]
    of_holder = [entry(kind, usual(_EXTENSIONS[kind])) for kind in (7, 2, 8, 11, 15)]
    everything = [entry(kind, usual(fields)) for kind, fields in _EXTENSIONS.items()]
    closed, other = entry(3, key(21)), entry(3, key(22))
    behind = (
        [],
        [b"\0"],
        [b"\7"],
        [b"\7\0"],
        [b"\7\0\0"],
        [b"\0\0"],
        [bytes(4)],
        [bytes(2), closed],
        [entry(0, b"\1\2"), closed],
        [entry(29, b"")],
        [entry(29, b""), closed],
        [entry(255, b"x")],
        [entry(65_535, b"")],
        [entry(3, b""), closed],
        [closed, other],
        [closed, entry(3, b"\1")],
        [entry(3, key(21), 33)],
        [entry(7, b"", 65_535)],
    )
    for more in behind:
        yield Account(TOKEN_2022, mint(*of_mint, *more))
        yield Account(TOKEN_2022, mint(*more))
        yield Account(TOKEN_2022, mint(*more, *of_mint))
        yield Account(TOKEN_2022, holder(*of_holder, *more), mint=MINT)
        yield Account(TOKEN_2022, holder(*more), mint=MINT)
    yield Account(TOKEN_2022, mint(*everything))
    yield Account(TOKEN_2022, holder(*everything), mint=MINT)
    for count in (28, 64, 65, 70, 300):
        yield Account(TOKEN_2022, mint(entry(9, b"") * count))
        yield Account(TOKEN_2022, holder(entry(7, b"") * count), mint=MINT)
    # An extension whose end makes the whole a multisig's size.
    room = _MULTISIG_SIZE - len(mint()) - 4
    yield Account(TOKEN_2022, mint(entry(9, bytes(room))))
    yield Account(TOKEN_2022, holder(entry(7, bytes(room))), mint=MINT)


def _amounts() -> Iterator[Account]:
    """Holders' amounts as their mint has them: decimals, interest, a multiplier, and no mint."""
    for decimals in (*range(26), 100, 254, 255):
        base = MINT[:44] + bytes([decimals]) + MINT[45:]
        for amount in _AMOUNT:
            data = HOLDER[:64] + amount + HOLDER[72:]
            yield Account(TOKEN_2022, data, mint=base)
            yield Account(TOKEN_2022, data, mint=mint(entry(10, usual(_INTEREST)), base=base))
            yield Account(TOKEN_2022, data, mint=mint(entry(25, usual(_SCALED)), base=base))
    for now in (NOW, 0, -1, -(2**63), 2**63 - 1):
        for kind, fields in ((10, _INTEREST), (25, _SCALED)):
            for body in one_off(fields):
                yield Account(TOKEN_2022, HOLDER, mint=mint(entry(kind, body)), now=now)
    for broken in _mints():
        yield Account(TOKEN_2022, HOLDER, mint=broken)


def _mints() -> Iterator[bytes]:
    """Accounts at a mint's address, most of which are not a mint or have no sound extension."""
    interest, scaled = entry(10, usual(_INTEREST)), entry(25, usual(_SCALED))
    yield from one_off(_MINT)
    yield from (mint(interest, base=base) for base in one_off(_MINT))
    yield from other_lengths(MINT)
    yield from (HOLDER, holder(interest), usual(_MULTISIG), mint().ljust(_MULTISIG_SIZE, b"\0"))
    yield from (mint(), mint(b"\0"), mint(b"\0\0"), mint(b"\7"))
    yield from (mint(interest, scaled), mint(scaled, interest), mint(interest, interest[:4]))
    yield from (mint(bytes(2), interest), mint(entry(29, b""), interest), mint(interest, b"\7\0"))
    yield from (mint(interest, entry(29, b"")), mint(interest, entry(3, b"", 9)))
    yield from (mint(entry(3, b"", 9), interest), mint(entry(10, b""), interest))
    yield from (mint(entry(10, b"\0" * 53)), mint(entry(10, usual(_INTEREST), 200)))
    yield from (mint(entry(10, b""), scaled), mint(entry(25, b"\0" * 57)), mint(interest[:-1]))
    yield from (mint(entry(9, b"") * 70, interest), mint(entry(7, b""), scaled))
    yield from (holder(base=MINT.ljust(_HOLDER_SIZE, b"\0")), mint(interest)[:-1])
