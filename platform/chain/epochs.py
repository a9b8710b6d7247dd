"""A chain's epoch schedule: which slots are one epoch."""

from typing import NamedTuple

from chain.units import SLOTS_PER_EPOCH

# Chains with a warm-up begin with an epoch of this many slots; each next one is twice as long.
_FIRST_WARM_UP_SLOTS = 32


class EpochSchedule(NamedTuple):
    """As returned by a node's getEpochSchedule. Without a warm-up the first normal epoch is epoch
    0, which begins at slot 0.
    """

    slots_per_epoch: int = SLOTS_PER_EPOCH
    first_normal_epoch: int = 0
    first_normal_slot: int = 0

    def epoch_of(self, slot: int) -> int:
        """The epoch that the slot is in."""
        if slot >= self.first_normal_slot:
            return self.first_normal_epoch + (slot - self.first_normal_slot) // self.slots_per_epoch
        return (slot // _FIRST_WARM_UP_SLOTS + 1).bit_length() - 1

    def slots_of(self, epoch: int) -> tuple[int, int]:
        """The epoch's first and last slot."""
        return self._first_of(epoch), self._first_of(epoch + 1) - 1

    def _first_of(self, epoch: int) -> int:
        if epoch >= self.first_normal_epoch:
            return self.first_normal_slot + (epoch - self.first_normal_epoch) * self.slots_per_epoch
        return _FIRST_WARM_UP_SLOTS * ((1 << epoch) - 1)
