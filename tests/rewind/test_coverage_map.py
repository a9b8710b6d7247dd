"""The heat map of archive and ledger, held against what single slots say."""

import random
from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from chain.blocks import Granularity
from chain.epochs import EpochSchedule
from chain.slot_ranges import SlotRange
from gaps.slot_gap import GapStatus
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from ingest.services.slots import open_gaps
from rewind.coverage.services import coverage_map, epochs
from rewind.coverage.services.coverage_map import Cell
from rewind.coverage.services.gaps import archive_gaps
from rewind.coverage.services.slot_states import SlotStates, State, slot_states
from rewind.recording.services.recording import record_slots
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, signature, write

COVERAGE = "/admin/rewind/slottally/"

pytestmark = pytest.mark.usefixtures("empty_ledger")


def text_of(client: Any, path: str, **data: Any) -> str:
    page = client.get(path, data)
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def a_chain(seed: int, first: int, last: int) -> None:
    """Blocks with skipped slots between them, some of which were lost on the way, some removed."""
    chance = random.Random(seed)
    parent, blocks = first - 1, []
    while parent < last:
        slot = parent + chance.choice([1, 1, 1, 2, 3, 30, 90])
        blocks.append(block(slot, parent, transactions=1))
        parent = slot
    kept = [each for each in blocks if chance.random() > 0.1]
    record_blocks([each for each in blocks if chance.random() > 0.1], now=NOW)
    record_slots(kept, source="stream", now=NOW)
    for _ in range(8):
        low = chance.randrange(first, last)
        status = chance.choice([GapStatus.MISSING, GapStatus.UNKNOWN])
        high = low + chance.randrange(60)
        open_gaps(low, high, status=status, cause="stream_lost", now=NOW)
    low = chance.randrange(first, last)
    remove_blocks(low, low + 200)


def counted(states: list[SlotStates], area: str, reach: SlotRange, cell: Cell) -> dict[str, int]:
    """What lies in the area's range."""
    low, high = max(cell.first, reach.first), min(cell.last, reach.last)
    found = Counter(getattr(each, area) for each in states[low : high + 1])
    held = found[State.HELD] + found[State.COARSE] + found[State.FILTERED]
    return {
        "slots": sum(found.values()) - found[State.OUTSIDE],
        "held": held,
        "skipped": found[State.SKIPPED],
        "missing": found[State.MISSING],
        "unknown": found[State.UNKNOWN],
        "not_covered": found[State.NOT_COVERED],
    }


def drawn(cell: Cell) -> dict[str, int]:
    names = ("slots", "held", "skipped", "missing", "unknown", "not_covered")
    return {name: getattr(cell, name) for name in names}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("length", [8_640, 700])
