"""The admin's list of sealed segments."""

from typing import Any

import pytest

from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import SealedSegment
from tests.rewind.samples import block, write
from tests.rewind.sealed_forms import seal

SEGMENTS = "/admin/rewind/sealedsegment/"
SLOTS = [5, PARTITION_SLOTS + 5, SEGMENT_SLOTS + 5, SEGMENT_SLOTS + PARTITION_SLOTS + 7]


@pytest.fixture
def sealed(committed: None, record: Any) -> None:
    for parent, slot in zip([0, *SLOTS], SLOTS, strict=False):
        writes = [write(slot % 7 + number, lamports=slot) for number in range(40)]
        record(block(slot, parent, writes=writes))
    seal(half=True)


def test_a_segment_is_listed_with_what_it_holds(
    admin_client: Any, sealed: None, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(10) as asked:
        page = admin_client.get(SEGMENTS, {"state": "active"})
    rows = page.context["cl"].result_list
    assert [(row.first_slot, row.changes) for row in rows] == [(SEGMENT_SLOTS, 40), (0, 80)]
    text = page.content.decode()
    assert f"0 to {SEGMENT_SLOTS - 1}" in text and "merged" in text and "partition" in text
    assert text.count("Readers read it") == 2
    assert f"{rows[0].stored_bytes / 40:.1f}" in text
    for query in asked.captured_queries:
        assert '"dictionary",' not in query["sql"]


@pytest.mark.parametrize(
    ("slot", "found"),
    [
        ("7", [0]),
        (f"{SEGMENT_SLOTS - 1:,}", [0]),
        (str(SEGMENT_SLOTS), [SEGMENT_SLOTS]),
        (str(SEGMENT_SLOTS + PARTITION_SLOTS), []),
        ("x", []),
    ],
)
def test_a_segment_is_found_by_a_slot(
    admin_client: Any, sealed: None, slot: str, found: list[int]
) -> None:
    page = admin_client.get(SEGMENTS, {"q": slot, "state": "active"})
    assert [row.first_slot for row in page.context["cl"].result_list] == found


def test_a_segments_page_says_what_was_verified(admin_client: Any, sealed: None) -> None:
    segment = SealedSegment.objects.get(state=1, first_slot=0)
    text = admin_client.get(f"{SEGMENTS}{segment.pk}/change/").content.decode()
    assert bytes(segment.digest).hex() in text
    assert f"{int(segment.lamports):,}" in text
    assert ", ".join(map(str, segment.segments)) in text
    for number in ("0", "abc", "9" * 30):
        assert admin_client.get(f"{SEGMENTS}{number}/change/").status_code == 302
