"""Packed blocks of sealed changes: what goes in comes out, and nothing else is ever read."""

import os
import random
import subprocess
import sys
import tracemalloc
from itertools import groupby, pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_digest

from rewind.sealing.block_codec import (
    Block,
    BlockDamaged,
    Change,
    Digest,
    decode,
    encode,
    train,
)
from rewind.sealing.frames import Compressor
from tests.examples import examples

U64 = 2**64 - 1
I32 = 2**31 - 1
I64 = 2**63 - 1

_u64 = st.one_of(st.integers(0, 9), st.just(U64), st.integers(0, U64))
_slots = st.one_of(st.integers(0, 12), st.integers(300_000_000, 300_000_900), st.integers(0, I64))
_positions = st.one_of(st.integers(-2, 6), st.integers(-2, I32))
# Few first bytes and few accounts, so that accounts have many changes and buckets several accounts.
_pubkeys = st.tuples(
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
    _pubkeys,
    _slots,
    _positions,
    st.integers(0, 1),
    _u64,
    _u64,
    st.booleans(),
    st.one_of(st.integers(1, 3), st.integers(1, I32)),
    _datas,
)
_sorted = st.lists(_changes, max_size=60).map(
    lambda each: [next(same) for _, same in groupby(sorted(each), key=lambda one: one[:3])]
)
_targets = st.sampled_from((1, 60, 300, 4_700))


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


@given(_sorted, _targets)
@settings(max_examples=examples(300))
def test_what_goes_in_comes_out(changes: list[Change], target: int) -> None:
    blocks = list(encode(changes, None, target=target))
    back = read(blocks, None)
    assert back == changes
    assert [list(map(type, each)) for each in back] == [list(map(type, each)) for each in changes]
    assert Digest().add(back) == Digest().add(changes)


@given(_sorted, _targets)
@settings(max_examples=examples(150))
def test_blocks_are_in_order_and_have_one_bucket_each(changes: list[Change], target: int) -> None:
    blocks = list(encode(changes, None, target=target))
    assert sum(block.changes for block in blocks) == len(changes)
    for block in blocks:
        body = decode(block.body, None)
        own = list(body.all())
        assert body.first == block[:3] == key(own[0])
        assert body.last == block[3:6] == key(own[-1])
        assert body.changes == block.changes == len(own)
        assert block.pubkey[0] == block.last_pubkey[0]
    assert all(before[3:6] < after[:3] for before, after in pairwise(blocks))


@given(_sorted, _targets, st.data())
@settings(max_examples=examples(300))
def test_an_accounts_changes_are_found(
    changes: list[Change], target: int, data: st.DataObject
) -> None:
    pubkey = data.draw(st.one_of(st.sampled_from([*changes, None]).map(_pubkey_of), _pubkeys))
    times = st.one_of(
        st.sampled_from([each[1:3] for each in changes] or [(0, 0)]),
        st.tuples(_slots, _positions),
        st.sampled_from([(-1, -9), (2**70, 0), (I64, 2**40)]),
    )
    first, last = data.draw(times), data.draw(times)
    for block in encode(changes, None, target=target):
        body = decode(block.body, None)
        own = [each for each in body.all() if each.pubkey == pubkey]
        assert body.keys_of(pubkey) == [each[1:3] for each in own]
        assert body.of_account(pubkey, first, last) == [
            each for each in own if first <= each[1:3] <= last
        ]
        before = [each for each in own if each[1:3] <= last]
        assert body.newest(pubkey, *last) == (before[-1] if before else None)


def _pubkey_of(change: Change | None) -> bytes:
    return change.pubkey if change else bytes(32)


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.binary(max_size=60)), min_size=1, max_size=30),
    st.sampled_from((500, 4_700)),
)
@settings(max_examples=examples(150))
def test_data_that_grows_and_shrinks(sizes: list[tuple[int, bytes]], target: int) -> None:
    changes, data = [], b""
    for number, (size, written) in enumerate(sizes):
        data = (data + bytes(size))[:size]
        at = size // 2
        data = data[:at] + written + data[at + len(written) :]
        changes.append(Change(bytes(32), number, 0, 0, 5, 0, False, 1, data))
    (*blocks,) = encode(changes, None, target=target)
    assert read(blocks, None) == changes
    for block in blocks:
        body = decode(block.body, None)
        for slot, _ in body.keys_of(bytes(32)):
            assert body.newest(bytes(32), slot, 0) == changes[slot]


