"""A process that moves segments to the store is killed anywhere: nothing is lost, nothing doubled,
and all reads as before.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewind.recording.services.retention import prune
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import SealedBlock, SealedSegment
from rewind.sealed.packing.object_format import parse
from rewind.sealed.store import cold_blocks, cold_store, open_blocks
from tests.conftest import Rpc
from tests.databases import this_database
from tests.rewind.histories import text
from tests.rewind.moving_process import STEPS, Move, mover
from tests.rewind.samples import key
from tests.rewind.sealed_forms import seal, use_folder
from tests.rewind.test_sealing_kills import ACCOUNTS, everything, record_chain, small_steps

__all__ = ["small_steps"]

# Steps of what moves, and of what is deleted after its segment.
MOVING, DELETING = STEPS[:6], STEPS[6:]
_ONCE = ("finish", "forget_objects")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield Path(use_folder(str(tmp_path)))
    cold_store.configure(cold_store.Terms())
    cold_blocks.forget()


def objects(folder: Path) -> dict[str, bytes]:
    """Those that readers may be told of: a file that is being written has another name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.blocks")}


class Archive:
    """A run of slots, sealed, and what every read of it says."""

    def __init__(self, rpc: Rpc, chance: random.Random) -> None:
        self._rpc, self._last = rpc, record_chain(chance)
        seal()
        self._expected, self._states = everything(), self._told()

    def _told(self) -> Any:
        asked = [text(key(number)) for number in ACCOUNTS]
        told = self._rpc("/rewind", "getMultipleAccounts", asked, {"slot": self._last})
        return told["result"]["value"]

    def check(self) -> None:
        open_blocks.forget()
        cold_blocks.forget()
        assert everything() == self._expected
        assert self._told() == self._states


def check_moved(folder: Path) -> None:
    """All lies in the store, once."""
    segment = SealedSegment.objects.get(state=1)
    assert segment.cold_at is not None
    assert not SealedBlock.objects.filter(segment=segment, block__isnull=False).exists()
    blocks = SealedBlock.objects.filter(segment=segment)
    found = objects(folder)
    buckets = set(blocks.values_list("bucket", flat=True))
    assert set(found) == {cold_blocks.object_name(segment.cold_name, each) for each in buckets}
    parsed = [parse(data) for data in found.values()]
    assert sum(len(each.entries) for each in parsed) == blocks.count()
    assert sum(each.changes for each in parsed) == segment.changes
    assert segment.cold_bytes == sum(map(len, found.values()))


def test_a_kill_at_each_step_loses_nothing(rpc: Rpc, small_steps: None, folder: Path) -> None:
    archive = Archive(rpc, random.Random(1))
    with mover(this_database(), folder) as move:
        for number, step in enumerate(MOVING):
            for when in ("before", "after"):
                nth = 1 if step in _ONCE else 1 + number % 3
                assert move(step=step, when=when, nth=nth) == "killed", (step, when)
                archive.check()
        assert move() == "done"
        archive.check()
        check_moved(folder)
        prune(SEGMENT_SLOTS + PARTITION_SLOTS)
        for step in DELETING:
            for when in ("before", "after"):
                assert objects(folder) or step == "forget_objects"
                assert move(step=step, when=when, nth=1, days=365) == "killed", (step, when)
        assert move(days=365) == "done"
    assert objects(folder) == {}
    assert not SealedSegment.objects.exclude(cold_name="").exists()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12))
def test_many_kills_lose_nothing(rpc: Rpc, small_steps: None, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    archive = Archive(rpc, chance)
    kills = 0
    with mover(this_database(), folder) as move:
        while _killed(move, chance, MOVING):
            kills += 1
            archive.check()
        archive.check()
        check_moved(folder)
        prune(SEGMENT_SLOTS + PARTITION_SLOTS)
        while _killed(move, chance, DELETING, days=365):
            kills += 1
    assert objects(folder) == {}
    assert kills > 0


def _killed(move: Move, chance: random.Random, steps: tuple[str, ...], **order: Any) -> bool:
    if chance.random() < 0.5:
        order["seconds"] = chance.uniform(0.02, 0.12)
    else:
        step = chance.choice(steps)
        nth = 1 if step in _ONCE else chance.randint(1, 2)
        order |= {"step": step, "when": chance.choice(["before", "after"]), "nth": nth}
    told = move(**order)
    assert told in ("killed", "done")
    return told == "killed"
