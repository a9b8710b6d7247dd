"""Cuckoo filters of pubkeys, as Yellowstone's clients send them: sets of many keys in a few bytes
each, which may also match a key that is not in them. Written from `yellowstone-grpc-proto`
(`src/cuckoo`), and held against filters that it built.
"""

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

# 131,072 buckets, which hold some 498,000 keys at the usual load of 95 %.
LARGEST_BYTES = 1 << 20
_ENTRIES = 4
_FINGERPRINT_BITS = 16
_BUCKET_BYTES = _ENTRIES * _FINGERPRINT_BITS // 8
_SIP_HASH = 0
_SEED = struct.Struct("<Q")
_U64 = np.dtype("<u8")
_U16 = np.dtype("<u2")

Words = npt.NDArray[np.uint64]


class BadCuckooFilter(ValueError):
    """The text says what is wrong with it."""


class HashedKeys:
    """Pubkeys with what a filter of this seed looks at."""

    def __init__(self, keys: Iterable[bytes], seed: int) -> None:
        self.keys = list(keys)
        words = np.frombuffer(b"".join(self.keys), dtype=_U64).reshape(len(self.keys), 4)
        length = np.full(len(self.keys), 32, dtype=_U64)
        # Rust hashes an array of bytes as a slice: its length stands before it.
        self.hashes = _sip_hash([length, *words.T], np.uint64(40 << 56), seed)
        fingerprints = (self.hashes >> np.uint64(32)) & np.uint64(0xFFFF)
        # 0 is an empty entry.
        fingerprints[fingerprints == 0] = 1
        self.fingerprints = fingerprints.astype(_U16)
        self.turns = _sip_hash([], fingerprints | np.uint64(2 << 56), seed)


class CuckooFilter:
    """Of its `packed` form, by which it is compared: the seed, then the buckets."""

    __slots__ = ("_buckets", "packed", "seed")

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        (self.seed,) = _SEED.unpack_from(packed)
        buckets = np.frombuffer(packed, dtype=_U16, offset=_SEED.size)
        self._buckets = buckets.reshape(-1, _ENTRIES)

    @classmethod
    def read(cls, asked: Any) -> Self:
        """Of a schema.CuckooFilter; raises BadCuckooFilter. Only its bytes are copied."""
        if asked.hash_algorithm != _SIP_HASH:
            raise BadCuckooFilter(f"no hash algorithm has the number {asked.hash_algorithm}")
        for name, only in (
            ("entries_per_bucket", _ENTRIES),
            ("fingerprint_bits", _FINGERPRINT_BITS),
        ):
            if getattr(asked, name) != only:
                raise BadCuckooFilter(f"{name} must be {only}, not {getattr(asked, name)}")
        count = asked.bucket_count
        if count < 1 or count & (count - 1):
            raise BadCuckooFilter(f"bucket_count must be a power of two, not {count}")
        if len(asked.data) > LARGEST_BYTES:
            raise BadCuckooFilter(f"at most {LARGEST_BYTES} bytes of data are served")
        if len(asked.data) != count * _BUCKET_BYTES:
            size = len(asked.data)
            raise BadCuckooFilter(f"{count} buckets have {count * _BUCKET_BYTES} bytes, not {size}")
        return cls(_SEED.pack(asked.hash_seed) + asked.data)

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CuckooFilter) and self.packed == other.packed

    def __hash__(self) -> int:
        return hash(self.packed)

    def __contains__(self, key: bytes) -> bool:
        return bool(self._matches(_hashed(key, self.seed))[0])

    def among(self, hashed: HashedKeys) -> Iterator[bytes]:
        """The keys that match; they were hashed with the filter's seed."""
        matches = self._matches(hashed)
        return (hashed.keys[place] for place in np.flatnonzero(matches))

    def _matches(self, hashed: HashedKeys) -> npt.NDArray[np.bool_]:
        buckets = self._buckets
        mask = np.uint64(len(buckets) - 1)
        first = hashed.hashes & mask
        other = first ^ (hashed.turns & mask)
        wanted = hashed.fingerprints[:, None]
        is_there = (buckets[first] == wanted) | (buckets[other] == wanted)
        return np.asarray(is_there.any(axis=1))


@lru_cache(maxsize=4096)
def _hashed(key: bytes, seed: int) -> HashedKeys:
    return HashedKeys([key], seed)


def _sip_hash(words: list[Words], last: Words | np.uint64, seed: int) -> Words:
    """SipHash-2-4 (Aumasson and Bernstein, 2012) of many messages at once: their words but the
    last, and the last one, whose highest byte is the message's length.
    """
    turned = (seed << 32 | seed >> 32) & 0xFFFFFFFFFFFFFFFF
    shape = (words[0] if words else np.asarray(last)).shape
    v0, v1, v2, v3 = (
        np.full(shape, key ^ constant, dtype=_U64)
        for key, constant in (
            (seed, 0x736F6D6570736575),
            (turned, 0x646F72616E646F6D),
            (seed, 0x6C7967656E657261),
            (turned, 0x7465646279746573),
        )
    )

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0 += v1
            v2 += v3
            v1 = _rotated(v1, 13) ^ v0
            v3 = _rotated(v3, 16) ^ v2
            v0 = _rotated(v0, 32)
            v2 += v1
            v0 += v3
            v1 = _rotated(v1, 17) ^ v2
            v3 = _rotated(v3, 21) ^ v0
            v2 = _rotated(v2, 32)

    for word in (*words, last):
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def _rotated(word: Words, bits: int) -> Words:
    return word << np.uint64(bits) | word >> np.uint64(64 - bits)
