"""The pages about what is sealed, cold, remote and damaged, with data, in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import look
from tests.rewind.conftest import NOW, committed
from tests.rewind.damaging import flip

__all__ = ["committed"]

pytestmark = pytest.mark.soak

LOAD = (
    "writes_per_second=5500&transactions_per_second=4000&days=365&cold_after_days=30"
    "&machine_price=200&store_price=20.5"
)
PAGES = {
    "rewind_slottally_changelist": "/admin/rewind/slottally/",
    "rewind_sealedsegment_changelist": "/admin/rewind/sealedsegment/",
    "rewind_sealeddamage_changelist": "/admin/rewind/sealeddamage/",
    "historical_sealedrange_changelist": "/admin/historical/sealedrange/",
    "operations_sizing": f"/admin/operations/alarm/sizing/?{LOAD}",
}


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The service has cold storage and remote history."""
    cold = tmp_path / "cold"
    cold.mkdir()
    monkeypatch.setenv("ARCHIVE_STORE", f"file://{cold}")
    monkeypatch.setenv("OLD_FAITHFUL_URL", f"file://{tmp_path}")
    return cold


def test_the_bands_and_lists_of_what_is_sealed(
    stores: Path, committed: None, watched: Callable[[], Any]
) -> None:
    fill(stores)
    visitor = watched()
    visitor.sign_in()
    wrong = [
        finding for name, path in PAGES.items() for finding in look(visitor, name, path, "sealed")
    ]
    assert wrong == []
    visitor.open(PAGES["rewind_slottally_changelist"])
    shown = visitor.page.inner_text("#main").lower()
    for band in ("hot", "sealed", "cold", "remote"):
        assert band in shown, band
    visitor.open(PAGES["operations_sizing"])
    assert "costs a month" in visitor.page.inner_text("#main").lower()


def fill(cold: Path) -> None:
    """Slots of the archive that are hot, sealed and in the store, a damaged block, and a ledger
    whose lower ranges are sealed.
    """
    from historical.recording.services.recording import record_blocks
    from rewind.recording.services.recording import record_slots
    from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
    from rewind.sealed.models import SealedBlock, SealedSegment
    from rewind.sealed.services import scrubbing
    from rewind.sealed.store import cold_store
    from tests.historical.sealed_reads import seal as seal_ledger
    from tests.rewind.samples import block, signature, write
    from tests.rewind.sealed_forms import move, seal, use_folder

    use_folder(str(cold))
    parent = 900
    runs = (1_000, PARTITION_SLOTS, SEGMENT_SLOTS, SEGMENT_SLOTS + PARTITION_SLOTS)
    for first in runs:
        for slot in range(first + 5, first + 15):
            writes = [write(number, signature(slot, 0), lamports=slot) for number in range(40)]
            record_slots([block(slot, parent, writes)], source="stream", now=NOW)
            record_blocks([block(slot, parent)], now=NOW)
            parent = slot
        if first == SEGMENT_SLOTS:
            seal(half=True)
            move()
    seal(half=True)
    cold_store.configure(cold_store.Terms())
    seal_ledger(64_000)
    segment = SealedSegment.objects.filter(state=1, cold_at=None).order_by("-first_slot")[0]
    flip(SealedBlock.objects.filter(segment=segment).order_by("pk")[0], bits=9)
    scrubbing.scrub_segment(segment.pk, now=NOW)
