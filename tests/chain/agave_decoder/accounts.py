"""Made accounts of the native programs: every state, whole and broken."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from solders.pubkey import Pubkey

from tests.chain.agave_decoder.fields import (
    TEXT_ALONE,
    Field,
    Fields,
    address,
    f64,
    key,
    mixed,
    one_off,
    option8,
    other_lengths,
    plain,
    pubkey,
    several,
    tag8,
    tag32,
    u8,
    u16,
    u64,
    usual,
)

SYSTEM = "11111111111111111111111111111111"
LOOKUP_TABLE = "AddressLookupTab1e1111111111111111111111111"
UPGRADEABLE = "BPFLoaderUpgradeab1e11111111111111111111111"
CONFIG = "Config1111111111111111111111111111111111111"
STAKE = "Stake11111111111111111111111111111111111111"
SYSVAR = "Sysvar1111111111111111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
PUBKEY = address(1)
NOW = 1_700_000_000

_VALIDATOR_INFO = bytes(Pubkey.from_string("Va1idator1nfo111111111111111111111111111111"))


@dataclass(frozen=True, slots=True)
class Account:
    """One made account; `mint` is the data of the account at the mint it names, if it exists,
    and `now` the cluster's time.
    """

    owner: str
    data: bytes
    pubkey: str = PUBKEY
    mint: bytes | None = None
    now: int = NOW


def states(owner: str, fields: Fields, pubkey: str = PUBKEY) -> Iterator[Account]:
    """An account with each field in each form, and of every other length."""
    for data in one_off(fields):
        yield Account(owner, data, pubkey)
    for data in other_lengths(usual(fields)):
        yield Account(owner, data, pubkey)


def made_accounts() -> Iterator[Account]:
    """All but those of the token programs."""
    for owner, fields in _STATES:
        yield from states(owner, fields)
        # As on chain: more space than the state needs.
        yield Account(owner, usual(fields) + bytes(200))
    for sysvar, fields in _SYSVARS.items():
        yield from states(SYSVAR, fields, sysvar)
    yield from _histories()
    yield from _configs()
    yield from _votes()
    owners = (SYSTEM, LOOKUP_TABLE, UPGRADEABLE, CONFIG, STAKE, SYSVAR, VOTE)
    for salt, owner in enumerate(owners):
        for tag in range(6):
            for tail in mixed(20, salt=100 + 10 * salt + tag):
                yield Account(owner, struct.pack("<I", tag) + tail + bytes(64))
                yield Account(owner, struct.pack("<I", tag) + tail)
    for sysvar in (*_SYSVARS, address(2), "SysvarS1otHistory11111111111111111111111111"):
        for tail in mixed(20, salt=7):
            yield Account(SYSVAR, tail, sysvar)
        yield Account(SYSVAR, bytes(300), sysvar)
        # A sysvar's address is parsed for its owner alone.
        yield Account(SYSTEM, bytes(300), sysvar)
    yield Account("NativeLoader1111111111111111111111111111111", b"system_program")
    yield Account("Feature111111111111111111111111111111111111", b"\1" + bytes(8))


_META: Fields = [u64(2_282_880), pubkey(21), pubkey(22), u64(7), u64(9), pubkey(23)]
_DELEGATION: Fields = [
    pubkey(24),
    u64(10**9),
    u64(500),
    u64(2**64 - 1),
    f64(0.25),
    u64(77),
]
_TABLE: Fields = [u64(2**64 - 1), u64(7), u8(3), option8(key(21)), plain(b"\0\0")]
_STATES: list[tuple[str, Fields]] = [
    (SYSTEM, [tag32(1, 2), tag32(1, 2), pubkey(21), pubkey(22), u64(5_000)]),
    (SYSTEM, [tag32(0, 2), tag32(1, 2), pubkey(21), pubkey(22), u64(5_000)]),
    (SYSTEM, [tag32(1, 2), tag32(0, 2)]),
    (STAKE, [tag32(0, 4)]),
    (STAKE, [tag32(1, 4), *_META]),
    (STAKE, [tag32(2, 4), *_META, *_DELEGATION, u8(0)]),
    (STAKE, [tag32(3, 4)]),
    (UPGRADEABLE, [tag32(0, 4)]),
    (UPGRADEABLE, [tag32(1, 4), option8(key(21)), (b"\x7fELF", b"")]),
    (UPGRADEABLE, [tag32(2, 4), pubkey(21)]),
    (UPGRADEABLE, [tag32(3, 4), u64(7), option8(key(21)), (b"\x7fELF", b"")]),
    (UPGRADEABLE, [tag32(3, 4), u64(7), plain(b"\0"), plain(key(21)), (b"\x7fELF", b"")]),
    (LOOKUP_TABLE, [tag32(0, 2)]),
    (LOOKUP_TABLE, [tag32(1, 2), *_TABLE]),
    (LOOKUP_TABLE, [tag32(1, 2), *_TABLE, pubkey(24), pubkey(25)]),
    (
        LOOKUP_TABLE,
        [tag32(1, 2), *_TABLE[:3], plain(b"\0" + bytes(34)), pubkey(24), pubkey(25)],
    ),
]

_FEES: Field = u64(5_000)
_SYSVARS: dict[str, Fields] = {
    "SysvarC1ock11111111111111111111111111111111": [u64(7), u64(8), u64(9), u64(10), u64(11)],
    "SysvarEpochRewards1111111111111111111111111": [
        u64(7),
        u64(8),
        pubkey(21),
        (b"\7" * 16, bytes(16), b"\xff" * 16),
        u64(9),
        u64(10),
        tag8(1, 2),
    ],
    "SysvarEpochSchedu1e111111111111111111111111": [
        u64(432_000),
        u64(432_000),
        tag8(0, 2),
        u64(14),
        u64(524_256),
    ],
    "SysvarFees111111111111111111111111111111111": [_FEES],
    "SysvarLastRestartS1ot1111111111111111111111": [u64(7)],
    "SysvarRecentB1ockHashes11111111111111111111": [
        several("<Q", *(key(number) + _FEES[0] for number in (21, 22, 23))),
    ],
    "SysvarRent111111111111111111111111111111111": [u64(3_480), f64(2.0), u8(50)],
    "SysvarRewards111111111111111111111111111111": [f64(0.25), f64(1.5)],
    "SysvarS1otHashes111111111111111111111111111": [
        several("<Q", *(struct.pack("<Q", number) + key(number) for number in (23, 22, 21))),
    ],
    "SysvarStakeHistory1111111111111111111111111": [
        several("<Q", *(struct.pack("<4Q", number, 7, 8, 9) for number in (23, 22, 21))),
    ],
}


def _histories() -> Iterator[Account]:
    """Slot histories: two of all the bits they have, and others of the wrong size."""
    slots = 1024 * 1024
    bits = b"\1" + bytes(7) + b"\x81\xff" + bytes(slots // 8 - 10)
    whole = b"\1" + struct.pack("<Q", slots // 64) + bits + struct.pack("<QQ", slots, slots + 7)
    history = "SysvarS1otHistory11111111111111111111111111"
    yield Account(SYSVAR, whole, history)
    yield Account(SYSVAR, whole + b"\0", history)
    yield Account(SYSVAR, whole[:-1], history)
    yield Account(SYSVAR, whole[:-9], history)
    yield Account(SYSVAR, b"\0" + whole[1:], history)
    yield Account(SYSVAR, b"\2" + whole[1:], history)
    for blocks, length in ((0, 0), (1, 64), (1, 63), (1, 65), (2, 64), (slots // 64, slots - 1)):
        body = bits[: 8 * blocks]
        data = b"\1" + struct.pack("<Q", blocks) + body + struct.pack("<QQ", length, 7)
        yield Account(SYSVAR, data, history)
    yield Account(SYSVAR, b"\0" + struct.pack("<QQ", 0, 7), history)
    yield Account(SYSVAR, b"\1" + struct.pack("<QQQ", 2**63, 0, 7), history)


_JSON = (
    '{"name":"Tidemark","website":"https://example.com","keybaseUsername":"x"}',
    '{"b":1,"a":{"d":2,"c":[1,2.5,-3,null,true,false,"x"]}}',
    '{"a":1,"a":2}',
    "{}",
    "[]",
    "null",
    "7",
    '"text"',
    " {} ",
    "\t{\n}\r",
    "\ufeff{}",
    "\u00a0{}",
    "",
    "{",
    '{"a":1,}',
    "{'a':1}",
    "NaN",
    "[Infinity]",
    "[-Infinity]",
    "[18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809]",
    "[0,-0,-0.0,1e3,1E+2,1.5e-7,1e21,1e400,0.1]",
    "[1e400]",
    "[-1e400]",
    "[1e-400,5e-324,2.2250738585072011e-308,1.7976931348623157e308]",
    "[123456789012345678901234567890,0.30000000000000004,9007199254740993]",
    "[3.141592653589793238462643383279,100000000000000000000000.5,1e22,1e23]",
    "[18446744073709551619.5,18446744073709551615.5,0.18446744073709551616,123e-325]",
    "[1e-99999999999,-1e-2147483648,0e99999999999,0e400,1e+00000000000000000005]",
    "[1e99999999999]",
    "[1e2147483648]",
    "[1" + "0" * 308 + ",1" + "0" * 400 + "e-100,0." + "0" * 400 + "1e400]",
    "[1" + "0" * 309 + "]",
    "[" + "1" * 400 + "e-390,-" + "7" * 30 + "." + "7" * 30 + "]",
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[1e]",
    '["\\u0041\\ud83e\\udd80\\n\\/\\""]',
    '["\\ud800"]',
    '["\\udc00"]',
    '["\\ud800\\u0041"]',
    '{"\\ud800":1}',
    '["\\x"]',
    '["\\u00g0"]',
    '["a\tb"]',
    '["a\nb"]',
    '["\x7f"]',
    '["\x00"]',
    '["\\u0000"]',
    "[" * 127 + "]" * 127,
    "[" * 128 + "]" * 128,
    "[" * 129 + "]" * 129,
    '{"a":' * 127 + "1" + "}" * 127,
    '{"a":' * 128 + "1" + "}" * 128,
    "{} {}",
    "{}x",
    "[1,,2]",
    "[1 2]",
    "tru",
    "[True]",
    "{1:2}",
    '{"a" 1}',
    "[1_000]",
    "[\u0661]",
    "// c\n{}",
    '{"Ä":1,"Z":2,"a":3,"":4,"\\u007f":5,"🦀":6,"\uffff":7}',
)


def _configs() -> Iterator[Account]:
    info, other = _VALIDATOR_INFO + b"\0", key(21) + b"\1"
    known = b"\2" + info + other
    for text in _JSON:
        body = text.encode()
        yield Account(CONFIG, known + struct.pack("<Q", len(body)) + body + bytes(20))
    for body in TEXT_ALONE:
        quoted = b'"' + body + b'"'
        yield Account(CONFIG, known + struct.pack("<Q", len(quoted)) + quoted)
    body = struct.pack("<Q", 9) + b'{"a":"b"}'
    yield from states(CONFIG, [several("<B", info, other), plain(body)])
    for keys in (
        b"\0",
        b"\1" + other,
        b"\2" + other + info,
        b"\1" + _VALIDATOR_INFO + b"\2",
        b"\1" + _VALIDATOR_INFO + b"\1",
        b"\x81\0" + info,
        b"\x82\x80\0" + info + other,
        b"\x80\1" + info * 128,
        b"\xff\xff\3" + info,
        b"\xff\xff\xff" + info,
    ):
        yield Account(CONFIG, keys + body)
    for length in (0, 8, 10, 2**32, 2**63, 2**64 - 1):
        yield Account(CONFIG, known + struct.pack("<Q", length) + body[8:])
    yield Account(
        CONFIG,
        b"\2" + key(20) + b"\0" + other + struct.pack("<Qd", 7, 0.25) + b"\7",
        "StakeConfig11111111111111111111111111111111",
    )


def _lockouts(with_latency: bool) -> Field:
    each = [struct.pack("<QI", slot, 31 - slot) for slot in (5, 6, 9)]
    return several("<Q", *(b"\2" + one if with_latency else one for one in each))


_VOTERS: Field = (
    *several("<Q", *(struct.pack("<Q", epoch) + key(epoch) for epoch in (21, 22))),
    # Out of order, and an epoch twice.
    struct.pack("<QQ", 2, 9) + key(1) + struct.pack("<Q", 3) + key(2),
    struct.pack("<QQ", 2, 9) + key(1) + struct.pack("<Q", 9) + key(2),
)
_CREDITS: Field = several("<Q", *(struct.pack("<3Q", epoch, 77, 7) for epoch in (21, 22, 23)))
_ROOT = option8(struct.pack("<Q", 4))
_PRIOR: Field = (
    bytes(32 * 48) + struct.pack("<Q", 31) + b"\1",
    key(9) * 48 + struct.pack("<Q", 5) + b"\0",
    bytes(32 * 48) + struct.pack("<Q", 32) + b"\1",
    bytes(32 * 48) + b"\xff" * 8 + b"\1",
    bytes(32 * 48) + struct.pack("<Q", 31) + b"\2",
    bytes(32 * 48) + struct.pack("<Q", 31) + b"\xff",
)
_STAMP: Fields = [u64(9), u64(1_700_000_000)]
# Basis points that divide by a hundred and that do not, and more than a u8 of percent.
_BPS: Field = (*u16(1_234), *(struct.pack("<H", bps) for bps in (99, 100, 101, 700, 10_000)))
_MORE_BPS: Field = tuple(struct.pack("<H", bps) for bps in (25_499, 25_500, 25_501, 25_600, 30_000))


def _old(version: int) -> Fields:
    return [
        tag32(version, 4),
        pubkey(21),
        pubkey(22),
        u8(7),
        _lockouts(version > 1),
        _ROOT,
        _VOTERS,
        _PRIOR,
        _CREDITS,
        *_STAMP,
    ]


def _newest(bls: Field) -> Fields:
    return [
        tag32(3, 4),
        pubkey(21),
        pubkey(22),
        pubkey(23),
        pubkey(24),
        (*_BPS, *_MORE_BPS),
        u16(56),
        u64(7),
        bls,
        _lockouts(True),
        _ROOT,
        _VOTERS,
        _CREDITS,
        *_STAMP,
    ]


def _votes() -> Iterator[Account]:
    for fields in (_old(1), _old(2), _newest(option8(b"\5" * 48)), _newest(plain(b"\0"))):
        yield from states(VOTE, fields)
        yield Account(VOTE, usual(fields).ljust(3_762, b"\0"))
        for short in (b"", bytes(4), key(20) * 60):
            yield Account(VOTE, usual(fields)[:80] + short)
    # The oldest version, which the node no longer reads.
    yield Account(VOTE, struct.pack("<I", 0) + key(21) * 60)
    votes = [struct.pack("<BQI", 1, slot, 31) for slot in range(40)]
    for count in (31, 32, 33, 40):
        fields = _newest(plain(b"\0"))
        fields[9] = plain(struct.pack("<Q", count) + b"".join(votes[:count]))
        yield Account(VOTE, usual(fields))
    earned = [struct.pack("<3Q", epoch, 77, 7) for epoch in range(80)]
    for count in (63, 64, 65, 80):
        fields = _newest(plain(b"\0"))
        fields[12] = plain(struct.pack("<Q", count) + b"".join(earned[:count]))
        yield Account(VOTE, usual(fields))
    voters = [struct.pack("<Q", epoch) + key(epoch) for epoch in range(40)]
    for count in (4, 5, 40):
        fields = _newest(plain(b"\0"))
        fields[11] = plain(struct.pack("<Q", count) + b"".join(voters[:count]))
        yield Account(VOTE, usual(fields))
