"""getRewindCoverage through the door, and over any history against a plain model."""

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.addresses import VOTE
from chain.blocks import Granularity
from chain.slot_ranges import runs
from gaps.coverage import Window
from gaps.parts import parts_between
from gaps.slot_gap import GapStatus
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.coverage import coverage
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.models import ArchivedSlot, Gap, SlotTally
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, write

REWIND, METHOD = "/rewind", "getRewindCoverage"


def test_an_archive_that_has_not_begun_says_so(rpc):
    assert rpc(REWIND, METHOD)["result"] == {
        "earliestSlot": None,
        "latestSlot": None,
        "slotRange": None,
        "missingSlotCount": 0,
        "cannotBeHadSlotCount": 0,
        "skippedSlotCount": 0,
        "wholeSlotCount": 0,
        "lastWritesOnlySlotCount": 0,
        "gapPercent": None,
        "gaps": [],
        "truncated": False,
        "storage": [],
        "provenThrough": None,
        "consistentThrough": None,
        "proof": [],
        "baselines": [],
        "filteredOwners": [],
        "filteredPubkeys": [],
        "note": "Nothing is archived yet.",
    }


def test_a_baseline_without_slots_is_something(rpc, db):
    record_baseline([write(1)], 100, source="snapshot", now=NOW)
    result = rpc(REWIND, METHOD)["result"]
    assert result["earliestSlot"] is None and [each["slot"] for each in result["baselines"]] == [
        100
    ]
    assert result["note"] == "No slot is archived yet. A baseline has the accounts at its slot."


def test_archived_skipped_missing_and_unknown_slots_are_told_apart(rpc, record):
    record(block(100), block(103, parent=100), block(110, parent=108))
    result = rpc(REWIND, METHOD)["result"]
    assert (result["earliestSlot"], result["latestSlot"], result["slotRange"]) == (100, 110, 11)
    assert (result["missingSlotCount"], result["skippedSlotCount"]) == (5, 3)
    assert result["gaps"] == [
        {"fromSlot": 104, "toSlot": 107, "status": "unknown"},
        {"fromSlot": 108, "toSlot": 108, "status": "missing"},
    ]
    assert result["gapPercent"] == 5 / 8 * 100


@pytest.mark.parametrize("first", [111, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_window_above_the_archive_is_empty(rpc, record, first):
    record(block(100), block(110, parent=108))
    result = rpc(REWIND, METHOD, {"fromSlot": first})["result"]
    assert (result["earliestSlot"], result["latestSlot"]) == (100, 110)
    assert (result["missingSlotCount"], result["skippedSlotCount"], result["gaps"]) == (0, 0, [])
    assert result["gapPercent"] is None


def test_params_may_be_absent(client, api_key, record):
    record(block(1))
    for params in ("", ', "params": null', ', "params": []', ', "params": [{}]'):
        answer = client.post(
            REWIND,
            f'{{"jsonrpc": "2.0", "id": 1, "method": "{METHOD}"{params}}}',
            content_type="application/json",
            headers={"Authorization": api_key},
        )
        assert answer.json()["result"]["latestSlot"] == 1


def test_a_window_is_clipped_to_the_archive_and_its_gaps_to_the_window(rpc, record):
    record(block(100), block(110, parent=109))
    result = rpc(REWIND, METHOD, {"fromSlot": 105, "toSlot": 2**64 - 1})["result"]
    assert result["gaps"] == [
        {"fromSlot": 105, "toSlot": 108, "status": "unknown"},
        {"fromSlot": 109, "toSlot": 109, "status": "missing"},
    ]
    assert (result["missingSlotCount"], result["slotRange"]) == (5, 11)
    assert result["gapPercent"] == 5 / 6 * 100
    beyond = rpc(REWIND, METHOD, {"fromSlot": 111})["result"]
    assert (beyond["missingSlotCount"], beyond["gapPercent"], beyond["gaps"]) == (0, None, [])
    assert beyond["latestSlot"] == 110


def test_gaps_are_listed_up_to_a_limit_and_counted_beyond_it(rpc, record):
    record(*[block(slot, parent=slot - 1) for slot in range(10, 30, 4)])
    for limit, listed in [(0, 0), (3, 3), (8, 8), (2**63, 8)]:
        result = rpc(REWIND, METHOD, {"maxGaps": limit})["result"]
        assert len(result["gaps"]) == listed
        assert result["truncated"] == (listed < 8)
        assert result["missingSlotCount"] == 12
    result = rpc(REWIND, METHOD, {"includeGaps": False})["result"]
    assert (result["gaps"], result["truncated"], result["missingSlotCount"]) == (None, False, 12)


def test_neighbours_of_different_causes_are_one_run(rpc, record):
    record(block(10), block(21, parent=20))
    gaps.open_gap(13, 15, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    assert gaps.open_gaps(13, 13)[0].cause == "stream_lost"
    assert rpc(REWIND, METHOD)["result"]["gaps"] == [
        {"fromSlot": 11, "toSlot": 19, "status": "unknown"},
        {"fromSlot": 20, "toSlot": 20, "status": "missing"},
    ]


def test_filters_and_coarse_slots_are_told(rpc, record):
    filters.filter_owner(VOTE, filtered=True)
    account = Pubkey.new_unique()
    filters.filter_account(account, filtered=True)
    record(block(10, granularity=Granularity.SLOT), block(11))
    result = rpc(REWIND, METHOD)["result"]
    assert result["filteredOwners"] == ["Vote111111111111111111111111111111111111111"]
    assert result["filteredPubkeys"] == [str(account)]
    assert "1 of the window's 2 archived slots" in result["note"]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"fromSlot": -1}, "Invalid params: invalid value: integer `-1`, expected u64."),
        ({"toSlot": "9"}, 'Invalid params: invalid type: string "9", expected u64.'),
        ({"maxGaps": 1.5}, "Invalid params: invalid type: floating point `1.5`, expected u64."),
        ({"includeGaps": 1}, "Invalid params: invalid type: integer `1`, expected a boolean."),
        ({"fromSlot": 9, "toSlot": 8}, "Invalid params: fromSlot is above toSlot"),
        (7, "Invalid params: invalid type: integer `7`, expected an object."),
    ],
)
def test_what_makes_no_sense_is_refused(rpc, config, text):
    error = rpc(REWIND, METHOD, config)["error"]
    assert (error["code"], error["message"]) == (-32602, text)