def test_large_accounts_are_kept_as_differences() -> None:
    changes = account(1, versions=60, size=1_000_003, changed=40) + account(2, versions=9, size=70)
    blocks = list(encode(changes, None))
    assert read(blocks, None) == changes
    # One whole state, and about a hundred bytes a change.
    assert sum(len(block.body) for block in blocks) < 1_000_003 + 60 * 400
    big = changes[41]
    (body,) = [decode(each.body, None) for each in blocks if each[:3] <= key(big) <= each[3:6]]
    assert body.newest(*key(big)) == big
    assert body.size > 1_000_000


def test_the_largest_account_rewritten() -> None:
    chance = random.Random(4)
    changes = [
        Change(bytes(32), slot, 0, 0, 1, 0, False, 1, chance.randbytes(10 << 20))
        for slot in range(3)
    ]
    blocks = list(encode(changes, None))
    assert [each for block in blocks for each in decode(block.body, None).all()] == changes


def test_many_changes_of_many_accounts_with_a_dictionary() -> None:
    made = (
        account(
            number + 1, versions=1 + number % 90, size=(0, 165, 653, 9_988)[number % 4], seed=number
        )
        for number in range(255)
    )
    changes = [each for one in made for each in one]
    dictionary = train(changes)
    assert 1_000 < len(dictionary) <= 110 << 10
    blocks = list(encode(changes, dictionary))
    assert read(blocks, dictionary) == changes
    sizes = [len(block.body) for block in blocks]
    assert max(sizes) < 3 * 9_988 and 2_000 < sum(sizes) / len(sizes) < 9_000
    # Another dictionary, or none, is found before anything is read.
    for other in (None, b"", b"x" * 4_000, dictionary[:-1] + b"\0\1"):
        with pytest.raises(BlockDamaged):
            decode(blocks[0].body, other)


def test_too_few_changes_make_no_dictionary() -> None:
    assert train(account(versions=20, size=100)) == b""
    assert train([]) == b""


def test_pubkeys_must_ascend_over_batches_too() -> None:
    changes = account(2, versions=2_048, size=0)
    for number, good in ((1, False), (3, True)):
        more = account(number, versions=2_048, size=0) + account(9, versions=1, size=0)
        if good:
            assert read(list(encode([*changes, *more], None)), None) == [*changes, *more]
        else:
            with pytest.raises(ValueError, match="ascending"):
                list(encode([*changes, *more], None))


def test_nothing_makes_no_block() -> None:
    assert list(encode([], None)) == []


def test_blocks_come_while_changes_are_read() -> None:
    """What is sealed is never in memory at once."""
    taken = 0

    def source():
        nonlocal taken
        for change in account(versions=30_000, size=0):
            taken += 1
            yield change

    blocks = encode(source(), None)
    next(blocks)
    assert taken < 10_000


def test_memory_does_not_grow_with_a_large_accounts_changes() -> None:
    size, versions = 2_000_000, 60
    data = bytearray(random.Random(3).randbytes(size))

    def source():
        for slot in range(versions):
            data[slot * 999 % size] ^= 255
            yield Change(bytes(32), slot, 0, 0, 1, 0, False, 1, bytes(data))

    tracemalloc.start()
    try:
        (block,) = encode(source(), None)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert block.changes == versions
    assert most < 12 * size


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_importing_the_codec_starts_no_threads() -> None:
    code = "import os, rewind.sealing.block_codec; print(len(os.listdir('/proc/self/task')))"
    environment = {name: os.environ[name] for name in os.environ if "BLAS" not in name}
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).resolve().parent.parent.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "1"


