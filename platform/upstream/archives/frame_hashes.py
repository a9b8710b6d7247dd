"""The two checksums that writers of CAR epochs put on payloads split over several frames."""

_CRC_POLYNOMIAL = 0xD800000000000000
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_MASK = 2**64 - 1


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CRC_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def is_hash_of(data: bytes, checksum: int) -> bool:
    """Whether `checksum` is the CRC-64 (ISO) of the data, or the FNV-1a that old files have."""
    # A writer in Go casts to a signed number on the way.
    return checksum & _MASK in (crc64(data), fnv1a(data))


def crc64(data: bytes) -> int:
    crc, table = _MASK, _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ _MASK


def fnv1a(data: bytes) -> int:
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value
