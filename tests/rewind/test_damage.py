"""Damage in sealed changes is found, named, never served, and repaired or opened as a gap."""

import threading
import time
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection

from chain.accounts import AccountWrite
from columns import other_database
from gaps.slot_gap import GapStatus
from rewind import tasks
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.store import checking
from rewind.models import ArchivedSlot, Gap, SlotTally
from rewind.recording.services.recording import record_slots
from rewind.recording.store import partitions
from rewind.sealed.models import SealedBlock, SealedDamage, SealedSegment
from rewind.sealed.packing import block_codec
from rewind.sealed.services import damage_gaps, repairing, segments
from rewind.sealed.services import sealing as sealing_service
from rewind.sealed.services.sealed_life import ARCHIVE
from rewind.sealed.store import sealing as store
from shared_state import damage_reports
from tests.conftest import Rpc
from tests.patience import PATIENCE_SECONDS
from tests.rewind.conftest import NOW
from tests.rewind.damaging import SEALED, flip, forget
from tests.rewind.histories import text
from tests.rewind.samples import block, key, signature, write
from tests.rewind.sealed_forms import seal
from tests.rewind.test_sealing import SLOTS, everything, record_chain, writes_of
from tests.second_database import second_database

State = SealedDamage.State
DAY = timedelta(days=1)
END = {"slot": SLOTS[-1]}


@pytest.fixture
def history(
    committed: None, empty_redis: None, monkeypatch: pytest.MonkeyPatch
) -> dict[int, list[AccountWrite]]:
    """A chain's writes by slot, archived, and blocks of a few changes each."""
    monkeypatch.setattr(sealing_service, "_BLOCK_BYTES", 400)
    monkeypatch.setattr(sealing_service, "_CHANGES", 150)
    random = Random(1)
    slots = {slot: writes_of(slot, random) for slot in SLOTS}
    record_chain(slots)
    forget()
    return slots


def scrub(*, days: int = 0) -> list[SealedDamage]:
    """Reads through what was not for so many days; the damage that was not known."""
    found: list[SealedDamage] = []
    later = NOW + timedelta(seconds=1)
    while done := ARCHIVE.scrub_step(older_than=days * DAY, now=later):
        found += done.found
    return found


def blocks_of(account: int) -> list[SealedBlock]:
    """Those that begin with a change of the account."""
    found = SealedBlock.objects.filter(segment=store.active()[0].id, pubkey=key(account))
    return list(found.order_by("slot", "position"))


def refused(response: dict[str, Any]) -> dict[str, Any]:
    error = response["error"]
    assert (error["code"], error["data"]["reason"]) == (-32603, "archive_damaged")
    return dict(error["data"])


def refill(history: dict[int, list[AccountWrite]]) -> None:
    """What fills any gap: the slots of open gaps come again."""
    parents = dict(zip(SLOTS, [0, *SLOTS], strict=False))
    for gap in Gap.objects.filter(closed_at=None).order_by("from_slot"):
        for slot in SLOTS:
            if gap.from_slot <= slot <= gap.to_slot:
                again = block(slot, parents[slot], history[slot])
                record_slots([again], source="again", now=NOW)


def test_a_flipped_bit_is_found_named_and_restored(rpc: Rpc, history: Any) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged)
    place = {"slot": damaged.slot}
    assert refused(rpc("/rewind", "getAccountInfo", text(key(1)), place))["block"] == damaged.pk
    both = {"slotA": damaged.slot, "slotB": damaged.slot}
    assert refused(rpc("/rewind", "getAccountDiff", text(key(1)), both))["block"] == damaged.pk
    # What the caller can change comes first.
    both["slotB"] = SLOTS[-1] + 1
    error = rpc("/rewind", "getAccountDiff", text(key(1)), both)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32014, "slot_too_new")
    other = rpc("/rewind", "getAccountInfo", text(key(2)), END)
    assert "result" in other
    (found,) = scrub()
    assert (found.block, found.segment, found.found_by) == (
        damaged.pk,
        damaged.segment_id,
        "scrub",
    )
    assert (bytes(found.pubkey), found.reason) == (key(1), "the checksum differs")
    assert scrub() == []
    assert repairing.repair_from_here(found, now=NOW) == "its checksum: one bit had flipped"
    assert SealedDamage.objects.get().state == State.REPAIRED
    assert bytes(SealedBlock.objects.get(pk=damaged.pk).block) == bytes(damaged.block)
    assert everything(rpc) == before


