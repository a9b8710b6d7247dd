"""Cuckoo filters of pubkeys: any, damaged ones, and those that Yellowstone's Rust code built."""

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cuckoo_filters import SEED, cuckoo_filter, has
from tests.examples import examples
from upstream.geyser.cuckoo import LARGEST_BYTES, BadCuckooFilter, CuckooFilter, HashedKeys
from upstream.protobuf import geyser_pb2 as schema

# Built by the crate yellowstone-grpc-proto 14.0.1: `CuckooFilter::<[u8; 32]>::
# with_capacity_and_hasher(capacity, YellowstoneHasherBuilder::new(seed))`, into which key(0) to
# key(count - 1) were inserted, and its `contains` asked for the first of the others that it has.
BUILT_BY_RUST = [
    (
        SEED,
        40,
        "6c2a21e7cfab00006aa9456075d000009fc5e22100000000555e40886f0155f6b15f000000000000c32f70bf"
        "ca24000012bb389ecfbc000069bfd130000000000ce4d5b3e2270000e55fbe3d6a7d0000b24b3a7892bada24"
        "b3dd23ea4b110000c3b4fed400000000314c5e6cd12f000000000000000000003a83000000000000",
        [47835, 59383],
    ),
    (0, 7, "a05b8420bb0accc3c22543231bf40000", [3831, 9205, 14504, 45017, 52734]),
    (
        # Nearly full: keys were moved to their other buckets.
        2**64 - 1,
        57,
        "c2792d799d108b1d23d08e8fb38f8b6d76a2ebbd1ffe00003d6ab50344cbb573b9457e85a82082eff7489757"
        "5ae9cfe7b3c0b189059a53f069469a193b9b0000c49035f49cb799e8ba6cf08aba480000a4c0e61900000000"
        "f1026534569469eaab8b6a1e909a4711b816fa688fe92da18a49b90564a19988edb39fb700000000",
        [8099, 21903, 26810, 45635, 51372, 52745, 56143],
    ),
]
pubkeys = st.binary(min_size=32, max_size=32)


def key(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "little")).digest()


def among(found: CuckooFilter, keys: list[bytes]) -> list[bytes]:
    return list(found.among(HashedKeys(keys, found.seed)))


@pytest.mark.parametrize(("seed", "count", "data", "also"), BUILT_BY_RUST)
def test_a_filter_of_theirs_has_what_they_say(
    seed: int, count: int, data: str, also: list[int]
) -> None:
    buckets = len(data) // 16
    built = schema.CuckooFilter(
        data=bytes.fromhex(data),
        bucket_count=buckets,
        entries_per_bucket=4,
        fingerprint_bits=16,
        hash_seed=seed,
    )
    inserted = [key(number) for number in range(count)]
    assert among(CuckooFilter.read(built), inserted) == inserted
    others = [key(number) for number in range(count, also[-1] + 1)]
    assert among(CuckooFilter.read(built), others) == [key(number) for number in also]
    # Ours of the tests builds the same.
    assert cuckoo_filter(inserted, seed, buckets).data == built.data


@settings(max_examples=examples(200))
@given(st.lists(pubkeys, max_size=30), st.lists(pubkeys, max_size=5), st.integers(0, 2**64 - 1))
def test_every_key_that_was_inserted_matches(
    inserted: list[bytes], others: list[bytes], seed: int
) -> None:
    built = cuckoo_filter(inserted, seed, bucket_count=16)
    found = CuckooFilter.read(built)
    asked = inserted + others
    assert among(found, asked) == [each for each in asked if has(built, each)]
    assert among(found, inserted) == inserted
    assert [each in found for each in asked] == [has(built, each) for each in asked]
    # As it crosses Redis.
    assert CuckooFilter(found.packed) == found


@settings(max_examples=examples(200))
@given(
    st.builds(
        schema.CuckooFilter,
        data=st.one_of(st.binary(max_size=40), st.sampled_from([8, 16, 32]).map(bytes)),
        bucket_count=st.one_of(st.integers(0, 5), st.integers(0, 2**32 - 1)),
        entries_per_bucket=st.sampled_from([4, 4, 4, 0, 8]),
        fingerprint_bits=st.sampled_from([16, 16, 16, 8, 0]),
        hash_seed=st.integers(0, 2**64 - 1),
        hash_algorithm=st.sampled_from([0, 0, 0, 1, 2**31 - 1]),
    )
)
def test_any_filter_is_read_or_refused(asked: Any) -> None:
    is_whole = (
        asked.bucket_count in (1, 2, 4)
        and len(asked.data) == 8 * asked.bucket_count
        and (asked.entries_per_bucket, asked.fingerprint_bits) == (4, 16)
        and asked.hash_algorithm == 0
    )
    if is_whole:
        assert (key(1) in CuckooFilter.read(asked)) == has(asked, key(1))
    else:
        with pytest.raises(BadCuckooFilter):
            CuckooFilter.read(asked)


def test_the_largest_filter_is_read_and_one_above_is_not() -> None:
    asked = cuckoo_filter([key(1)], SEED, LARGEST_BYTES // 8)
    assert key(1) in CuckooFilter.read(asked) and key(2) not in CuckooFilter.read(asked)
    asked.data, asked.bucket_count = 2 * asked.data, 2 * asked.bucket_count
    with pytest.raises(BadCuckooFilter, match="at most 1048576 bytes"):
        CuckooFilter.read(asked)
