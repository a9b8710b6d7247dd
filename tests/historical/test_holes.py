"""Slots that the ledger lacks between its blocks are said: by lists of blocks, and by coverage."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.slot_ranges import SlotRange, clip
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from historical.coverage.store import holes
from historical.models import Gap
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from tests.conftest import Rpc
from tests.examples import examples
from tests.rewind.samples import block

from .sealed_reads import HISTORICAL, NOW, seal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]
N = 447_700_001


def store(*links: tuple[int, int]) -> None:
    record_blocks([block(slot, parent, transactions=1) for slot, parent in links], now=NOW)


@pytest.fixture
def holed() -> None:
    """N+2 and N+3 are missing, N+4 was skipped."""
    store((N, N - 1), (N + 1, N), (N + 5, N + 3))


@pytest.fixture
def ask(posted: Any) -> Any:
    """(result or error, X-Ledger-Gaps) of a call."""

    def call(method: str, *params: Any) -> tuple[Any, str | None]:
        response = posted(method, *params)
        assert "X-Ledger-Gaps" in response.headers["Access-Control-Expose-Headers"]
        answer = json.loads(response.content)
        return answer.get("result", answer.get("error")), response.headers.get("X-Ledger-Gaps")

    return call


def coverage(rpc: Rpc, **config: Any) -> dict[str, Any]:
    found: dict[str, Any] = rpc(HISTORICAL, "getLedgerCoverage", config)["result"]["value"]
    return found


# Lists of blocks


def test_a_list_names_the_holes_of_its_range(holed: None, ask: Any) -> None:
    hole = f"{N + 2}-{N + 3}"
    for method, params, slots, named in (
        ("getBlocks", (N, N + 5), [N, N + 1, N + 5], hole),
        ("getBlocks", (N,), [N, N + 1, N + 5], hole),
        ("getBlocks", (N - 50, N + 900), [N, N + 1, N + 5], hole),
        ("getBlocks", (N + 3, N + 4), [], f"{N + 3}-{N + 3}"),
        ("getBlocks", (N, N + 2), [N, N + 1], f"{N + 2}-{N + 2}"),
        ("getBlocks", (N, N + 1), [N, N + 1], None),
        ("getBlocks", (N + 4, N + 5), [N + 5], None),
        ("getBlocks", (N + 6, N + 900), [], None),
        ("getBlocks", (0, 100), [], None),
        ("getBlocksWithLimit", (N, 3), [N, N + 1, N + 5], hole),
        ("getBlocksWithLimit", (N, 9), [N, N + 1, N + 5], hole),
        ("getBlocksWithLimit", (N, 2), [N, N + 1], None),
        ("getBlocksWithLimit", (N + 3, 1), [N + 5], f"{N + 3}-{N + 3}"),
        ("getBlocksWithLimit", (N + 2, 0), [], None),
        ("getBlocksWithLimit", (2**63, 5), [], None),
    ):
        assert ask(method, *params) == (slots, named), (method, params)


def test_a_range_ends_at_the_newest_slot_if_that_is_slot_0(ask: Any) -> None:
    store((0, 0))
    assert ask("getBlocks", 0, 500_001) == ([0], None)
    assert ask("getBlocks", 3, 2**64 - 1) == ([], None)


def test_who_asks_for_it_gets_an_error(holed: None, ask: Any) -> None:
    strict = {"gaps": "error"}
    for method, *params in (
        ("getBlocks", N, N + 5, strict),
        ("getBlocks", N, strict),
        ("getBlocks", N, None, strict),
        ("getBlocksWithLimit", N, 3, strict),
    ):
        error, header = ask(method, *params)
        assert header is None
        assert (error["code"], error["data"]["reason"]) == (-32009, "range_has_gaps")
        assert error["data"]["gaps"] == [{"fromSlot": N + 2, "toSlot": N + 3}]
        assert error["data"]["truncated"] is False
        assert error["message"] == (
            f"Slots {N + 2} to {N + 3} were skipped, or missing in long-term storage"
        )
    assert ask("getBlocks", N, N + 1, strict) == ([N, N + 1], None)
    assert ask("getBlocksWithLimit", N, 2, strict) == ([N, N + 1], None)
    error, _ = ask("getBlocks", N, N + 5, {"gaps": "ignore"})
    assert error["code"] == -32602 and "unknown variant `ignore`" in error["message"]


def test_a_list_of_an_address_names_the_holes_of_its_range(holed: None, ask: Any) -> None:
    """Pages in either order against a model are in test_any_pages.py."""
    payer, hole = "1" * 32, f"{N + 2}-{N + 3}"
    found, header = ask("getSignaturesForAddress", payer)
    assert ([each["slot"] for each in found], header) == ([N + 5, N + 1, N], hole)
    assert ask("getSignaturesForAddress", payer, {"limit": 1})[1] is None
    assert ask("getSignaturesForAddress", payer, {"before": found[1]["signature"]})[1] is None
    assert ask("getSignaturesForAddress", payer, {"until": found[1]["signature"]})[1] == hole
    # An address that the stored blocks do not name may be in the others.
    assert ask("getSignaturesForAddress", "1" * 31 + "9") == ([], hole)
    error, header = ask("getSignaturesForAddress", payer, {"gaps": "error"})
    assert (error["data"]["reason"], header) == ("range_has_gaps", None)
    page, header = ask("getTransactionsForAddress", payer, {"transactionDetails": "full"})
    assert (len(page["data"]), header) == (3, hole)


def test_many_holes_are_cut(ask: Any) -> None:
    store(*((slot, slot - 1) for slot in range(10, 10 + 2 * 120, 2)))
    slots, header = ask("getBlocks", 0, 1_000)
    assert len(slots) == 120
    named = header.split(", ")
    assert (len(named), named[0], named[99], named[100]) == (101, "11-11", "209-209", "...")
    error, _ = ask("getBlocks", 0, 1_000, {"gaps": "error"})
    assert (len(error["data"]["gaps"]), error["data"]["truncated"]) == (100, True)
    assert error["message"].startswith("Slots 11 to 11, 13 to 13, 15 to 15, and others were")


def test_in_a_batch_the_error_says_it(holed: None, client: Any, api_key: str) -> None:
    """Its calls share the response's headers: none names whose gaps they are."""
    body = [
        {"jsonrpc": "2.0", "id": number, "method": "getBlocks", "params": [N, N + 5, config]}
        for number, config in enumerate(({}, {"gaps": "error"}))
    ]
    headers = {"Authorization": api_key}
    response = client.post(
        HISTORICAL, json.dumps(body), content_type="application/json", headers=headers
    )
    assert "X-Ledger-Gaps" not in response.headers
    first, second = json.loads(response.content)
    assert first["result"] == [N, N + 1, N + 5]
    assert second["error"]["data"]["reason"] == "range_has_gaps"


