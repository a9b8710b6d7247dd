"""Unsigned LEB128 numbers, which protobuf calls varints: seven bits a byte, the lowest first."""

# Bytes of the largest, of 64 bits.
LONGEST = 10


def leb128(data: bytes, at: int = 0) -> tuple[int, int]:
    """The number there, and how many bytes it takes: (0, 0) where none ends in time."""
    value = 0
    for index, byte in enumerate(data[at : at + LONGEST]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, index + 1
    return 0, 0
