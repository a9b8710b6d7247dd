"""Which slots the archive holds, and which are missing."""

from gaps.coverage import GapEntry, Window
from gaps.parts import parts_between
from rewind.baselines.results import BaselineEntry
from rewind.baselines.store import baselines
from rewind.coverage.results import Coverage, StorageBand
from rewind.coverage.services import storage
from rewind.coverage.store import coverage as store
from rewind.models import Gap
from rewind.proof.services import slot_proofs
from rewind.recording.services import filters
from rewind.recording.store import gaps as gap_store

_MOST_BASELINES = 100


def coverage(window: Window) -> Coverage:
    """The archive's ends, and the counts and gaps of a window, which is clipped to them."""
    first, last = window.first, window.last
    found = store.summary(first, last)
    gaps: list[GapEntry] | None = [] if window.lists_gaps else None
    truncated = False
    if found is not None and gaps is not None:
        most = window.most_gaps
        parts = parts_between(Gap, found.first, found.last, most + 1)
        truncated = len(parts) > most
        gaps += [GapEntry.of(*part) for part in parts[:most]]
    slots = 0 if found is None else max(0, found.last - found.first + 1)
    archived, missing = (0, 0) if found is None else (found.archived, found.missing)
    coarse = 0 if found is None else found.coarse
    listed = list(map(BaselineEntry.of, baselines.newest(_MOST_BASELINES, first, last)))
    through = None if found is None else slot_proofs.through(found.first, found.last)
    skipped = max(0, slots - archived - missing)
    return Coverage(
        earliest_slot=None if found is None else found.earliest,
        latest_slot=None if found is None else found.latest,
        slot_range=None if found is None else found.latest - found.earliest + 1,
        missing_slot_count=missing,
        # Asked after it, and gaps may have closed since.
        cannot_be_had_slot_count=min(missing, _given_up(found)),
        skipped_slot_count=skipped,
        whole_slot_count=archived - coarse,
        last_writes_only_slot_count=coarse,
        gap_percent=missing / (slots - skipped) * 100 if slots > skipped else None,
        gaps=gaps,
        truncated=truncated,
        storage=_storage(found),
        proven_through=None if through is None else through.proven,
        consistent_through=None if through is None else through.settled,
        proof=[] if found is None else slot_proofs.ranges(found.first, found.last),
        baselines=listed,
        filtered_owners=filters.filtered_owners(),
        filtered_pubkeys=filters.filtered_pubkeys(),
        note=_note(found, bool(listed)),
    )


def _storage(found: store.Summary | None) -> list[StorageBand]:
    bands = [] if found is None else storage.bands(found.first, found.last)
    return [StorageBand.of(*each) for each in bands]


def _given_up(found: store.Summary | None) -> int:
    return 0 if found is None else gap_store.slots_given_up(found.first, found.last)


def _note(found: store.Summary | None, has_baselines: bool) -> str:
    if found is None:
        if has_baselines:
            return "No slot is archived yet. A baseline has the accounts at its slot."
        return "Nothing is archived yet."
    note = (
        "Skipped slots had no block: they are counted, and are not gaps. Writes to filtered"
        " accounts are not archived; their baseline stays readable."
    )
    if found.coarse:
        note += (
            f" {found.coarse} of the window's {found.archived} archived slots hold at least the"
            " last write of each account, but perhaps not every write."
        )
    return note
