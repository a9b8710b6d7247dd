"""Damage in stored blocks, by SQL."""

from rewind.sealed.models import SealedBlock
from rewind.sealed.store import open_blocks
from shared_state import damage_reports

SEALED = ("rewind_sealedsegment", "rewind_sealedblock")


def flip(block: SealedBlock, *, bits: int = 1, at: int | None = None) -> None:
    """So many neighbouring bits of the block's bytes flip, in its middle."""
    packed = bytearray(block.block)
    at = len(packed) // 2 if at is None else at
    for number in range(bits):
        packed[at + number // 8] ^= 1 << number % 8
    SealedBlock.objects.filter(pk=block.pk).update(block=bytes(packed))
    forget()


def forget() -> None:
    """Nothing is known of blocks, and damage is reported again."""
    open_blocks.forget()
    damage_reports.forget()