def test_each_segment_is_read_through_once_in_so_many_days(history: Any) -> None:
    seal(half=True)
    assert ARCHIVE.scrub_step(older_than=DAY, now=NOW) is None
    assert scrub() == []
    flip(blocks_of(1)[1], bits=9)
    assert scrub(days=1) == [], "all was read a moment ago"
    steps = 0
    while (done := ARCHIVE.scrub_step(older_than=DAY, now=NOW + 2 * DAY)) is not None:
        steps += 1
        assert done.rows <= 100
    assert steps > 1, "it goes on where it was"
    assert ARCHIVE.damages.open().count() == 1


def test_a_read_that_meets_damage_reports_it(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    refused(rpc("/rewind", "getAccountInfo", text(key(1)), {"slot": damaged.slot}))
    found: list[SealedDamage] = []
    until = time.monotonic() + PATIENCE_SECONDS
    while not found and time.monotonic() < until:
        found = ARCHIVE.look_into_reports(now=NOW)
        time.sleep(0.01)
    assert [(each.block, each.found_by) for each in found] == [(damaged.pk, "read")]
    damage_reports.report("archive", f"{damaged.segment_id}:{10**9}")
    assert ARCHIVE.look_into_reports(now=NOW) == []


def test_blocks_come_back_from_a_second_database(rpc: Rpc, history: Any) -> None:
    before = everything(rpc)
    seal(half=True)
    while store.delete_retired(NOW + DAY):
        pass
    with second_database(*SEALED) as url:
        chosen = [*blocks_of(1)[1:3], *blocks_of(5)[:1]]
        for number, each in enumerate(chosen):
            flip(each, bits=9, at=number)  # in the checksum, too
        found = scrub()
        assert {each.block for each in found} == {each.pk for each in chosen}
        assert [repairing.repair_from_here(each, now=NOW) for each in found] == [""] * 3
        with other_database.opened(url) as copy:
            for each in found:
                assert repairing.repair_from(each, copy, now=NOW) == copy.name
    assert set(SealedDamage.objects.values_list("state", flat=True)) == {State.REPAIRED}
    assert scrub() == []
    assert everything(rpc) == before


def test_a_damaged_copy_is_not_taken(history: Any) -> None:
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    (found,) = scrub()
    with second_database(*SEALED) as url, other_database.opened(url) as copy:
        assert repairing.repair_from(found, copy, now=NOW) == ""
    assert ARCHIVE.damages.open().count() == 1


def test_a_dictionary_comes_back_from_a_second_database(
    rpc: Rpc, history: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_codec, "TARGET", 200)
    before = everything(rpc)
    seal(half=True)
    segment = store.active()[0].id
    dictionary = bytes(SealedSegment.objects.get(pk=segment).dictionary)
    with second_database(*SEALED) as url:
        SealedSegment.objects.filter(pk=segment).update(dictionary=dictionary[:-1] + b"?")
        forget()
        refused(rpc("/rewind", "getAccountInfo", text(key(1)), {"slot": 50}))
        (found,) = scrub()
        assert (found.block, found.reason.split(":")[0]) == (0, "its dictionary is damaged")
        SealedBlock.objects.filter(pk=blocks_of(1)[1].pk).delete()
        with other_database.opened(url) as copy:
            assert repairing.repair_from(found, copy, now=NOW)
    assert everything(rpc) == before
    assert scrub() == []


def test_a_block_that_is_gone_is_noticed(history: Any) -> None:
    seal(half=True)
    blocks_of(1)[2].delete()
    (found,) = scrub()
    assert found.block == 0
    assert found.reason.startswith("its blocks have ")


@pytest.mark.parametrize("late", [False, True])
def test_a_block_becomes_a_gap_and_is_filled_again(
    rpc: Rpc, history: dict[int, list[AccountWrite]], late: bool
) -> None:
    seal(half=True)
    if late:
        right = [write(1, signature(50, 1), lamports=77), *history[50][1:]]
        history[50] = right
        record_slots([block(50, 49, right)], source="again", now=NOW, recheck=True)
    before = everything(rpc)
    tallies = sorted(SlotTally.objects.values_list("run", "slots", "changes"))
    bounds = rpc("/rewind", "getRewindCoverage")["result"]
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    scrub()
    pauses: list[float] = []
    opened = damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=pauses.append)
    assert opened is not None and pauses
    assert (opened.blocks, opened.loses_snapshots) == (1, False)
    assert 0 < opened.slots <= damaged.changes
    assert not SealedBlock.objects.filter(pk=damaged.pk).exists()
    assert SealedDamage.objects.get().state == State.GAP
    lost = sorted(set(SLOTS) - set(ArchivedSlot.objects.values_list("slot", flat=True)))
    assert len(lost) == opened.slots and damaged.slot in lost
    gaps = Gap.objects.filter(closed_at=None)
    assert {(each.cause, each.status) for each in gaps} == {("damaged", GapStatus.MISSING)}

    coverage = rpc("/rewind", "getRewindCoverage")["result"]
    assert coverage["missingSlotCount"] == bounds["missingSlotCount"] + opened.slots
    error = rpc("/rewind", "getAccountInfo", text(key(1)), {"slot": lost[0]})["error"]
    assert error["data"]["reason"] == "slot_in_archive_gap"
    assert scrub() == []

    refill(history)
    assert not gaps.all().exists()
    assert everything(rpc) == before
    assert sorted(SlotTally.objects.values_list("run", "slots", "changes")) == tallies
    counted = checking.writes_of_slots(5, 104)
    assert counted is not None
    archived = dict(ArchivedSlot.objects.filter(slot__lte=104).values_list("slot", "changes"))
    assert {slot: counted.get(slot, 0) for slot in archived} == archived
    seal(half=True, late_share=0.0)
    while segments.index_next() is not None:
        pass
    assert everything(rpc) == before


