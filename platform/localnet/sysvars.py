"""Sysvars: the bytes of the accounts through which programs see the chain, slot by slot."""

import struct

from solders.account import Account
from solders.hash import Hash

from chain.addresses import SYSVAR_OWNER
from chain.rent import LAMPORTS_PER_BYTE, rent_exempt
from chain.units import Epoch, Slot, UnixTimestamp

# A sysvar keeps the rent epoch with which a bank first made it (Agave's INITIAL_RENT_EPOCH).
_RENT_EPOCH = 0

LAMPORTS_PER_SIGNATURE = 5_000

# How many entries each keeps, and how large its account is whatever it holds.
_SLOT_HASHES, _SLOT_HASHES_SIZE = 512, 20_488
_BLOCKHASHES, _BLOCKHASHES_SIZE = 150, 6_008
_STAKE_EPOCHS, _STAKE_HISTORY_SIZE = 512, 16_392
_HISTORY_BITS = 1_048_576
_HISTORY_HEADER = 9  # the tag and the length of the bits' words
_NO_HISTORY = b"\x01" + struct.pack("<Q", _HISTORY_BITS // 64)


def sysvar(data: bytes) -> Account:
    """A sysvar account with these bytes."""
    return Account(rent_exempt(len(data)), data, SYSVAR_OWNER, False, _RENT_EPOCH)


def clock(
    slot: Slot, epoch: Epoch, *, epoch_started_at: UnixTimestamp, now: UnixTimestamp
) -> bytes:
    return struct.pack("<QqQQq", slot, epoch_started_at, epoch, epoch + 1, now)


def epoch_started_at(clock_data: bytes) -> UnixTimestamp:
    """When the clock's epoch began."""
    return UnixTimestamp(struct.unpack_from("<q", clock_data, 8)[0])


def epoch_schedule(epoch_slots: int) -> bytes:
    """Epochs of one length from slot 0 on, without warm-up."""
    return struct.pack("<QQ?QQ", epoch_slots, epoch_slots, False, 0, 0)


def rent() -> bytes:
    return struct.pack("<QdB", LAMPORTS_PER_BYTE, 1.0, 50)


def slot_hashes(before: bytes, slot: Slot, bank_hash: bytes) -> bytes:
    """The list with one more slot in front."""
    return _prepended(before, struct.pack("<Q", slot) + bank_hash, _SLOT_HASHES, _SLOT_HASHES_SIZE)


def recent_blockhashes(before: bytes, blockhash: Hash) -> bytes:
    """The list with one more blockhash in front."""
    entry = bytes(blockhash) + struct.pack("<Q", LAMPORTS_PER_SIGNATURE)
    return _prepended(before, entry, _BLOCKHASHES, _BLOCKHASHES_SIZE)


def stake_history(before: bytes, epoch: Epoch, effective: int) -> bytes:
    """The list with one more epoch in front."""
    entry = struct.pack("<QQQQ", epoch, effective, 0, 0)
    return _prepended(before, entry, _STAKE_EPOCHS, _STAKE_HISTORY_SIZE)


def _prepended(before: bytes, entry: bytes, most: int, size: int) -> bytes:
    count = min(int.from_bytes(before[:8], "little"), most - 1)
    kept = before[8 : 8 + count * len(entry)]
    return ((count + 1).to_bytes(8, "little") + entry + kept).ljust(size, b"\0")


def no_slot_history() -> bytes:
    """The history before slot 0: no slot has a block yet."""
    bits = _HISTORY_BITS.to_bytes(8, "little")
    return _NO_HISTORY + bytes(_HISTORY_BITS // 8) + bits + bytes(8)


def slot_history(before: bytes, slot: Slot) -> bytes:
    """The history in which the slot has a block and those passed over since have none."""
    data = bytearray(before)
    next_slot = int.from_bytes(data[-8:], "little")
    first, end = max(next_slot, slot - _HISTORY_BITS), slot
    while first < end:  # the slots passed over, a byte at a time where whole ones are clear
        bit = first % _HISTORY_BITS
        place = _HISTORY_HEADER + bit // 8
        if bit % 8 == 0 and end - first >= 8:
            count = min((end - first) // 8, (_HISTORY_BITS - bit) // 8)
            data[place : place + count] = bytes(count)
            first += 8 * count
        else:
            data[place] &= ~(1 << bit % 8) & 0xFF
            first += 1
    bit = slot % _HISTORY_BITS
    data[_HISTORY_HEADER + bit // 8] |= 1 << bit % 8
    data[-8:] = (slot + 1).to_bytes(8, "little")
    return bytes(data)
