"""The life of what is sealed of the archive: how it is read through and repaired."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from columns.advisory_locks import AdvisoryLock
from columns.other_database import OtherDatabase
from rewind.sealed.models import SealedDamage
from rewind.sealed.services import damage_gaps, repairing, scrubbing
from rewind.sealed.store import damage
from sealed.life import SealedLife

_LOST = (
    "; rows of a snapshot, of genesis or from below the window may be among them: import a snapshot"
    " again"
)


def _repair(found: SealedDamage, copy: OtherDatabase | None, now: datetime) -> str:
    source = repairing.repair_from_here(found, now=now)
    return source if source or copy is None else repairing.repair_from(found, copy, now=now)


def _open_as_gaps(damaged: Sequence[SealedDamage], now: datetime) -> Iterator[str]:
    """Every damaged block of their segments. Raises ArchiveDamaged and WritersBusy."""
    for segment in dict.fromkeys(each.segment for each in damaged):
        opened = damage_gaps.open_as_gap(segment, now=now)
        if opened is not None:
            yield (
                f"segment {segment}: {opened.blocks:,} blocks left, {opened.slots:,} slots are gaps"
                f" now{_LOST if opened.loses_snapshots else ''}"
            )


ARCHIVE = SealedLife(
    store="archive",
    damages=damage.DAMAGES,
    lock=AdvisoryLock.ARCHIVE_SCRUBBING,
    has_unread=damage.next_to_scrub,
    read_next=scrubbing.read_next,
    look_into=scrubbing.look_into,
    repair_here=lambda found, now: repairing.repair_from_here(found, now=now),
    repair=_repair,
    open_as_gaps=_open_as_gaps,
)
