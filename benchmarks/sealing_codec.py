"""Packed blocks of sealed changes: bytes a change, and what sealing and reading cost.

The changes are made: accounts of the kinds that mainnet writes most, each written where such a
program writes, as often as a few accounts are and most are not. No database.
"""

import gc
import random
import statistics
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from rewind.sealed.packing.block_codec import Block, Change, Digest, decode, encode, train

CHANGES = (100_000, 300_000)
FIRST_SLOT, SLOTS = 300_240_000, 432_000
PER_ACCOUNT = 23
# An epoch of mainnet has tens of thousands of changes in each bucket; so have these few.
BUCKETS = 8
INDEX_ENTRY = 110  # bytes of a block's row and its index, without the block
U64_MAX = 2**64 - 1

Value = TypeVar("Value")


class Field(NamedTuple):
    """A little-endian number that a write changes."""

    at: int
    size: int
    bits: int  # of a usual change
    chance: float = 1.0


class Kind(NamedTuple):
    share: float  # of accounts
    size: int
    fields: tuple[Field, ...]
    spread: int = 0  # the fields lie at a random one of so many places, 144 bytes apart


KINDS = (
    Kind(0.28, 0, ()),
    Kind(0.40, 165, (Field(64, 8, 24),)),
    Kind(0.03, 82, (Field(36, 8, 28),)),
    Kind(
        0.10,
        653,
        (
            Field(65, 16, 52),
            Field(81, 4, 2, 0.5),
            Field(85, 8, 12),
            Field(165, 16, 45, 0.5),
            Field(245, 16, 45, 0.5),
            Field(261, 8, 12),
        ),
    ),
    Kind(0.06, 904, (Field(40, 4, 15), Field(56, 8, 12), Field(76, 4, 2), Field(216, 8, 14))),
    Kind(0.06, 9_988, (Field(45, 16, 55), Field(61, 16, 55), Field(77, 16, 55)), spread=60),
    Kind(0.04, 3_312, tuple(Field(32 + 8 * each, 8, 16) for each in (0, 1, 2, 8, 22, 23, 25))),
    Kind(0.03, 1_864, tuple(Field(256 + 112 * each, 16, 44, 0.6) for each in range(5))),
)


def main() -> None:
    for wanted in map(int, sys.argv[1:]) if len(sys.argv) > 1 else CHANGES:
        changes = list(made_changes(wanted))
        sizes = sum(len(each.data) for each in changes)
        print(f"{len(changes):,} changes, data of {sizes / len(changes):,.0f} B", flush=True)
        measure(changes)


