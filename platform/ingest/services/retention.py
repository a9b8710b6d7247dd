"""Removes slots below the retention windows."""

from gaps import life_cycle
from historical.blocks.services.bounds import newest_slot_or_none
from historical.blocks.store import blocks as ledger
from historical.models import Gap
from historical.recording.services.removal import remove_blocks
from rewind.recording.services import retention
from rewind.recording.store import slots as archive
from shared_state import task_faults

# The ledger's blocks are removed in steps, one transaction each: a kill costs little, and readers
# do not wait.
_STEP_SLOTS = 2_000
_MOST_STEPS = 20


def apply(*, archive_slots: int, ledger_slots: int) -> None:
    """Keeps this many slots up to the newest of archive and ledger each; 0 keeps all. Where the
    archive's cannot be dropped, the ledger's are all the same, and it raises then.
    """
    try:
        with task_faults.noted("prune_archive"):
            _prune_archive(archive_slots)
    finally:
        with task_faults.noted("prune_ledger"):
            newest = newest_slot_or_none()
            if ledger_slots and newest is not None:
                _prune_ledger(newest - ledger_slots + 1)


def _prune_archive(slots: int) -> None:
    bounds = archive.bounds()
    if slots and bounds is not None:
        first_kept = bounds[1] - slots + 1
        if first_kept > bounds[0]:
            retention.prune(first_kept)


def _prune_ledger(first_kept: int) -> None:
    # First, or a block below the window could be filled again meanwhile.
    life_cycle.cut_below(Gap, first_kept)
    for _ in range(_MOST_STEPS):
        bounds = ledger.bounds()
        if bounds is None or bounds[0] >= first_kept:
            return
        remove_blocks(bounds[0], min(bounds[0] + _STEP_SLOTS, first_kept) - 1)
