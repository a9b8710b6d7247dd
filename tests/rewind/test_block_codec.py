"""Packed blocks of sealed changes: what goes in comes out, and nothing else is ever read."""

import os
import random
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.sealed.packing.block_codec import (
    BlockDamaged,
    Change,
    Digest,
    decode,
    encode,
    train,
)
from tests.examples import examples
from tests.rewind.sealed_changes import (
    I64,
    account,
    key,
    positions,
    pubkeys,
    read,
    slots,
    sorted_changes,
    targets,
)


@given(sorted_changes, targets)
@settings(max_examples=examples(300))
def test_what_goes_in_comes_out(changes: list[Change], target: int) -> None:
    blocks = list(encode(changes, None, target=target))
    back = read(blocks, None)
    assert back == changes
    assert [list(map(type, each)) for each in back] == [list(map(type, each)) for each in changes]
    assert Digest().add(back) == Digest().add(changes)


@given(sorted_changes, targets)
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


@given(sorted_changes, targets, st.data())
@settings(max_examples=examples(300))
def test_an_accounts_changes_are_found(
    changes: list[Change], target: int, data: st.DataObject
) -> None:
    pubkey = data.draw(st.one_of(st.sampled_from([*changes, None]).map(_pubkey_of), pubkeys))
    times = st.one_of(
        st.sampled_from([each[1:3] for each in changes] or [(0, 0)]),
        st.tuples(slots, positions),
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
    code = "import os, rewind.sealed.packing.block_codec; print(len(os.listdir('/proc/self/task')))"
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
