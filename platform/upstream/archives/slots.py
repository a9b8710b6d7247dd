"""The slot of a block that does not contain it."""

import re
from pathlib import PurePath

from chain.units import I64_MAX, SLOTS_PER_EPOCH, Slot
from upstream.archives.errors import Unreadable

# Further from its parent than this, a number in a file's name means something else.
_LONGEST_GAP = 10_000
# `base64` and `base58` in a name are encodings.
_NUMBER = re.compile(r"(?<!base)(?<![0-9])[0-9]+")


def slot_of(parent_slot: Slot, *, given: int | None, name: str) -> tuple[Slot, bool]:
    """The slot, and whether it was only guessed as the one after the parent.

    The caller's value counts first, then a number in the file's name that lies a little above
    the parent's, if there is exactly one.
    """
    if given is not None:
        # The first block of a chain names itself as its parent.
        if given <= parent_slot and (given, parent_slot) != (0, 0):
            raise Unreadable("", f"slot {given} is not after the block's parentSlot {parent_slot}")
        if given > parent_slot + SLOTS_PER_EPOCH:
            reason = (
                f"slot {given} is more than an epoch after the block's parentSlot {parent_slot}"
            )
            raise Unreadable("", reason)
        return Slot(given), False
    numbers = {int(digits) for digits in _NUMBER.findall(PurePath(name).name) if len(digits) < 21}
    plausible = [each for each in numbers if parent_slot < each <= parent_slot + _LONGEST_GAP]
    if len(plausible) == 1:
        return Slot(plausible[0]), False
    if parent_slot >= I64_MAX:
        raise Unreadable("parentSlot", "no slot can follow this one")
    return Slot(parent_slot + 1), True
