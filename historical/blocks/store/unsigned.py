"""Which blocks hold unsigned transactions."""

from collections.abc import Sequence

from historical.models import UnsignedBlock


def insert(slot: int, positions: Sequence[int]) -> None:
    """In the transaction that writes the block."""
    UnsignedBlock.objects.update_or_create(slot=slot, defaults={"positions": sorted(positions)})


def delete(first: int, last: int) -> None:
    """In the transaction that deletes the blocks."""
    UnsignedBlock.objects.filter(slot__range=(first, last)).delete()