def measure(changes: Sequence[Change]) -> None:
    count = len(changes)
    gc.collect()
    gc.freeze()  # the changes themselves are no part of what is measured
    # A quarter of them, in ranges of keys, as a task would read them.
    sample = [each for number, each in enumerate(changes) if number // 2_000 % 4 == 0]
    dictionary, training = _timed(lambda: train(sample))
    digest, summing = _timed(lambda: Digest().add(changes))
    blocks, encoding = _timed(lambda: list(encode(changes, dictionary)))
    size = sum(len(block.body) for block in blocks)
    index = INDEX_ENTRY * len(blocks)
    print(
        f"  {(size + index) / count:.1f} B a change: {size / count:.1f} in blocks of"
        f" {size / len(blocks):,.0f} B and {count / len(blocks):.0f} changes,"
        f" {index / count:.1f} around them; dictionary {len(dictionary):,} B in {training:.1f} s"
    )
    _, decoding = _timed(lambda: deque(_read(blocks, dictionary), maxlen=0))
    assert Digest().add(_read(blocks, dictionary)) == digest
    print(
        f"  encode {count / (encoding + summing):,.0f} changes per CPU second, of it the digest"
        f" {1e6 * summing / count:.2f} µs a change; decode {count / decoding:,.0f}",
        flush=True,
    )
    _measure_reads(changes, blocks, dictionary)


def _read(blocks: Sequence[Block], dictionary: bytes) -> Iterator[Change]:
    return (each for block in blocks for each in decode(block.body, dictionary).all())


def _timed(work: Callable[[], Value]) -> tuple[Value, float]:
    began = time.process_time()
    value = work()
    return value, time.process_time() - began


def _measure_reads(changes: Sequence[Change], blocks: Sequence[Block], dictionary: bytes) -> None:
    chance = random.Random(3)
    took = []
    for block in chance.choices(blocks, k=2_000):
        wanted = chance.choice(list(decode(block.body, dictionary).all()))
        began = time.thread_time()
        found = decode(block.body, dictionary).newest(*wanted[:3])
        took.append(time.thread_time() - began)
        assert found == wanted
    print(f"  CPU of decode and one account's newest: {_quantiles(took)}")
    took = []
    writes = Counter(each.pubkey for each in changes)
    often = [pubkey for pubkey, count in writes.items() if count > 400]
    for pubkey in chance.sample(often, min(40, len(often))):
        wanted_ones = [each for each in changes if each.pubkey == pubkey][:400]
        first, last = wanted_ones[0][:3], wanted_ones[-1][:3]
        bodies = [each.body for each in blocks if each[:3] <= last and each[3:6] >= first]
        for _ in range(3):
            began = time.thread_time()
            read = [
                each
                for body in bodies
                for each in decode(body, dictionary).of_account(pubkey, first[1:], last[1:])
            ]
            took.append(time.thread_time() - began)
        assert read == wanted_ones
    print(f"  CPU of decode and 400 changes of one account: {_quantiles(took)}", flush=True)


def _quantiles(took: Sequence[float]) -> str:
    steps = statistics.quantiles(took, n=100)
    return f"p50 {1e3 * steps[49]:.3f} ms, p99 {1e3 * steps[98]:.3f} ms"


def made_changes(wanted: int) -> Iterator[Change]:
    """About so many, sorted; the same ones for the same number."""
    chance = random.Random(7)
    number = wanted // PER_ACCOUNT
    shares = [1 / (rank + 1) ** 1.02 for rank in range(number)]
    scale = wanted / sum(shares)
    chance.shuffle(shares)
    first_states = {kind: [_first_state(kind, chance) for _ in range(3)] for kind in KINDS}
    kinds = chance.choices(KINDS, [kind.share for kind in KINDS], k=number)
    pubkeys = sorted(bytes([chance.randrange(BUCKETS)]) + chance.randbytes(31) for _ in kinds)
    for pubkey, share, kind in zip(pubkeys, shares, kinds, strict=True):
        writes = int(share * scale + chance.random())
        state = bytearray(chance.choice(first_states[kind]))
        yield from _account(pubkey, kind, state, writes, chance)


def _first_state(kind: Kind, chance: random.Random) -> bytes:
    """Half zeros, some small numbers, some keys."""
    state = bytearray()
    while len(state) < kind.size:
        number = chance.randrange(1 << chance.choice((8, 20, 40))).to_bytes(16, "little")
        state += chance.choices((bytes(16), number, chance.randbytes(16)), (55, 30, 15))[0]
    return bytes(state[: kind.size])


def _account(
    pubkey: bytes, kind: Kind, data: bytearray, writes: int, chance: random.Random
) -> Iterator[Change]:
    if kind.size:
        data[:32] = chance.randbytes(32)  # its own key or owner
    times: set[tuple[int, int]] = set()
    slot = chance.randrange(SLOTS)
    for _ in range(writes):
        # Half of an account's writes come close behind another.
        is_close = chance.random() < 0.5
        slot = slot + int(chance.expovariate(0.2)) if is_close else chance.randrange(SLOTS)
        times.add((FIRST_SLOT + slot % SLOTS, chance.randrange(1_300)))
    lamports = 2_039_280 if kind.size else int(2 ** chance.gauss(28, 4))
    owner = KINDS.index(kind) + 1
    for at, position in sorted(times):
        if not kind.size:
            lamports = max(0, lamports - 5_000 + int(chance.gauss(0, 1) * 2**20))
        _write(kind, data, chance)
        yield Change(pubkey, at, position, 0, lamports, U64_MAX, False, owner, bytes(data))


def _write(kind: Kind, data: bytearray, chance: random.Random) -> None:
    offset = 144 * chance.randrange(kind.spread) if kind.spread else 0
    for at, size, bits, probability in kind.fields:
        if chance.random() > probability:
            continue
        place = slice(at + offset, at + offset + size)
        change = int(2 ** chance.gauss(bits, 2.5)) * chance.choice((1, 1, -1))
        value = (int.from_bytes(data[place], "little") + change) % (1 << 8 * size)
        data[place] = value.to_bytes(size, "little")


if __name__ == "__main__":
    main()
