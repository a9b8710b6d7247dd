"""What a sealed block keeps of each transaction beside its text: the signature, its error, its
memo. Entries have one length, so that PostgreSQL can read a single one; a checksum in each is of
all three.
"""

import struct
from binascii import crc_hqx
from collections.abc import Sequence
from typing import NamedTuple

SIGNATURE_BYTES = 64
_NUMBER_BYTES = _CHECKSUM_BYTES = 2
_SEED = 0xFFFF
_MOST_ERRS = 65_534
ENTRY_BYTES = SIGNATURE_BYTES + _NUMBER_BYTES + _CHECKSUM_BYTES
_ENTRY = struct.Struct(f">{SIGNATURE_BYTES}sHH")


class DamagedEntry(Exception):
    """An entry is not what was written."""


class SealedEntry(NamedTuple):
    """Of a transaction; err as transactions/outcomes.py reads it, memo a JSON string."""

    signature: bytes
    err: str | None
    memo: str | None


class PackedEntries(NamedTuple):
    """Of a block, as SealedBlock has them."""

    entries: bytes
    errs: list[str]
    memo_positions: list[int]
    memos: list[str]


def pack_entries(entries: Sequence[SealedEntry]) -> PackedEntries:
    """Raises ValueError where there are more than 65,534 different errors."""
    numbers: dict[str, int] = {}
    parts: list[bytes] = []
    for entry in entries:
        number = 0
        if entry.err is not None:
            number = numbers.setdefault(entry.err, len(numbers) + 1)
            if number > _MOST_ERRS:
                raise ValueError(f"more than {_MOST_ERRS} different errors")
        check = _checksum(*entry).to_bytes(_CHECKSUM_BYTES)
        parts += (entry.signature, number.to_bytes(_NUMBER_BYTES), check)
    memos = {position: each.memo for position, each in enumerate(entries) if each.memo is not None}
    return PackedEntries(b"".join(parts), list(numbers), list(memos), list(memos.values()))


def unpack_entries(packed: PackedEntries) -> list[SealedEntry]:
    """Raises DamagedEntry."""
    if len(packed.entries) % ENTRY_BYTES:
        raise DamagedEntry("it is too short")
    memos = dict(zip(packed.memo_positions, packed.memos, strict=True))
    errs = [None, *packed.errs]
    found = []
    for position, (signature, number, check) in enumerate(_ENTRY.iter_unpack(packed.entries)):
        err = errs[number] if number < len(errs) else None
        memo = memos.get(position)
        # Most have neither: a call for each would take as long as all the rest.
        plain = err is None and memo is None
        if check != (crc_hqx(signature, _SEED) if plain else _checksum(signature, err, memo)):
            raise DamagedEntry("its checksum differs")
        found.append(SealedEntry(signature, err, memo))
    return found


def checked(entry: bytes, err: str | None, memo: str | None) -> SealedEntry:
    """The entry with its error and memo. Raises DamagedEntry."""
    if len(entry) != ENTRY_BYTES:
        raise DamagedEntry("it is too short")
    signature = entry[:SIGNATURE_BYTES]
    if _checksum(signature, err, memo) != int.from_bytes(entry[-_CHECKSUM_BYTES:]):
        raise DamagedEntry("its checksum differs")
    return SealedEntry(signature, err, memo)


def _checksum(signature: bytes, err: str | None, memo: str | None) -> int:
    text = f"{err or ''}\n{memo or ''}" if err or memo else ""
    return crc_hqx(signature + text.encode(), _SEED)