def test_blocks_that_are_gone_become_a_gap(
    rpc: Rpc, history: dict[int, list[AccountWrite]]
) -> None:
    before = everything(rpc)
    seal(half=True)
    gone = blocks_of(1)[2]
    gone.delete()
    (found,) = scrub()
    opened = damage_gaps.open_as_gap(found.segment, now=NOW, pause=lambda _: None)
    assert opened is not None and 0 < opened.slots <= gone.changes
    assert not opened.loses_snapshots
    assert SealedSegment.objects.get(pk=found.segment).state == SealedSegment.State.ACTIVE
    assert scrub() == []
    refill(history)
    assert everything(rpc) == before


def test_it_may_be_stopped_before_the_blocks_leave(
    rpc: Rpc, history: dict[int, list[AccountWrite]]
) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    scrub()

    def killed(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=killed)
    # The gaps are open, and who did not see them meets the damage.
    assert Gap.objects.filter(closed_at=None, cause="damaged").exists()
    assert ARCHIVE.damages.open().count() == 1
    config = {"slot": damaged.slot, "tolerateGaps": True}
    refused(rpc("/rewind", "getAccountInfo", text(key(1)), config))
    opened = damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=lambda _: None)
    assert opened is not None and (opened.slots, opened.blocks) == (0, 1)
    refill(history)
    assert [told["context"]["completeness"]["status"] for told in everything(rpc)]
    assert [_values(told) for told in everything(rpc)] == [_values(told) for told in before]


def _values(told: Any) -> Any:
    return told["value"]


def test_readers_see_the_gap_or_the_damage_and_never_an_older_state(
    rpc: Rpc, history: dict[int, list[AccountWrite]]
) -> None:
    seal(half=True)
    damaged = blocks_of(1)[2]
    slot = damaged.slot + 1
    right = rpc("/rewind", "getAccountInfo", text(key(1)), {"slot": slot})["result"]["value"]
    flip(damaged, bits=9)
    scrub()
    told: list[Any] = []
    is_over = threading.Event()

    def read() -> None:
        config = {"slot": slot, "tolerateGaps": True}
        try:
            while not is_over.is_set():
                told.append(rpc("/rewind", "getAccountInfo", text(key(1)), config))
        finally:
            connection.close()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()

    def until_told(more: int) -> None:
        count, until = len(told) + more, time.monotonic() + PATIENCE_SECONDS
        while len(told) < count and time.monotonic() < until:
            time.sleep(0.01)

    try:
        until_told(1)
        damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=lambda _: time.sleep(0.3))
        refill(history)
        until_told(10)
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
    kinds = set()
    for response in told:
        if "error" in response:
            assert response["error"]["data"]["reason"] == "archive_damaged"
            kinds.add("damaged")
        elif response["result"]["context"]["completeness"]["status"] == "whole":
            assert response["result"]["value"] == right
            kinds.add("whole")
        else:
            kinds.add("gap")
    assert kinds >= {"damaged", "whole"}


def test_an_account_whose_changes_left_is_incomplete(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    scrub()
    damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=lambda _: None)
    lost = Gap.objects.filter(closed_at=None).order_by("-to_slot")[0]
    config = {"slot": lost.to_slot, "tolerateGaps": True}
    context = rpc("/rewind", "getAccountInfo", text(key(1)), config)["result"]["context"]
    (cause,) = context["completeness"]["causes"]
    assert (cause["cause"], cause["toSlot"]) == ("gap", lost.to_slot)


