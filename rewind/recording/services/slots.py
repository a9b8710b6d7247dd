"""Which slots are archived, and where to go on."""

from collections.abc import Collection

from chain.units import Slot
from rewind.recording.store import gaps as gap_store
from rewind.recording.store import slots as store


def bounds() -> tuple[Slot, Slot] | None:
    """The lowest and the highest archived slot; None before the first."""
    found = store.bounds()
    return None if found is None else (Slot(found[0]), Slot(found[1]))


def resume_slot() -> Slot | None:
    """Up to here nothing is left for a stream to give: all is archived, skipped, or a gap that has
    been tried to be filled since, which follows its own clock. None while the archive is empty.
    """
    found = store.bounds()
    if found is None:
        return None
    first, last = found
    untried = gap_store.lowest_untried(first, last)
    return Slot(last if untried is None else untried - 1)


def archived_among(slots: Collection[int]) -> set[Slot]:
    """Those of the slots that are archived."""
    return {Slot(slot) for slot in store.stored(slots)}


def has_unarchived_blocks(first: int, last: int) -> bool:
    """Whether the ledger has a block of the range that is not archived."""
    return store.has_unarchived_blocks(first, last)


def archived_between(first: int, last: int) -> list[int]:
    """The archived slots of the range, ascending."""
    return store.archived_between(first, last)


def next_archived(slot: int) -> int | None:
    """The lowest archived slot above one that is not archived; None while there is none."""
    return store.neighbours([slot])[slot].above


def is_archived(slot: int) -> bool:
    return bool(store.stored([slot]))