def test_a_hole_that_is_filled_is_no_longer_named(holed: None, ask: Any, rpc: Rpc) -> None:
    store((N + 3, N + 1))
    assert ask("getBlocks", N, N + 5) == ([N, N + 1, N + 3, N + 5], None)
    assert coverage(rpc)["gaps"] == []


# Coverage


def test_coverage_lists_the_gaps_and_its_bands_end_at_them(holed: None, rpc: Rpc) -> None:
    found = coverage(rpc)
    assert found == {
        "firstSlot": N,
        "lastSlot": N + 5,
        "missingSlotCount": 2,
        "gaps": [
            {"fromSlot": N + 2, "toSlot": N + 2, "status": "unknown"},
            {"fromSlot": N + 3, "toSlot": N + 3, "status": "missing"},
        ],
        "truncated": False,
        "storage": [
            {"band": "hot", "firstSlot": N, "lastSlot": N + 1},
            {"band": "hot", "firstSlot": N + 4, "lastSlot": N + 5},
        ],
        "remote": None,
    }
    assert coverage(rpc, includeGaps=False) == {**found, "gaps": None}


def test_a_window_has_its_own_gaps_and_bands(holed: None, rpc: Rpc) -> None:
    found = coverage(rpc, fromSlot=N + 3, toSlot=N + 4)
    assert found["gaps"] == [{"fromSlot": N + 3, "toSlot": N + 3, "status": "missing"}]
    assert found["storage"] == [{"band": "hot", "firstSlot": N + 4, "lastSlot": N + 4}]
    assert (found["firstSlot"], found["lastSlot"], found["missingSlotCount"]) == (N, N + 5, 1)
    found = coverage(rpc, toSlot=N + 2)
    assert found["gaps"] == [{"fromSlot": N + 2, "toSlot": N + 2, "status": "unknown"}]
    for config in ({"fromSlot": N + 6}, {"toSlot": N - 1}, {"fromSlot": 2**64 - 1}):
        found = coverage(rpc, **config)
        assert (found["gaps"], found["storage"], found["missingSlotCount"]) == ([], [], 0)


def test_more_gaps_than_may_be_listed_end_the_bands(rpc: Rpc) -> None:
    store(*((slot, slot - 1) for slot in range(10, 30, 2)))
    found = coverage(rpc, maxGaps=2)
    assert [each["fromSlot"] for each in found["gaps"]] == [11, 13]
    assert found["truncated"] and found["missingSlotCount"] == 9
    assert [(each["firstSlot"], each["lastSlot"]) for each in found["storage"]] == [
        (10, 10),
        (12, 12),
    ]
    rest = coverage(rpc, fromSlot=14)
    assert not rest["truncated"] and len(rest["gaps"]) == 7
    none = coverage(rpc, maxGaps=0)
    assert (none["gaps"], none["truncated"], none["storage"]) == ([], True, [])


