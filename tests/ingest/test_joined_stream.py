"""Where a recorded validator's stream is joined, what is stored begins with the first whole slot;
what a restart of the node took away is told, slot by slot.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chain.blocks import Granularity
from gaps.slot_gap import GapStatus
from historical.models import Gap as LedgerGap
from ingest.services import classification, filling
from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.conftest import Rpc
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to, no_open_gaps
from tests.patience import wait
from tests.recorded_node import RecordedNode, load, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


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


@pytest.mark.parametrize(("version", "first"), [("4.1.2", 200), ("4.4.0", 606)])
def test_slots_that_came_whole_stay_whole_behind_a_replay_of_them(
    fixtures: Path, version: str, first: int
) -> None:
    recording = load(fixtures / f"agave-{version}", first, first + 100)
    with serving(RecordedNode(recording)) as node, worker():
        node.play(recording.place(first + 2, 0.5))
        with follower(node.geyser_url, node.url) as following:
            wait(node.joined, "the stream is joined")
            heard = following.sender.state
            node.play(recording.place(first + 3, 0.5))
            wait(lambda: heard.head_slot >= first + 3, "the head is known")
            for cut in (first + 45, first + 50):
                node.play(recording.place(cut, 0.5))
                wait(lambda at=cut: heard.head_slot >= at, "the slot has begun")
                before = heard.connected_since
                node.cut()
                wait(lambda at=before: heard.connected_since > at, "the stream is joined again")
            node.play()
            archived_to(node.newest["finalized"])
            wait(lambda: not any(map(following.sender.holds, recording.blocks)), "all is stored")
    # Without what the first connection had no more than a replay of.
    archived = ArchivedSlot.objects.filter(slot__range=(first + 12, first + 44))
    found = dict(archived.values_list("slot", "granularity"))
    assert found.keys() == {slot for slot in recording.blocks if first + 12 <= slot <= first + 44}
    assert not [slot for slot, each in found.items() if each != Granularity.WRITE]


@pytest.mark.parametrize("asks", [True, False], ids=["node", "no node"])
def test_every_slot_that_a_restart_took_away_is_told(
    fixtures: Path, settings: Any, asks: bool
) -> None:
    """A node says which blocks are final that came before. Without one all may be missing."""
    recording = load(fixtures / "agave-4.1.2", 200, 300)
    with serving(RecordedNode(recording)) as node, worker():
        settings.UPSTREAM_GEYSER_URL, settings.UPSTREAM_RPC_URL = node.geyser_url, node.url
        settings.FILL_RPC_URLS = [node.url]
        with follower(node.geyser_url, node.url if asks else None):
            wait(lambda: node.subscribed, "the stream is joined")
            node.play(recording.place(240, 0.5))
            final = node.newest["finalized"]
            archived_to(final)
            with node.away(recording.place(246)):
                pass
            node.play(recording.place(252))
            last = lambda: node.subscribed[-1].from_slot  # noqa: E731
            wait(lambda: last() > 246, "the stream is joined again")
            node.play()
            archived_to(node.newest["finalized"])
            wait(ArchiveGap.objects.exists, "a gap")
        node.kept = 3  # an attempt to fill it ends at once: there is nothing to wait for
        for _ in range(4):
            for model in (LedgerGap, ArchiveGap):
                model._default_manager.filter(closed_at__isnull=True).update(next_try_at=LONG_AGO)
            filling.fill_due_gaps(now=timezone.now)
        classification.classify(now=timezone.now())
    lacking = ArchiveGap.objects.filter(closed_at__isnull=True)
    slots = {slot for gap in lacking for slot in range(gap.from_slot, gap.to_slot + 1)}
    assert slots == set(range(240 if asks else final + 1, 247))
    assert {(gap.status, gap.cause) for gap in lacking} == {(GapStatus.MISSING, "stream_lost")}
    assert not LedgerGap.objects.filter(closed_at__isnull=True).exists()
