"""Cuckoo filters as Yellowstone's clients build them, one key and one step after the other."""

from collections.abc import Iterable, Sequence
from typing import Any

from upstream.protobuf import geyser_pb2 as schema

# "yllwstn!", the seed that Yellowstone's own builder takes unless it is given one.
SEED = 0x796C6C7773746E21
_U64 = 0xFFFFFFFFFFFFFFFF


def cuckoo_filter(keys: Iterable[bytes], seed: int = SEED, bucket_count: int = 0) -> Any:
    """A schema.CuckooFilter that has these keys, with so many buckets or as many as they need.
    ValueError where they do not fit.
    """
    keys = list(keys)
    count = bucket_count or 1 << max(0, -(-len(keys) * 10 // 38) - 1).bit_length()
    buckets = [[0] * 4 for _ in range(count)]
    for key in keys:
        _insert(buckets, key, seed)
    data = b"".join(each.to_bytes(2, "little") for bucket in buckets for each in bucket)
    return schema.CuckooFilter(
        data=data, bucket_count=count, entries_per_bucket=4, fingerprint_bits=16, hash_seed=seed
    )


def has(built: Any, key: bytes) -> bool:
    """What Yellowstone's servers say of the key."""
    halves = [int.from_bytes(built.data[n : n + 2], "little") for n in range(0, len(built.data), 2)]
    buckets = [halves[n : n + 4] for n in range(0, len(halves), 4)]
    fingerprint, first, other = _places(buckets, key, built.hash_seed)
    return fingerprint in buckets[first] or fingerprint in buckets[other]


def _places(buckets: Sequence[Sequence[int]], key: bytes, seed: int) -> tuple[int, int, int]:
    hashed = sip_hash((32).to_bytes(8, "little") + key, seed)
    fingerprint = hashed >> 32 & 0xFFFF or 1
    first = hashed % len(buckets)
    return fingerprint, first, first ^ _turn(buckets, fingerprint, seed)


def _turn(buckets: Sequence[Sequence[int]], fingerprint: int, seed: int) -> int:
    return sip_hash(fingerprint.to_bytes(2, "little"), seed) % len(buckets)


def _insert(buckets: list[list[int]], key: bytes, seed: int) -> None:
    fingerprint, first, other = _places(buckets, key, seed)
    for place in (first, other):
        if 0 in buckets[place]:
            buckets[place][buckets[place].index(0)] = fingerprint
            return
    place = first
    for kick in range(500):
        entry = (kick + fingerprint) % 4
        fingerprint, buckets[place][entry] = buckets[place][entry], fingerprint
        place ^= _turn(buckets, fingerprint, seed)
        if 0 in buckets[place]:
            buckets[place][buckets[place].index(0)] = fingerprint
            return
    raise ValueError("the keys do not fit")


def sip_hash(message: bytes, seed: int) -> int:
    """SipHash-2-4 with the key that Yellowstone makes of a seed."""
    turned = _rotated(seed, 32)
    v0, v1 = seed ^ 0x736F6D6570736575, turned ^ 0x646F72616E646F6D
    v2, v3 = seed ^ 0x6C7967656E657261, turned ^ 0x7465646279746573
    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) & 0xFF])
    words = [int.from_bytes(padded[at : at + 8], "little") for at in range(0, len(padded), 8)]
    for word in (*words, None):
        v3, v2 = (v3, v2 ^ 0xFF) if word is None else (v3 ^ word, v2)
        for _ in range(4 if word is None else 2):
            v0, v2 = v0 + v1 & _U64, v2 + v3 & _U64
            v1, v3 = _rotated(v1, 13) ^ v0, _rotated(v3, 16) ^ v2
            v0 = _rotated(v0, 32)
            v2, v0 = v2 + v1 & _U64, v0 + v3 & _U64
            v1, v3 = _rotated(v1, 17) ^ v2, _rotated(v3, 21) ^ v0
            v2 = _rotated(v2, 32)
        v0 ^= word or 0
    return v0 ^ v1 ^ v2 ^ v3


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _U64
