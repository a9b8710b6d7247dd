"""Changes as they are sealed: any, and those of an account that is written often."""

import random
from itertools import groupby

from hypothesis import strategies as st

from rewind.sealed.packing.block_codec import Block, Change, decode

U64 = 2**64 - 1
I32 = 2**31 - 1
I64 = 2**63 - 1

_u64 = st.one_of(st.integers(0, 9), st.just(U64), st.integers(0, U64))
slots = st.one_of(st.integers(0, 12), st.integers(300_000_000, 300_000_900), st.integers(0, I64))
positions = st.one_of(st.integers(-2, 6), st.integers(-2, I32))
# Few first bytes and few accounts, so that accounts have many changes and buckets several accounts.
pubkeys = st.tuples(
    st.sampled_from((0, 1, 255)), st.integers(0, 3), st.sampled_from((b"\0", b"\xff"))
).map(lambda each: bytes(each[:2]) + each[2] * 30)
_datas = st.one_of(
    st.just(b""),
    st.binary(max_size=40),
    # Mostly zeros, so that versions have bytes in common.
    st.tuples(st.integers(0, 700), st.binary(max_size=9), st.integers(0, 700)).map(
        lambda each: bytes(each[0]) + each[1] + bytes(each[2])
    ),
)
_changes = st.builds(
    Change,
    pubkeys,
    slots,
    positions,
    st.integers(0, 1),
    _u64,
    _u64,
    st.booleans(),
    st.one_of(st.integers(1, 3), st.integers(1, I32)),
    _datas,
)
sorted_changes = st.lists(_changes, max_size=60).map(
    lambda each: [next(same) for _, same in groupby(sorted(each), key=lambda one: one[:3])]
)
targets = st.sampled_from((1, 60, 300, 4_700))


def key(change: Change) -> tuple[bytes, int, int]:
    return change[:3]


def account(
    number: int = 1, *, versions: int, size: int, seed: int = 1, changed: int = 8
) -> list[Change]:
    """An account that is written often, a few bytes at a time."""
    chance = random.Random(seed)
    data = bytearray(chance.randbytes(size))
    found = []
    for version in range(versions):
        for _ in range(changed if size else 0):
            data[chance.randrange(size)] = chance.randrange(256)
        found.append(
            Change(
                bytes([7, number]) + bytes(30),
                1_000 + 3 * version,
                version % 5 - 2,
                0,
                chance.randrange(1 << 40),
                U64,
                False,
                number,
                bytes(data),
            )
        )
    return found


def read(blocks: list[Block], dictionary: bytes | None) -> list[Change]:
    return [each for block in blocks for each in decode(block.body, dictionary).all()]
