"""Finds the one bit of a block that flipped, by its checksum of 64 bits."""

from xxhash import xxh3_64_digest, xxh3_64_intdigest

_CHECKSUM = 8
# The work grows with the square of the size: a block of this size takes some seconds.
MOST_BYTES = 64 << 10


def with_bit_restored(body: bytes, dictionary: bytes | None) -> bytes | None:
    """The body as it was packed with this dictionary, if one bit of it flipped since; else None. A
    wrong answer would need another body with the same checksum: one in 10**13 of blocks of 5 kB.
    """
    if not _CHECKSUM < len(body) <= MOST_BYTES:
        return None
    seed = xxh3_64_intdigest(dictionary) if dictionary else 0
    wanted, packed = body[:_CHECKSUM], bytearray(body[_CHECKSUM:])
    found = xxh3_64_digest(packed, seed)
    if (int.from_bytes(found) ^ int.from_bytes(wanted)).bit_count() == 1:
        return found + bytes(packed)  # it is a bit of the checksum
    for at in range(len(packed)):
        for bit in (1, 2, 4, 8, 16, 32, 64, 128):
            packed[at] ^= bit
            if xxh3_64_digest(packed, seed) == wanted:
                return wanted + bytes(packed)
            packed[at] ^= bit
    return None