def test_every_cell_says_what_its_slots_say(db: None, seed: int, length: int) -> None:
    """On whatever epochs: their ends fit the tallied runs, or do not."""
    a_chain(seed, 2_345, 6_300)
    epochs.keep(EpochSchedule(length, 0, 0))
    ranges = coverage_map.ranges()
    assert ranges.both is not None
    states = [
        each
        for first in range(0, 9_000, 2_000)
        for each in slot_states(ranges, SlotRange(first, first + 1_999))
    ]
    assert [each.slot for each in states] == list(range(10_000))
    rows, known = coverage_map.epoch_rows(ranges, newest=None, limit=100)
    told = [
        each for each in states if {each.archive, each.ledger} - {State.OUTSIDE, State.NOT_COVERED}
    ]
    assert known.is_known
    assert {each.slot // length for each in told} <= {row.epoch for row in rows}
    row = rows[0]
    cells = [
        *((area, cell) for each in rows for area in ("archive", "ledger")
          for cell in getattr(each, area)),
        *zip(("archive", "ledger"), coverage_map.totals(ranges), strict=True),
    ]  # fmt: skip
    whole = SlotRange(row.first, row.last)
    for area, found in zip(
        ("archive", "ledger"), coverage_map.epoch_cells(ranges, whole), strict=True
    ):
        assert (found[0].first, found[-1].last) == whole
        cells += [(area, cell) for cell in found]
    for area, cell in cells:
        assert cell is not None
        if cell.last < 10_000:
            assert drawn(cell) == counted(states, area, getattr(ranges, area), cell), (
                area,
                cell,
            )


def test_a_mainnet_epoch_is_drawn_in_thousands(db: None) -> None:
    record_blocks([block(slot, slot - 1) for slot in (431_999, 432_000, 863_999)], now=NOW)
    cells = coverage_map.epoch_cells(coverage_map.ranges(), SlotRange(432_000, 863_999))[1]
    assert len(cells) == 432
    assert {cell.last - cell.first + 1 for cell in cells} == {1_000}
    rows, known = coverage_map.epoch_rows(coverage_map.ranges(), newest=None, limit=10)
    assert not known.is_known
    assert [(row.epoch, len(row.ledger)) for row in rows] == [(1, 24), (0, 24)]
    assert {cell.first % 1_000 for row in rows for cell in row.ledger} == {0}


def test_epochs_between_two_imports_are_left_out(db: None) -> None:
    epochs.keep(EpochSchedule(100, 0, 0))
    record_blocks([block(slot, slot - 1) for slot in (3_050, 9_050, 12_050)], now=NOW)
    open_gaps(7_010, 7_020, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    rows, _ = coverage_map.epoch_rows(coverage_map.ranges(), newest=None, limit=100)
    # A count stands for its thousand slots.
    shown = {row.epoch for row in rows}
    assert {30, 70, 90, 120} <= shown and not shown & {*range(40, 70), *range(71, 90)}
    assert sum(cell.unknown for row in rows for cell in row.ledger) == 11
    below, _ = coverage_map.epoch_rows(coverage_map.ranges(), newest=89, limit=1)
    assert [row.epoch for row in below] == [70]


def test_the_pages_lead_from_epochs_to_slots(admin_client: Any, record: Any) -> None:
    record(
        block(1_000, writes=[write(1, signature(1_000, 0))]),
        block(1_001, granularity=Granularity.SLOT, writes=[write(1, signature(1_001, 0))]),
        block(1_005, parent=1_003),
        block(1_006, transactions=0),
    )
    record_blocks([block(1_000), block(1_005, 1_003)], now=NOW)
    text = text_of(admin_client, COVERAGE)
    assert "mainnet&#x27;s is used, of 432,000 slots" in text
    assert f"{COVERAGE}epoch/?epoch=0" in text
    assert "Epoch 0, ledger: 2 stored, 1 skipped, 0 missing, 3 not covered" in text
    page = text_of(admin_client, f"{COVERAGE}epoch/", epoch=0)
    assert "Slots 1000 to 1999: 4 archived, 1 skipped, 1 missing, 1 unknown" in page
    assert f"{COVERAGE}slots/?first=1000&amp;last=1999" in page
    slots = text_of(admin_client, f"{COVERAGE}slots/", first=1_000, last=1_999)
    gap = archive_gaps.open_gaps(1_003, 1_003)[0]
    for told in (
        'href="/admin/rewind/archivedslot/1000/change/" title="Slot 1000: held"',
        'title="Slot 1001: last writes"',
        f'href="/admin/rewind/gap/{gap.pk}/change/" title="Slot 1003: missing"',
        'title="Slot 1004: skipped"',
        'title="Slot 1005: filtered"',
        'href="/admin/historical/block/1005/change/"',
        'title="Slot 1007: outside"',
        '<td class="tm-nowrap">1007 to 1999</td>',
    ):
        assert told in slots
    answer = admin_client.get(f"{COVERAGE}slots/", {"slot": "1,003"})
    assert answer["Location"] == f"{COVERAGE}slots/?first=1000&last=1999"


def test_slots_that_no_source_has_are_shown_as_such(admin_client: Any, record: Any) -> None:
    record(block(1_000), block(1_005, parent=1_003))
    gaps = [each.pk for each in archive_gaps.open_gaps(1_000, 1_005)]
    assert archive_gaps.give_up(gaps, by="ada", now=NOW) == len(gaps) > 0
    slots = text_of(admin_client, f"{COVERAGE}slots/", first=1_000, last=1_999)
    assert 'class="tm-gone"' in slots and 'title="Slot 1003: given up"' in slots
    assert "no source has it any more" in slots


WHATEVER: list[tuple[str, dict[str, str]]] = [
    ("", {"newest": "99999999999999"}),
    ("", {"newest": "x"}),
    ("epoch/", {}),
    ("epoch/", {"epoch": "9" * 40}),
    ("epoch/", {"epoch": str(2**62)}),
    ("slots/", {}),
    ("slots/", {"first": "9", "last": "1"}),
    ("slots/", {"first": str(2**63 - 1)}),
    ("slots/", {"first": "0", "last": str(2**63 - 1)}),
]


@pytest.mark.parametrize("filled", [True, False])
def test_whatever_is_asked_for_a_page_comes(admin_client: Any, record: Any, filled: bool) -> None:
    epochs.keep(EpochSchedule(1_000, 0, 0))
    if filled:
        record(block(5), block(8, parent=6))
    for path, data in WHATEVER:
        text_of(admin_client, COVERAGE + path, **data)


def test_the_pages_ask_no_more_for_more_slots(
    admin_client: Any, record: Any, django_assert_max_num_queries: Any
) -> None:
    epochs.keep(EpochSchedule(30, 0, 0))
    record(*[block(slot, parent=slot - 1) for slot in range(0, 600, 3)][1:])
    record_blocks([block(slot, slot - 1) for slot in range(3, 600, 3)], now=NOW)
    for path, most in (("", 48), ("epoch/", 16), ("slots/", 18)):
        with django_assert_max_num_queries(most):
            text_of(admin_client, COVERAGE + path)


def test_who_may_not_see_coverage_sees_none_and_who_may_only_look_orders_nothing(
    client: Any, django_user_model: Any, record: Any
) -> None:
    record(block(5))
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    client.force_login(user)
    for path in ("", "epoch/", "slots/"):
        assert client.get(COVERAGE + path).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_slottally"))
    assert "Re-ingest" not in text_of(client, COVERAGE)
    user.user_permissions.add(Permission.objects.get(codename="order_ranges"))
    assert "rangeorder/add/?kind=verify&amp;first_slot=0&amp;last_slot=431999" in text_of(
        client, f"{COVERAGE}epoch/"
    )