def test_a_gap_that_was_opened_says_what_is_known_of_it(holed: None, rpc: Rpc) -> None:
    ledger_gaps.open_gap(N + 2, N + 2, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
    hole = {"fromSlot": N + 2, "toSlot": N + 3, "status": "missing"}
    assert [*coverage(rpc)["gaps"]] == [
        {**hole, "toSlot": N + 2},
        {**hole, "fromSlot": N + 3},
    ]
    Gap.objects.update(cannot_be_had_at=NOW)
    assert coverage(rpc)["gaps"][0] == {**hole, "toSlot": N + 2, "state": "cannot_be_had"}
    # Above the newest block nothing is between blocks.
    ledger_gaps.open_gap(N + 6, N + 9, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    assert len(coverage(rpc)["gaps"]) == 2


def test_sealed_bands_end_at_gaps_too(rpc: Rpc) -> None:
    store((100, 99), (101, 100), (105, 103), (6_450, 105), (12_870, 6_450))
    seal(6_400)
    assert [tuple(each.values()) for each in coverage(rpc)["storage"]] == [
        ("sealed", 100, 101),
        ("sealed", 104, 12_799),
        ("hot", 12_800, 12_870),
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"fromSlot": 2, "toSlot": 1}, "Invalid params: fromSlot is above toSlot"),
        ({"maxGaps": -1}, "Invalid params: invalid value: integer `-1`, expected u64."),
        ({"includeGaps": 1}, "Invalid params: invalid type: integer `1`, expected a boolean."),
    ],
)
def test_a_bad_window_is_refused(rpc: Rpc, config: dict[str, Any], message: str) -> None:
    error = rpc(HISTORICAL, "getLedgerCoverage", config)["error"]
    assert (error["code"], error["message"]) == (-32602, message)


def test_an_empty_ledger_has_no_gaps(ask: Any, rpc: Rpc) -> None:
    assert ask("getBlocks", 0, 10) == ([], None)
    found = coverage(rpc)
    assert (found["gaps"], found["storage"], found["missingSlotCount"]) == ([], [], 0)


# Any ledger


def _true_holes(stored: Sequence[tuple[int, int]]) -> list[SlotRange]:
    return [
        SlotRange(low + 1, parent) for (low, _), (_, parent) in pairwise(stored) if parent > low
    ]


@st.composite
def ledgers(draw: st.DrawFn) -> list[tuple[int, int]]:
    """(slot, parent) of stored blocks of one chain, near and far from one another."""
    steps = st.sampled_from([1, 1, 1, 2, 3, 40, 999, 1_000, 1_001, 16_500, 300_000])
    slot = draw(st.sampled_from([0, 5, 999, 1_000, 123_456]))
    chain = [(slot, max(0, slot - 1))]
    for step in draw(st.lists(steps, min_size=1, max_size=25)):
        chain.append((slot + step, slot))
        slot += step
    kept = draw(st.lists(st.booleans(), min_size=len(chain), max_size=len(chain)))
    return [each for each, is_kept in zip(chain, kept, strict=True) if is_kept] or chain[:1]


@settings(max_examples=examples(60), deadline=None)
@given(ledgers(), st.data())
def test_holes_are_those_of_a_plain_model(
    stored: list[tuple[int, int]], data: st.DataObject
) -> None:
    with transaction.atomic():
        store(*stored)
        low, high = stored[0][0], stored[-1][0]
        near = st.sampled_from(
            sorted({at for slot, parent in stored for at in (slot - 1, slot, slot + 1, parent)})
        ) | st.integers(low, high)
        ends = near.map(lambda slot: min(max(slot, low), high))
        for first, last in (
            (low, high),
            *(sorted((data.draw(ends), data.draw(ends))) for _ in range(4)),
        ):
            limit = data.draw(st.sampled_from([0, 1, 2, 100]))
            true = [
                each for each in _true_holes(stored) if each.last >= first and each.first <= last
            ]
            found = holes.holes_between(first, last, limit)
            assert found.ranges == true[:limit]
            assert found.truncated == (len(true) > limit)
            assert found.blocks == sum(first <= slot <= last for slot, _ in stored)
            assert sum(each.size for each in clip(true, first, last)) >= len(true)
        transaction.set_rollback(True)


def test_holes_stay_right_while_blocks_leave(rpc: Rpc) -> None:
    store(*((slot, slot - 1) for slot in range(2_000, 4_500)))
    remove_blocks(2_500, 2_509)
    remove_blocks(3_999, 4_001)
    assert holes.holes_between(2_000, 4_499, 9).ranges == [(2_500, 2_509), (3_999, 4_001)]
    assert [each["status"] for each in coverage(rpc)["gaps"]] == ["unknown", "missing"] * 2
