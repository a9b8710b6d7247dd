"""What the ledger serves: the blocks that it stores, and the remote history below them."""

from typing import NamedTuple

from django.conf import settings

from chain.slot_ranges import SlotRange, subtract
from chain.units import Slot
from columns.slot_bands import Stretch
from gaps.coverage import GapEntry, Window
from historical.blocks.services import bounds
from historical.blocks.store import blocks as store
from historical.coverage.services import storage
from historical.coverage.services.holes import gaps_of_window
from historical.coverage.store.coverage import count_blocks
from historical.remote.services.remote_history import RemoteReads, is_configured
from historical.results import Context, Coverage, LedgerCoverage, RemoteHistory, StorageBand


def may_begin_remotely() -> bool:
    """Whether the archive may have blocks below the ledger's."""
    stored = store.bounds()
    return is_configured() and (stored is None or stored[0] > _first_remote_slot())


def first_available_block(reads: RemoteReads) -> Slot:
    """The lowest slot that is served, of the ledger or of the remote history; raises LedgerEmpty
    where there is none, and what RemoteReads.read does.
    """
    if not may_begin_remotely():
        return bounds.first_available_block()
    stored = store.bounds()
    found = reads.read(lambda history: history.first_slot())
    if found is None or (stored is not None and stored[0] <= found):
        return bounds.first_available_block()
    reads.mark()
    return Slot(found)


def coverage(window: Window) -> LedgerCoverage:
    """The stored range, of a window of it the gaps and how the rest is stored, and what the
    settings say of the remote history; reads nothing of it.
    """
    stored = store.bounds()
    first, last = (None, None) if stored is None else stored
    remote = None
    if may_begin_remotely():
        remote = RemoteHistory(
            first_slot=_first_remote_slot(),
            last_slot=None if first is None else first - 1,
            source="old-faithful",
            network=settings.OLD_FAITHFUL_NETWORK,
            signature_epochs=sorted(settings.OLD_FAITHFUL_SIGNATURE_EPOCHS),
        )
    context = Context(slot=last or 0, api_version=settings.LEDGER_API_VERSION)
    gaps, truncated, bands, missing = _NOTHING
    if first is not None and last is not None:
        low, high = max(first, window.first), min(last, window.last)
        if low <= high:
            gaps, truncated, bands, missing = _of_window(low, high, window.most_gaps)
    return LedgerCoverage(
        context=context,
        value=Coverage(
            first_slot=first,
            last_slot=last,
            missing_slot_count=missing,
            gaps=gaps if window.lists_gaps else None,
            truncated=truncated,
            storage=[StorageBand.of(*each) for each in bands],
            remote=remote,
        ),
    )


class _OfWindow(NamedTuple):
    gaps: list[GapEntry]
    truncated: bool
    bands: list[Stretch]
    missing: int


_NOTHING = _OfWindow([], False, [], 0)


def _of_window(first: int, last: int, most: int) -> _OfWindow:
    gaps, truncated = gaps_of_window(first, last, most)
    ((blocks, skipped),) = count_blocks([first], [last])
    missing = max(0, last - first + 1 - blocks - skipped)
    end = last if not truncated else gaps[-1].to_slot if gaps else first - 1
    absent = [SlotRange(each.from_slot, each.to_slot) for each in gaps]
    bands = [
        Stretch(*part, band.band)
        for band in (storage.bands(first, end) if first <= end else [])
        for part in subtract([band.range], absent)
    ]
    return _OfWindow(gaps, truncated, bands, missing)


def _first_remote_slot() -> Slot:
    return Slot(storage.first_remote_slot())