@pytest.mark.parametrize("host", ["basic.rpc.localhost", "epic.rpc.localhost", "localhost"])
def test_the_paid_hosts_serve_the_archive(rpc, host):
    assert rpc(REWIND, METHOD, host=host)["result"]["gaps"] == []


@pytest.mark.parametrize("host", ["public.rpc.localhost", "basic.qos.localhost"])
def test_the_other_hosts_do_not(client, api_key, host):
    answer = client.post(REWIND, "{}", content_type="application/json", headers={"Host": host})
    assert answer.status_code == 404


@st.composite
def histories(draw):
    """A chain, and the order in which some of its blocks come in, a few at a time."""
    start = draw(st.sampled_from([0, 970, 35_980]))  # near an edge of tallies, or of partitions
    made = sorted(draw(st.sets(st.integers(start + 1, start + 60), min_size=1, max_size=40)))
    coming = draw(st.permutations(made))[: draw(st.integers(1, len(made)))]
    sizes = draw(st.lists(st.integers(1, 6), min_size=len(coming), max_size=len(coming)))
    window = (draw(st.integers(start, start + 70)), draw(st.integers(start, start + 70)))
    return start, made, coming, sizes, (min(window), max(window))


@settings(max_examples=examples(40))
@given(histories())
def test_coverage_is_that_of_a_plain_model(db, history):
    start, made, coming, sizes, (first, last) = history
    parents = dict(zip(made, [start, *made], strict=False))
    with transaction.atomic():
        waiting = list(coming)
        for size in sizes:
            batch, waiting = waiting[:size], waiting[size:]
            records = [block(slot, parents[slot]) for slot in batch]
            record_slots(records, source="stream", now=NOW)
        have = set(coming)
        low, high = max(first, min(have)), min(last, max(have))
        told = coverage(Window(first, last, 9_999, lists_gaps=True))
        assert (told.earliest_slot, told.latest_slot) == (min(have), max(have))
        window = set(range(low, high + 1))
        proved = {s for slot in have for s in range(parents[slot] + 1, slot)} - have
        lacking = window - have - proved
        assert told.missing_slot_count == len(lacking)
        assert told.skipped_slot_count == len(window & proved)
        listed = {s for gap in told.gaps for s in range(gap.from_slot, gap.to_slot + 1)}
        assert listed == lacking
        named = {parents[slot] for slot in have}
        assert lacking & named == {
            s
            for gap in told.gaps
            if gap.status == "missing"
            for s in range(gap.from_slot, gap.to_slot + 1)
        }
        ends = [part[:2] for part in parts_between(Gap, low, high, 99)]
        assert [gap.first for gap in runs(lacking)] == [
            first for first, _ in ends if first - 1 not in lacking
        ]
        assert sum(tally.slots for tally in SlotTally.objects.all()) == ArchivedSlot.objects.count()
        transaction.set_rollback(True)
