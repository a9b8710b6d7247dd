"""The epochs of the chain that is followed."""

from typing import NamedTuple

from chain.epochs import EpochSchedule
from rewind.coverage.store import epochs as store


class Epochs(NamedTuple):
    """The schedule to divide slots by, and whether a node of the chain has reported it; else it is
    mainnet's.
    """

    schedule: EpochSchedule
    is_known: bool


def keep(schedule: EpochSchedule) -> None:
    """Saves the chain's own schedule, as a node reports it."""
    known = epochs()
    if known.is_known and known.schedule == schedule:
        return
    store.keep_schedule(schedule)


def epochs() -> Epochs:
    found = store.schedule()
    return Epochs(found or EpochSchedule(), is_known=found is not None)
