"""Where the ledger's slots are stored."""

from django.conf import settings

from chain.slot_ranges import SlotRange
from chain.units import SLOTS_PER_EPOCH
from columns.slot_bands import Band, Stretch, bands_of
from historical.blocks.store import blocks
from historical.coverage.store import storage as store
from historical.remote.services.remote_history import is_configured


def first_remote_slot() -> int:
    """The first slot of the first epoch that the remote archive is said to have."""
    return int(settings.OLD_FAITHFUL_FIRST_EPOCH) * SLOTS_PER_EPOCH


def bands(first: int, last: int) -> list[Stretch]:
    """The slots from `first` to `last`, both stored, as bands from the lowest to the highest: hot
    or sealed.
    """
    return bands_of(SlotRange(first, last), store.stretches())


def all_bands() -> list[Stretch]:
    """The bands of the whole ledger, with the remote history below its first block; none while
    nothing is stored.
    """
    bounds = blocks.bounds()
    if bounds is None:
        return []
    remote = []
    if is_configured() and first_remote_slot() < bounds[0]:
        remote.append(Stretch(first_remote_slot(), bounds[0] - 1, Band.REMOTE))
    return remote + bands(*bounds)


def sealed_bytes() -> int:
    """What sealed texts, signatures and indexes take on the disk."""
    return store.sealed_bytes()
