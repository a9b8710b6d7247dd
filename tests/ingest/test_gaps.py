"""Gaps: proved skipped, filled from what source can, and told where none could."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from gaps.slot_gap import GapStatus
from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest import sources
from ingest.services import classification, filling, retention
from ingest.services.slots import ingest_waiting, open_gaps
from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.ingest.following import follower, worker
from tests.ingest.queued import enqueue
from tests.ingest.stored_chain import archived_to, is_localnets_chain, newest_archived, no_open_gaps
from tests.localnet_process import Localnet, free_ports, running_localnet
from tests.patience import wait
from tests.rewind.samples import block
from tests.upstream.hostile import relay
from upstream.geyser.client import first_available
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
# Of a slot in whose middle a stream began the block may come, and some of its writes not.
OF_THE_STREAM = ("stream_lost", "writes_missing")


@pytest.fixture
def localnet(empty_redis: None, settings: Any) -> Iterator[Localnet]:
    """A localnet that the settings name, with slots that are skipped."""
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=20) as running:
        settings.UPSTREAM_GEYSER_URL = running.geyser_url
        settings.UPSTREAM_RPC_URL = running.url
        settings.FILL_RPC_URLS = [running.url]
        yield running


def due() -> None:
    for model in (LedgerGap, ArchiveGap):
        model.objects.filter(closed_at__isnull=True).update(next_try_at=LONG_AGO)


def fill() -> None:
    due()
    filling.fill_due_gaps(now=timezone.now)


def test_what_stream_and_replay_left_out_is_filled_when_the_replay_has_it(
    localnet: Localnet, settings: Any
) -> None:
    omitting = threading.Event()
    omitted: set[int] = set()

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        slot = schema.SubscribeUpdate.FromString(message).account.slot
        # Three slots: each is a gap, and each gap a replay at each attempt to fill it.
        if omitting.is_set() and slot % 8 == 3 and (slot in omitted or len(omitted) < 3):
            omitted.add(slot)
        else:
            yield message

    localnet.call("setFaults", {"replaySlots": 2_000})
    with relay(localnet.geyser_url, twist) as (url, _), worker():
        settings.UPSTREAM_GEYSER_URL = url
        with follower(url, localnet.url):
            archived_to(0)
            omitting.set()
            lacking = ArchiveGap.objects.filter(closed_at__isnull=True, cause="writes_missing")
            wait(lacking.exists, "a gap")
            fill()
            assert lacking.exists(), "the replay left it out as well"
            omitting.clear()
            archived_to(localnet.call("getSlot") + 15)
        wait(lambda: fill() or no_open_gaps(), "every gap filled")
        name = sources.stream_name()
    is_localnets_chain(localnet)
    filled = ArchiveGap.objects.filter(cause="writes_missing")
    assert {gap.closed_by for gap in filled} == {name}


def lost() -> set[int]:
    """The slots that the stream has said are lost."""
    gaps = ArchiveGap.objects.filter(closed_at__isnull=True, cause__in=OF_THE_STREAM)
    return {slot for gap in gaps for slot in range(gap.from_slot, gap.to_slot + 1)}


def lacking(localnet: Localnet, last: int) -> set[int]:
    """The slots up to the last one that have a block, and nothing in the archive."""
    listed = localnet.call("getBlocks", 0, last, {"commitment": "finalized"})
    return set(listed) - set(ArchivedSlot.objects.values_list("slot", flat=True))


def test_what_no_stream_has_any_more_fills_the_ledger_and_stays_a_gap_of_the_archive(
    localnet: Localnet,
) -> None:
    with worker():
        with follower(localnet.geyser_url, localnet.url):
            archived_to(8)
        stopped_at = newest_archived()
        localnet.call("setFaults", {"replaySlots": 5})
        localnet.wait_for_slot(stopped_at + 20)
        with follower(localnet.geyser_url, localnet.url):
            archived_to(stopped_at + 30)
            # Of a slot in repair the stream has not said yet that it is lost.
            open_now = ArchiveGap.objects.filter(closed_at__isnull=True)
            wait(lambda: lost() >= lacking(localnet, newest_archived()), "all of it lost")
    wait(
        lambda: fill() or not LedgerGap.objects.filter(closed_at__isnull=True).exists(),
        "the ledger whole",
    )
    last = Block.objects.order_by("-slot")[0].slot
    listed = localnet.call("getBlocks", 0, last, {"commitment": "finalized"})
    assert list(Block.objects.order_by("slot").values_list("slot", flat=True)) == listed
    told = {slot for gap in open_now.all() for slot in range(gap.from_slot, gap.to_slot + 1)}
    assert told == lost() == lacking(localnet, last) != set()
    for gap in open_now:
        assert gap.status == GapStatus.MISSING
        assert gap.cause in OF_THE_STREAM
        assert gap.tries > 0 and gap.next_try_at is not None
        tried = [event for event in gap.history if event["event"] == "tried"]
        assert "has slots from" in tried[-1]["result"]


def test_what_every_source_says_to_have_no_more_cannot_be_had(
    localnet: Localnet, settings: Any
) -> None:
    """By the third try, and by proof alone: a stream that does not answer proves nothing."""
    localnet.call("setFaults", {"replaySlots": 5})
    localnet.wait_for_slot(200)
    oldest = first_available(localnet.geyser_url)
    assert oldest is not None and oldest > 60
    listed = localnet.call("getBlocks", 40, 60, {"commitment": "finalized"})
    slot = listed[0]
    open_gaps(slot, slot, status=GapStatus.MISSING, cause="stream_lost", now=LONG_AGO)
    silent = f"http://127.0.0.1:{free_ports(1)[0]}"
    settings.UPSTREAM_GEYSER_URL = f"{localnet.geyser_url},{silent}"
    for _ in range(4):
        fill()
    (gap,) = ArchiveGap.objects.all()
    assert (gap.state, gap.tries) == ("open", 4)
    settings.UPSTREAM_GEYSER_URL = f"{localnet.geyser_url},{localnet.geyser_url}/"
    fill()
    (gap,) = ArchiveGap.objects.all()
    assert (gap.state, gap.cannot_be_had_by, gap.next_try_at) == ("given_up", "proof", None)
    assert gap.history[-1]["result"].count("has slots from") == 2
    tries = gap.tries
    filling.fill_due_gaps(now=timezone.now)
    assert ArchiveGap.objects.get().tries == tries
    # The node has the block, so that the ledger's gap is closed.
    assert LedgerGap.objects.get().closed_by == sources.nodes()[0].name


def test_unknown_slots_are_told_by_a_nodes_list_alone(localnet: Localnet) -> None:
    localnet.wait_for_slot(40)
    open_gaps(10, 30, status=GapStatus.UNKNOWN, cause="stream_lost", now=timezone.now())
    classification.classify(now=timezone.now())
    listed = localnet.call("getBlocks", 10, 30, {"commitment": "finalized"})
    for model in (LedgerGap, ArchiveGap):
        left = model.objects.filter(closed_at__isnull=True)
        assert {gap.status for gap in left} == {GapStatus.MISSING}
        slots = [slot for gap in left for slot in range(gap.from_slot, gap.to_slot + 1)]
        assert sorted(slots) == listed


def test_a_node_that_does_not_reach_back_proves_nothing(localnet: Localnet) -> None:
    slot = localnet.wait_for_slot(10)
    beyond = slot + 100_000
    open_gaps(beyond, beyond + 5, status=GapStatus.UNKNOWN, cause="stream_lost", now=timezone.now())
    classification.classify(now=timezone.now())
    gap = ArchiveGap.objects.get(closed_at__isnull=True)
    assert (gap.from_slot, gap.to_slot, gap.status) == (beyond, beyond + 5, "unknown")


def test_a_try_that_fails_waits_longer_each_time(localnet: Localnet, settings: Any) -> None:
    settings.UPSTREAM_GEYSER_URL = f"http://127.0.0.1:{free_ports(1)[0]}"
    settings.FILL_RPC_URLS = [f"http://127.0.0.1:{free_ports(1)[0]}"]
    open_gaps(5, 6, status=GapStatus.MISSING, cause="stream_lost", now=LONG_AGO)
    pauses = []
    for _ in range(3):
        before = timezone.now()
        fill()
        gap = LedgerGap.objects.get()
        assert gap.next_try_at is not None
        pauses.append((gap.next_try_at - before).total_seconds())
        assert "cannot list its blocks" in gap.history[-1]["result"]
    assert gap.tries == 3
    assert 5 <= pauses[0] < 8 and 10 <= pauses[1] < 13 and 20 <= pauses[2] < 23


def test_a_gap_that_someone_fills_is_not_taken_twice(localnet: Localnet) -> None:
    open_gaps(5, 6, status=GapStatus.MISSING, cause="stream_lost", now=LONG_AGO)
    assert filling._claim(LedgerGap, timezone.now()) is not None
    assert filling._claim(LedgerGap, timezone.now()) is None


def test_what_falls_out_of_the_window_goes(localnet: Localnet) -> None:
    with worker(), follower(localnet.geyser_url, localnet.url):
        archived_to(20)
    newest = Block.objects.order_by("-slot")[0].slot
    retention.apply(archive_slots=5, ledger_slots=5)
    kept = list(Block.objects.order_by("slot").values_list("slot", flat=True))
    assert kept[0] >= newest - 4
    assert kept[-1] == newest


def test_gaps_of_the_ledger_end_with_its_window(empty_redis: None) -> None:
    """Their blocks would be fetched, and removed again."""
    for slot in (100, 150, 190, 200):
        enqueue(block(slot, slot - 1, writes=[], transactions=0))
    ingest_waiting(now=timezone.now, seconds=30.0)
    for first, last in ((110, 120), (151, 160)):
        open_gaps(first, last, status=GapStatus.MISSING, cause="stream_lost", now=LONG_AGO)
    retention.apply(archive_slots=45, ledger_slots=45)
    for model in (LedgerGap, ArchiveGap):
        told = model.objects.filter(closed_at__isnull=True).order_by("from_slot")
        assert next(gap.from_slot for gap in told) == 156, model
        assert not model.objects.filter(from_slot__lt=156).exists(), model


def test_what_is_proved_skipped_is_not_lost_again(empty_redis: None) -> None:
    """A follower may begin anew far below what is stored, and its server far above."""
    for slot, parent in ((100, 99), (103, 100), (106, 103)):
        enqueue(block(slot, parent, writes=[], transactions=0))
    ingest_waiting(now=timezone.now, seconds=30.0)
    open_gaps(98, 108, status=GapStatus.UNKNOWN, cause="stream_lost", now=timezone.now())
    for model in (LedgerGap, ArchiveGap):
        told = model.objects.order_by("from_slot").values_list("from_slot", "to_slot")
        assert list(told) == [(98, 99), (107, 108)], model
