"""Where a recorded validator's stream is joined, the archive begins with the first whole slot."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Rpc
from tests.ingest.following import follower, wait, worker
from tests.ingest.stored_chain import archived_to, no_open_gaps
from tests.recorded_node import RecordedNode, load, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def coverage(rpc: Rpc) -> dict[str, Any]:
    found: dict[str, Any] = rpc("/rewind", "getRewindCoverage")["result"]
    return found


@pytest.mark.parametrize("kept", [150, 0], ids=["replay", "no replay"])
@pytest.mark.parametrize(
    ("version", "first", "whole"),
    [
        ("4.1.2", 196, 196),
        # A lone leader's replays lack what a slot wrote before its bank was announced.
        ("4.4.0", 606, 610),
    ],
)
def test_coverage_begins_with_the_first_whole_slot(
    fixtures: Path, rpc: Rpc, version: str, first: int, whole: int, kept: int
) -> None:
    joined = first + 3
    recording = load(fixtures / f"agave-{version}", first, first + 46)
    with serving(RecordedNode(recording, kept=kept)) as node, worker():
        node.play(recording.place(joined, 0.5))
        with follower(node.geyser_url, node.url) as following:
            wait(lambda: node.subscribed, "the stream is joined")
            node.play()
            newest = node.newest["finalized"]
            archived_to(newest)
            wait(lambda: not following.follower._joined.wanted(), "no slot is asked for again")
            wait(no_open_gaps, "no gap is open")
    found = coverage(rpc)
    assert (found["earliestSlot"], found["latestSlot"]) == (whole if kept else joined + 1, newest)
    assert (found["missingSlotCount"], found["gaps"]) == (0, [])
    # Every write of what came live; of the joined slot and those before it the last writes.
    assert found["wholeSlotCount"] == newest - joined
    # Nothing is asked for that the same server did not have a moment before.
    again = [request.from_slot for request in node.subscribed[1:]]
    assert len(again) == len(set(again)) and (kept or not again)
