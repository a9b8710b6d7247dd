"""The epochs of the chain that is followed."""

from typing import NamedTuple

from chain.epochs import EpochSchedule
from rewind.models import ArchiveState


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
    ArchiveState.objects.update_or_create(id=1, defaults=schedule._asdict())


def epochs() -> Epochs:
    row = ArchiveState.objects.values_list(*EpochSchedule._fields).first()
    if row is None or not row[0]:
        return Epochs(EpochSchedule(), is_known=False)
    return Epochs(EpochSchedule(*row), is_known=True)
