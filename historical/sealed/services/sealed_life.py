"""The life of what is sealed of the ledger: how it is read through and repaired."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from columns.advisory_locks import AdvisoryLock
from columns.other_database import OtherDatabase
from historical.models import LedgerDamage
from historical.sealed.services import index_rebuild, repairing, scrubbing
from historical.sealed.store import damage
from sealed.life import SealedLife

# A run of the index over more blocks is made again by manage.py archive_repair.
_MOST_REBUILT = 1_000


def _repair_here(found: LedgerDamage, now: datetime) -> str:
    """A run of the index from the sealed blocks, other damage from remote history."""
    if found.kind == LedgerDamage.Kind.INDEX:
        made = index_rebuild.rebuild(found, now=now, most_blocks=_MOST_REBUILT)
        return index_rebuild.SOURCE if made else ""
    is_recorded = repairing.record_again_from_remote_history(found, now=now)
    return "remote history" if is_recorded else ""


def _repair(found: LedgerDamage, copy: OtherDatabase | None, now: datetime) -> str:
    if repairing.is_over(found, now=now):
        return "itself"
    if copy is not None and repairing.repair_from(found, copy, now=now):
        return copy.name
    is_index = found.kind == LedgerDamage.Kind.INDEX
    return index_rebuild.SOURCE if is_index and index_rebuild.rebuild(found, now=now) else ""


def _open_as_gaps(damaged: Sequence[LedgerDamage], now: datetime) -> Iterator[str]:
    for found in damaged:
        slots = repairing.open_as_gap(found, now=now)
        yield f"{found}: {slots:,} blocks left, their slots are gaps now"


LEDGER = SealedLife(
    store="ledger",
    damages=damage.DAMAGES,
    lock=AdvisoryLock.LEDGER_SCRUBBING,
    has_unread=damage.scrub_of,
    read_next=scrubbing.read_next,
    look_into=scrubbing.look_into,
    repair_here=_repair_here,
    repair=_repair,
    open_as_gaps=_open_as_gaps,
)