def test_a_whole_segment_becomes_a_gap(rpc: Rpc, history: dict[int, list[AccountWrite]]) -> None:
    before = everything(rpc)
    seal(half=True)
    number = store.active()[0].id
    SealedSegment.objects.filter(pk=number).update(dictionary=b"none")
    forget()
    (found,) = scrub()
    opened = damage_gaps.open_as_gap(number, now=NOW, pause=lambda _: None)
    assert opened is not None and opened.slots > 100
    assert SealedDamage.objects.get(pk=found.pk).state == State.GAP
    refill(history)
    assert everything(rpc) == before
    seal(half=True)
    assert everything(rpc) == before


def test_what_a_snapshot_proved_is_not_proved_without_its_rows(rpc: Rpc, history: Any) -> None:
    accounts = [write(number, lamports=5) for number in range(60, 90)]
    record_baseline(accounts, 4, source="snapshot", now=NOW, whole=True)
    record_slots([block(5, 4, history[5])], source="stream", now=NOW)
    seal(half=True)
    absent = {"slot": 50}
    config = rpc("/rewind", "getAccountInfo", text(key(75)), absent)["result"]
    assert config["value"]["lamports"] == 5
    found = SealedBlock.objects.filter(segment=store.active()[0].id, pubkey__lte=key(75))
    damaged = found.order_by("-pubkey", "-slot").first()
    assert damaged is not None
    flip(damaged, bits=9)
    scrub()
    opened = damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=lambda _: None)
    assert opened is not None and opened.loses_snapshots
    refill(history)
    result = rpc("/rewind", "getAccountInfo", text(key(75)), absent)["result"]
    assert result["value"] is None
    causes = result["context"]["completeness"]["causes"]
    assert [each["cause"] for each in causes] == ["not_recorded"]


def test_a_damaged_segment_is_left_out_of_merging(rpc: Rpc, history: Any) -> None:
    before = everything(rpc)
    policy = sealing_service.Policy(margin=0)
    while len(store.active()) < 2:
        assert sealing_service.seal_step(policy, now=NOW)
    damaged = blocks_of(1)[2]
    flip(damaged, bits=9)
    assert seal(half=True) > 2
    (found,) = SealedDamage.objects.all()
    assert (found.block, found.found_by, found.state) == (damaged.pk, "merge", State.DAMAGED)
    # What lies behind is sealed all the same, and nothing is being built for ever.
    assert [each.first for each in partitions.existing()] == [SLOTS[-1]]
    assert store.building() is None
    assert len(store.active()) == 3
    assert seal(half=True) == 0
    SealedBlock.objects.filter(pk=damaged.pk).update(block=damaged.block)
    assert repairing.repair_from_here(found, now=NOW).startswith("itself")
    assert seal(half=True) > 2
    assert len(store.active()) == 2
    assert everything(rpc) == before


def test_a_merged_block_is_made_again_of_what_it_was_merged_of(rpc: Rpc, history: Any) -> None:
    before = everything(rpc)
    policy = sealing_service.Policy(margin=0)
    assert sealing_service.seal_step(policy, now=NOW)
    while not store.active() or store.active()[0].last_slot < 400_000:
        assert sealing_service.seal_step(policy, now=NOW)
    damaged = blocks_of(1)[3]
    flip(damaged, bits=9)
    (found,) = scrub()
    source = repairing.repair_from_here(found, now=NOW)
    assert source == "the segments that it was merged of"
    assert everything(rpc) == before


def test_damage_of_segments_that_are_not_read_ends(history: Any) -> None:
    seal(half=True)
    flip(blocks_of(1)[2], bits=9)
    (found,) = scrub()
    store.retire([found.segment])
    assert scrub() == []
    assert SealedDamage.objects.get().state == State.GONE


def test_the_task_finds_and_restores(rpc: Rpc, history: Any, settings: Any) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    flip(damaged)
    settings.ARCHIVE_SCRUB_DAYS = 0
    tasks.scrub_archive()
    assert not SealedDamage.objects.exists()
    settings.ARCHIVE_SCRUB_DAYS = 1  # all was sealed in January
    while not SealedDamage.objects.exists():
        tasks.scrub_archive()
    found = SealedDamage.objects.get()
    assert (found.block, found.state) == (damaged.pk, State.REPAIRED)
    assert everything(rpc) == before
