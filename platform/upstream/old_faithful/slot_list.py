"""Which slots of an epoch hold a block, from its slot-to-cid index: a hash table has no list of its
keys, but these keys are known: the epoch's 432,000 slots.
"""

from collections.abc import Iterator

from chain.units import SLOTS_PER_EPOCH
from upstream.archives.errors import Unreadable
from upstream.old_faithful.blocks import slot_of_block
from upstream.old_faithful.compact_index import bucket_of
from upstream.old_faithful.epoch_files import EpochFiles
from upstream.old_faithful.errors import Damaged

_KEY = 8


def slot_bits(files: EpochFiles) -> bytes:
    """A bit for each slot of the epoch, set where there is a block. Reads the whole index (17 MB).

    Each entry must be of one slot: with none the index is damaged, and among several the Block node
    itself says which it is.
    """
    index = files.slots
    first = files.epoch * SLOTS_PER_EPOCH
    of_bucket: list[list[int]] = [[] for _ in range(index.buckets)]
    for slot in range(first, first + SLOTS_PER_EPOCH):
        of_bucket[bucket_of(slot.to_bytes(_KEY, "little"), index.buckets)].append(slot)
    bits = bytearray(SLOTS_PER_EPOCH // 8)
    for number, slots in enumerate(of_bucket):
        bucket = index.bucket(number, files.reading)
        claims: dict[int, list[int]] = {hashed: [] for hashed, _ in bucket}
        if len(claims) != len(bucket):
            raise Damaged(index.path, f"two entries of bucket {number} have one hash")
        for slot in slots:
            claim = claims.get(bucket.hash_of(slot.to_bytes(_KEY, "little")))
            if claim is not None:
                claim.append(slot)
        for hashed, cid in bucket:
            slot = _slot_of(files, claims[hashed], cid) - first
            bits[slot >> 3] |= 1 << (slot & 7)
    return bytes(bits)


def slots_in(bits: bytes, epoch: int, first: int, last: int) -> Iterator[int]:
    """The slots from `first` to `last`, both inclusive, whose bits are set, ascending."""
    begins = epoch * SLOTS_PER_EPOCH
    low, high = max(first - begins, 0), min(last - begins, SLOTS_PER_EPOCH - 1)
    for at in range(low >> 3, (high >> 3) + 1) if low <= high else ():
        byte = bits[at]
        if byte:
            for slot in range(at << 3, (at << 3) + 8):
                if byte >> (slot & 7) & 1 and low <= slot <= high:
                    yield begins + slot


def _slot_of(files: EpochFiles, claims: list[int], cid: bytes) -> int:
    if len(claims) == 1:
        return claims[0]
    try:
        slot = slot_of_block(files, cid) if claims else -1
    except Unreadable as fault:
        raise Damaged(files.car, str(fault)) from None
    if slot not in claims:
        raise Damaged(files.slots.path, "an entry that belongs to no slot of the epoch")
    return slot
