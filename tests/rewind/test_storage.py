"""Which of the archive's slots are hot and which are sealed, as callers and staff are told."""

from pathlib import Path
from typing import Any

import pytest

from rewind.coverage.services import storage
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import SealedSegment
from rewind.sealed.services import moving
from rewind.sealed.store import cold_store
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, write
from tests.rewind.sealed_forms import seal, use_folder

COVERAGE = "/admin/rewind/slottally/"
# A run that is merged, a partition of the next, and the newest, which is never finished.
SLOTS = [
    5,
    PARTITION_SLOTS + 5,
    SEGMENT_SLOTS + 5,
    SEGMENT_SLOTS + PARTITION_SLOTS + 7,
]


@pytest.fixture
def sealed(committed: None, record: Any) -> None:
    for parent, slot in zip([0, *SLOTS], SLOTS, strict=False):
        record(block(slot, parent, writes=[write(slot % 7, lamports=slot)]))
    seal(half=True)
    assert SealedSegment.objects.filter(state=1).count() == 2


def bands(rpc: Rpc, **config: Any) -> list[tuple[str, int, int]]:
    found = rpc("/rewind", "getRewindCoverage", config)["result"]["storage"]
    return [(each["band"], each["fromSlot"], each["toSlot"]) for each in found]


def test_coverage_says_how_slots_are_stored(rpc: Rpc, sealed: None) -> None:
    end = SEGMENT_SLOTS + PARTITION_SLOTS
    assert bands(rpc) == [("sealed", 5, end - 1), ("hot", end, SLOTS[-1])]
    assert bands(rpc, fromSlot=end - 10, toSlot=end + 3) == [
        ("sealed", end - 10, end - 1),
        ("hot", end, end + 3),
    ]
    assert bands(rpc, fromSlot=end + 1) == [("hot", end + 1, SLOTS[-1])]
    assert bands(rpc, fromSlot=SLOTS[-1] + 1) == []


def test_an_archive_of_rows_is_hot(rpc: Rpc, record: Any) -> None:
    record(block(100), block(103, parent=100))
    assert bands(rpc) == [("hot", 100, 103)]


def test_the_coverage_page_draws_the_bands(admin_client: Any, sealed: None) -> None:
    page = admin_client.get(COVERAGE)
    archive, ledger = page.context["strips"]
    assert [(line["band"], line["size"]) for line in archive["lines"]] == [
        ("hot", 8),
        ("sealed", SEGMENT_SLOTS + PARTITION_SLOTS - 5),
    ]
    assert ledger["cells"] == []
    text = page.content.decode()
    assert (
        f'title="sealed: slots 5 to {SEGMENT_SLOTS + PARTITION_SLOTS - 1}, 467,995 slots"' in text
    )


def test_a_segment_that_moved_is_cold(
    rpc: Rpc, admin_client: Any, sealed: None, tmp_path: Path
) -> None:
    use_folder(str(tmp_path))
    segments = "/admin/rewind/sealedsegment/"
    try:
        policy = moving.Policy(after=0)
        while not SealedSegment.objects.filter(cold_buckets__gt=0):
            assert moving.move_step(policy, now=NOW)
        assert bands(rpc)[0][0] == "sealed", "it is moving"
        assert "moving, " in admin_client.get(segments).content.decode()
        here, away = storage.sealed_bytes()
        assert here and away
        while moving.move_step(policy, now=NOW):
            pass
        assert [band for band, _, _ in bands(rpc)] == ["cold", "sealed", "hot"]
        assert bands(rpc)[0] == ("cold", 5, SEGMENT_SLOTS - 1)
        strips = admin_client.get(COVERAGE).context["strips"]
        assert [line["band"] for line in strips[0]["cells"]] == ["cold", "sealed", "hot"]
        moved = SealedSegment.objects.get(cold_at__isnull=False)
        text = admin_client.get(f"{segments}{moved.pk}/change/").content.decode()
        assert "object store" in text and moved.cold_name in text
        kept = SealedSegment.objects.get(state=1, cold_at=None)
        assert storage.sealed_bytes() == (kept.stored_bytes, moved.cold_bytes)
    finally:
        cold_store.configure(cold_store.Terms())