def test_threads_read_at_once() -> None:
    """Each has a decompressor of its own."""
    changes = [each for number in range(1, 9) for each in account(number, versions=40, size=500)]
    blocks = list(encode(changes, None))
    found = []
    threads = [
        Thread(target=lambda: found.extend(read(blocks, None) == changes for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_any_flipped_bit_is_found() -> None:
    (block,) = encode(account(versions=25, size=60), None)
    for place in range(8 * len(block.body)):
        damaged = bytearray(block.body)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(BlockDamaged):
            decode(bytes(damaged), None)
    for size in range(len(block.body)):
        with pytest.raises(BlockDamaged):
            decode(block.body[:size], None)
    with pytest.raises(BlockDamaged):
        decode(block.body + b"\0", None)


@given(st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_bytes_that_are_no_block_are_refused(body: bytes) -> None:
    with pytest.raises(BlockDamaged):
        decode(body, None)


@given(st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_a_right_checksum_over_anything_is_refused(packed: bytes) -> None:
    with pytest.raises(BlockDamaged):
        decode(xxh3_64_digest(packed) + packed, None)


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda each: b"\1\0" + each)))
@settings(max_examples=examples(300))
def test_rubbish_packed_as_a_block_is_refused(content: bytes) -> None:
    _reads_or_is_damaged(Compressor(None).pack(content))


@given(_sorted.filter(bool), st.data())
@settings(max_examples=examples(600))
def test_a_changed_content_is_read_or_refused(changes: list[Change], data: st.DataObject) -> None:
    """With a checksum that is right: nothing but BlockDamaged, and never much memory."""
    content = bytearray(_content(changes))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.one_of(st.integers(0, 60), st.integers(0, len(content))))
        place = min(place, len(content) - 1)
        match data.draw(st.integers(0, 2)):
            case 0:
                content[place] = data.draw(st.one_of(st.integers(0, 255), st.just(255)))
            case 1:
                del content[place : place + data.draw(st.integers(1, 9))]
            case _:
                content[place:place] = data.draw(st.binary(max_size=9))
        if not content:
            return
    _reads_or_is_damaged(Compressor(None).pack(content))


def _content(changes: list[Change]) -> bytes:
    block = next(encode(changes, None))
    return zstandard.ZstdDecompressor().decompress(block.body[8:])


def _reads_or_is_damaged(packed: bytes) -> None:
    try:
        body = decode(packed, None)
    except BlockDamaged:
        return
    try:
        assert body.last[0] >= body.first[0][:1]
        for number, _ in enumerate(body.all()):
            if number > 20:
                break
        pubkey, slot, position = body.first
        body.newest(pubkey, slot + 5, position)
        body.of_account(pubkey, (slot, position), (I64, I32))
        body.keys_of(pubkey)
    except BlockDamaged:
        return


_WHOLE = Change(bytes(32), 5, 3, 0, 1, 0, False, 1, b"")


@pytest.mark.parametrize(
    "changes",
    [
        [_WHOLE, _WHOLE],
        [_WHOLE, _WHOLE._replace(slot=4)],
        [_WHOLE, _WHOLE._replace(position=2)],
        [_WHOLE._replace(pubkey=b"\1" * 32), _WHOLE],
        [_WHOLE._replace(pubkey=b"\2" * 32), _WHOLE._replace(pubkey=b"\1" * 32), _WHOLE],
        [_WHOLE, _WHOLE._replace(pubkey=b"\2" * 32), _WHOLE._replace(pubkey=b"\1" * 32)],
        [_WHOLE._replace(pubkey=b"\1" * 31)],
        [_WHOLE, _WHOLE._replace(pubkey=b"\1" * 33)],
        [_WHOLE._replace(slot=-1)],
        [_WHOLE._replace(slot=2**63)],
        [_WHOLE._replace(position=-3)],
        [_WHOLE._replace(position=2**31)],
        [_WHOLE._replace(kind=2)],
        [_WHOLE._replace(lamports=-1)],
        [_WHOLE._replace(lamports=2**64)],
        [_WHOLE._replace(rent_epoch=2**64)],
        [_WHOLE._replace(owner_id=0)],
        [_WHOLE._replace(owner_id=2**31)],
        [_WHOLE._replace(data=bytes((10 << 20) + 1))],
    ],
    ids=str,
)
def test_changes_that_cannot_be_sealed_are_refused(changes: list[Change]) -> None:
    with pytest.raises(ValueError):
        list(encode(changes, None))


def test_a_wrong_dictionary_is_refused() -> None:
    with pytest.raises(ValueError):
        list(encode([_WHOLE], b"\x37\xa4\x30\xec" + b"\xff" * 40))


@given(_sorted, st.randoms())
@settings(max_examples=examples(100))
def test_a_digest_is_the_same_in_any_order_and_in_parts(
    changes: list[Change], chance: random.Random
) -> None:
    whole = Digest().add(changes)
    other = list(changes)
    chance.shuffle(other)
    middle = len(other) // 2
    assert Digest().add(other[:middle]) + Digest().add(other[middle:]) == whole
    passing = Digest()
    assert list(passing.over(iter(other))) == other
    assert passing == whole
    assert whole.count == len(changes)
    assert whole.lamports == sum(each.lamports for each in changes) % 2**128


@pytest.mark.parametrize(
    "other",
    [
        {"pubkey": b"\1" * 32},
        {"slot": 9},
        {"position": 9},
        {"kind": 1},
        {"lamports": 9},
        {"rent_epoch": 9},
        {"executable": True},
        {"owner_id": 9},
        {"data": bytes(20)},
        {"data": b""},
    ],
    ids=str,
)
def test_a_digest_sees_every_field(other: dict[str, Any]) -> None:
    before, change, after = account(versions=3, size=20)
    changed = Digest().add([before, change._replace(**other), after])
    assert changed != Digest().add([before, change, after])
