"""Segments in the object store read as before; what is wrong is named, and nothing is lost."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rewind.errors import ArchiveStoreUnavailable
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import SealedBlock, SealedSegment
from rewind.sealed.packing.object_format import ObjectDamaged, parse
from rewind.sealed.services import moving as service
from rewind.sealed.services.moving import MovedWrongly, Policy, move_step
from rewind.sealed.services.sealing import seal_step
from rewind.sealed.store import (
    cold_blocks,
    cold_store,
    moving,
    open_blocks,
    sealing,
)
from tests.conftest import Rpc
from tests.patience import wait
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.samples import block, key, rows, signature, write
from tests.rewind.sealed_forms import move, seal, use_folder
from tests.rewind.test_sealing import SLOTS, everything, history
from tests.unwritable_database import small_disk
from upstream.object_store import NoSuchStore, StoreFault

__all__ = ["history"]

ALL = Policy(after=-1_000_000)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The store, and none after the test."""
    yield Path(use_folder(str(tmp_path)))
    cold_store.configure(cold_store.Terms())
    cold_blocks.forget()


def objects(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def here() -> int:
    """Blocks in the database that readers read."""
    return SealedBlock.objects.filter(block__isnull=False, segment__state=1).count()


def test_moved_segments_read_as_before(rpc: Rpc, history: Any, folder: Path) -> None:
    seal()
    before, blocks, size = everything(rpc), here(), sum(each.stored_bytes for each in _active())
    assert move() > 3
    assert here() == 0
    found = [parse(data) for data in objects(folder).values()]
    assert sum(len(each.entries) for each in found) == blocks
    assert sum(len(packed.body) for each in found for packed in each.blocks()) == size
    assert all(each.cold_at for each in _active())
    assert sum(each.cold_bytes for each in _active()) == sum(map(len, objects(folder).values()))
    assert everything(rpc) == before
    open_blocks.forget()
    assert everything(rpc) == before  # out of the cache, or not
    assert move() == 0


def _active() -> list[SealedSegment]:
    return list(SealedSegment.objects.filter(state=1).order_by("first_slot"))


def test_only_finished_runs_that_are_old_enough_move(history: Any, folder: Path) -> None:
    seal(half=True)
    first, second = _active()
    newest = SLOTS[-1]
    assert service.next_segment(Policy(after=newest + 1 - SEGMENT_SLOTS)) == first.pk
    assert service.next_segment(Policy(after=newest + 2 - SEGMENT_SLOTS)) is None
    while move_step(Policy(after=0), now=NOW):
        pass
    # Partitions of the second one's run are not finished.
    assert [each.cold_at is None for each in _active()] == [False, True]
    assert SealedBlock.objects.filter(segment=second, block__isnull=True).count() == 0


def test_what_can_still_be_merged_is_merged_first(history: Any, folder: Path) -> None:
    while True:  # both partitions of the first run are sealed, and not merged
        seal_step(Policy_of_sealing(), now=NOW)
        if len(_active()) == 2:
            break
    assert service.next_segment(ALL) is None
    assert move() == 0
    seal()
    assert service.next_segment(ALL) == _active()[0].pk


def Policy_of_sealing() -> Any:
    from rewind.sealed.services.sealing import Policy as Sealing

    return Sealing(margin=0)


def test_late_rows_over_a_cold_segment_are_read_and_merged(
    rpc: Rpc, history: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal(half=True)
    move()
    cold = sorted(objects(folder))
    right = [write(1, signature(50, 1), lamports=77), *history[50][1:]]
    again = record_slots([block(50, 49, right)], source="again", now=NOW, recheck=True)
    assert (again.changes, again.corrected) == (0, 1)
    assert [row[:4] for row in rows() if row[1] == 50] == [(key(1), 50, 1, 77)]
    before = everything(rpc)
    from rewind.sealed.services import sealing as sealer

    monkeypatch.setattr(sealer, "merges_late", lambda piece, tables, share: bool(tables))
    monkeypatch.setattr(service, "merges_late", lambda piece, tables, share: bool(tables))
    assert service.next_segment(ALL) is None
    seal(half=True)
    assert not [row for row in rows() if row[1] < SEGMENT_SLOTS]
    assert everything(rpc) == before
    assert set(cold) <= set(objects(folder))  # readers may be at them
    move()
    assert not set(cold) & set(objects(folder))
    assert everything(rpc) == before
    while seal_step(Policy_of_sealing(), now=LATER):
        pass
    assert not SealedSegment.objects.filter(state=2).exists()
    named = {name.rpartition("/")[0] for name in objects(folder)}
    assert named == {each.cold_name for each in _active() if each.cold_name}


def test_objects_stay_while_readers_may_be_at_them(history: Any, folder: Path) -> None:
    seal(half=True)
    move()
    count = len(objects(folder))
    assert count
    prune(SEGMENT_SLOTS + PARTITION_SLOTS)
    gone = SealedSegment.objects.filter(state=2).exclude(cold_name="").get()
    assert gone.retired_at is not None
    assert not move_step(ALL, now=gone.retired_at)
    assert len(objects(folder)) == count
    while sealing.delete_retired(gone.retired_at + timedelta(hours=1)):
        pass
    assert SealedBlock.objects.filter(segment=gone, block__isnull=True).count() > count
    assert len(objects(folder)) == count
    assert move_step(ALL, now=gone.retired_at + timedelta(hours=1))
    assert objects(folder) == {}


# Real kills at each step are in test_moving_kills.py.
@pytest.mark.parametrize(
    "step",
    [
        "change_over",
        *(
            pytest.param(each, marks=pytest.mark.soak)
            for each in ("put", "_compare", "finish", "forget_objects")
        ),
    ],
)
def test_moving_goes_on_wherever_it_was_killed(
    rpc: Rpc, history: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Before and after each step of every object: as a kill leaves it, for what is written is
    committed, and what is not is rolled back.
    """
    from upstream.object_store import ObjectStore

    class Killed(BaseException):
        pass

    home: Any = {"put": ObjectStore, "_compare": service}.get(step, moving)
    real, calls = getattr(home, step), 0

    def killing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % 3 == 1:
            raise Killed
        result = real(*arguments)
        if calls % 3 == 2:
            raise Killed
        return result

    seal(half=True)
    before, changes = everything(rpc), sum(each.changes for each in _active())
    monkeypatch.setattr(home, step, killing)
    for _ in range(1_000):
        try:
            if not move_step(ALL, now=NOW):
                break
        except Killed:
            open_blocks.forget()
    assert everything(rpc) == before
    assert here() == SealedBlock.objects.filter(segment=_active()[1]).count()
    found = [parse(data) for data in objects(folder).values()]
    assert sum(each.changes for each in found) == _active()[0].changes
    assert sum(each.changes for each in _active()) == changes
    prune(SEGMENT_SLOTS + PARTITION_SLOTS)
    for _ in range(100):
        try:
            if not move_step(ALL, now=NOW + timedelta(days=3_650)):
                break
        except Killed:
            pass
    assert objects(folder) == {}


def test_what_is_read_back_otherwise_stays_in_the_database(
    rpc: Rpc, history: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from upstream.object_store import ObjectStore

    real = ObjectStore.put

    def losing(store: ObjectStore, name: str, file: Any) -> None:
        real(store, name, file)
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 4
        (folder / name).write_bytes(data)

    seal(half=True)
    count = here()
    monkeypatch.setattr(ObjectStore, "put", losing)
    with pytest.raises(MovedWrongly):
        move()
    assert here() == count
    monkeypatch.setattr(ObjectStore, "put", real)
    move()
    assert here() < count


def test_a_damaged_block_of_the_database_is_not_moved(history: Any, folder: Path) -> None:
    from rewind.errors import ArchiveDamaged

    seal(half=True)
    damaged = SealedBlock.objects.filter(segment=_active()[0]).order_by("pubkey").first()
    assert damaged is not None
    assert damaged.block is not None
    packed = bytearray(damaged.block)
    packed[len(packed) // 2] ^= 1
    SealedBlock.objects.filter(pk=damaged.pk).update(block=bytes(packed))
    with pytest.raises(ArchiveDamaged) as raised:
        move()
    assert raised.value.data["block"] == damaged.pk
    assert objects(folder) == {}


def test_a_flipped_bit_in_an_object_is_named_and_never_served(
    rpc: Rpc, history: Any, folder: Path
) -> None:
    seal(half=True)
    move()
    damaged = SealedBlock.objects.filter(block__isnull=True).order_by("pubkey").first()
    assert damaged is not None
    assert damaged.at is not None
    assert damaged.size is not None
    segment = SealedSegment.objects.get(pk=damaged.segment_id)
    path = folder / cold_blocks.object_name(segment.cold_name, damaged.bucket)
    whole = path.read_bytes()
    data = bytearray(whole)
    data[damaged.at + damaged.size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ObjectDamaged):
        parse(bytes(data))
    asked = ("/rewind", "getAccountInfo", str(damaged.pubkey), {"slot": damaged.slot})
    error = rpc(*asked)["error"]
    assert error["data"]["reason"] == "archive_damaged"
    assert error["data"]["block"] == damaged.pk
    other = SealedBlock.objects.filter(block__isnull=True).order_by("-pubkey").first()
    assert other is not None
    assert "result" in rpc("/rewind", "getAccountInfo", str(other.pubkey), {"slot": other.slot})
    path.write_bytes(whole[: damaged.at + 3])
    assert rpc(*asked)["error"]["data"]["reason"] == "archive_damaged"
    path.unlink()
    error = rpc(*asked)["error"]
    assert error["data"]["reason"] == "archive_damaged"
    assert path.name in error["message"]
    path.write_bytes(whole)  # as a copy of the store has it
    assert "result" in rpc(*asked)


def test_without_the_store_only_cold_slots_fail(rpc: Rpc, history: Any, folder: Path) -> None:
    seal(half=True)
    move()
    cold, warm, hot = 50, SEGMENT_SLOTS + 9, SLOTS[-1]
    pubkey = text(key(1))
    folder.rename(folder.with_name("elsewhere"))  # as a disk that is not mounted
    open_blocks.forget()
    error = rpc("/rewind", "getAccountInfo", pubkey, {"slot": cold})["error"]
    assert (error["code"], error["data"]["reason"]) == (-32019, "archive_store_unavailable")
    assert error["data"]["firstSlot"] <= cold <= error["data"]["lastSlot"] < warm
    assert "folder" in error["message"]
    assert str(folder) not in str(error)
    for slot in (warm, hot):
        value = rpc("/rewind", "getAccountInfo", pubkey, {"slot": slot})["result"]["value"]
        assert value["lamports"] == slot + 1
    with pytest.raises(NoSuchStore):
        cold_store.close()
        move_step(ALL, now=NOW)
    assert not folder.exists()
    cold_store.configure(cold_store.Terms())
    error = rpc("/rewind", "getAccountInfo", pubkey, {"slot": cold})["error"]
    assert "ARCHIVE_STORE is not set" in error["message"]
    with pytest.raises(ArchiveStoreUnavailable):
        move_step(ALL, now=NOW)
    use_folder(str(folder.with_name("elsewhere")))
    assert "result" in rpc("/rewind", "getAccountInfo", pubkey, {"slot": cold})


@contextmanager
def full(folder: Path) -> Iterator[None]:
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4_096)):
            pass
    yield
    filler.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)


@pytest.mark.parametrize("unwritable", [full, read_only])
def test_a_store_that_takes_nothing_leaves_everything_in_the_database(
    rpc: Rpc, history: Any, unwritable: Callable[[Path], AbstractContextManager[None]]
) -> None:
    with small_disk() as disk:
        use_folder(str(disk))
        try:
            seal()
            before, blocks = everything(rpc), here()
            with unwritable(disk):
                with pytest.raises((StoreFault, ArchiveStoreUnavailable)):
                    move()
                assert here() == blocks
                assert everything(rpc) == before
            assert move() > 3
            assert here() == 0
            assert everything(rpc) == before
        finally:
            cold_store.configure(cold_store.Terms())
            cold_blocks.forget()


def test_a_child_of_a_process_that_reads_is_refused(history: Any, folder: Path) -> None:
    """obstore would hang there. The service's own processes fork before they read."""
    seal(half=True)
    move()
    wanted = [cold_store.Range(next(iter(objects(folder))), 0, 8)]
    cold_store.fetched(wanted)
    child = os.fork()
    if not child:
        status = 1
        try:
            cold_store.fetched(wanted)
        except ArchiveStoreUnavailable as refused:
            status = 0 if "forked" in refused.fault else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_one_worker_moves_at_a_time(history: Any) -> None:
    with moving.alone() as first, moving.alone() as second:
        assert (first, second) == (True, False)

    def is_free() -> bool:
        with moving.alone() as third:
            return third

    # The server sees a closed connection a moment later.
    wait(is_free, "the lock is free again")
