"""Where the archive's slots are stored."""

from chain.slot_ranges import SlotRange
from columns.slot_bands import Stretch, bands_of
from rewind.coverage.store import storage as store
from rewind.recording.store import slots


def bands(first: int, last: int) -> list[Stretch]:
    """The slots from `first` to `last`, both archived, as bands from the lowest to the highest:
    hot, sealed or cold.
    """
    return bands_of(SlotRange(first, last), store.stretches()) if first <= last else []


def all_bands() -> list[Stretch]:
    """The bands of the whole archive; none while it is empty."""
    bounds = slots.bounds()
    return [] if bounds is None else bands(*bounds)


def sealed_bytes() -> tuple[int, int]:
    """Bytes of sealed blocks here, and in the object store."""
    return store.sealed_bytes()
