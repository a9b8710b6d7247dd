"""A process that seals is killed anywhere: nothing is lost, nothing doubled, and all reads as
before.
"""

import os
import random
import signal
import time
from typing import Any

import pytest
from django.db import connection

from rewind.recording.services.recording import record_slots
from rewind.recording.store import partitions
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import LateRow, SealedSegment
from rewind.sealed.services import sealing as service
from rewind.sealed.services.sealing import Policy, seal_step
from rewind.sealed.store import change_source
from rewind.sealed.store import sealing as store
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.samples import block, key, signature, write

ACCOUNTS = range(1, 40)
PARTITIONS = 4
NEWEST = SEGMENT_SLOTS + PARTITION_SLOTS


def record_chain(chance: random.Random) -> int:
    """Some partitions of a whole run, with missing slots at their ends; the last of these."""
    parent = last = 0
    for partition in range(PARTITIONS):
        first = partition * PARTITION_SLOTS + 5
        records = []
        for slot in range(first, first + 60):
            writes = [
                write(number, signature(slot, 1), lamports=slot, data=chance.randbytes(60))
                for number in sorted(chance.sample(ACCOUNTS, 6))
            ]
            records.append(block(slot, parent, writes))
            parent = slot
        record_slots(records, source="stream", now=NOW)
        last, parent = parent, parent + 60
    record_slots([block(NEWEST, parent)], source="stream", now=NOW)
    return last


def everything() -> list[tuple[Any, ...]]:
    """Every change, out of what readers read."""
    tables = [each.table for each in partitions.existing()]
    segments = [each.id for each in store.active()]
    return [tuple(each) for each in change_source.merged(tables, segments)]


def killed_after(seconds: float) -> None:
    """A process seals for so long at most, and is killed."""
    connection.close()
    child = os.fork()
    if child == 0:
        try:
            while seal_step(Policy(margin=0), now=NOW):
                pass
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def is_sealed() -> bool:
    """Nothing but late rows lies outside of one merged segment."""
    return len(store.active()) == 1 and all(each.turn for each in partitions.existing())


def run(rpc: Rpc, seed: int, *, most_kills: int = 200) -> int:
    """Seals with kills until nothing is left to seal, late rows coming meanwhile; how many."""
    chance = random.Random(seed)
    last = record_chain(chance)
    asked = [text(key(number)) for number in ACCOUNTS]
    config = {"slot": last}
    expected = everything()
    states = rpc("/rewind", "getMultipleAccounts", asked, config)["result"]["value"]
    kills, late = 0, 65
    while kills < most_kills and (store.building() or not is_sealed()):
        killed_after(chance.uniform(0.02, 0.25))
        kills += 1
        assert everything() == expected
        told = rpc("/rewind", "getMultipleAccounts", asked, config)["result"]["value"]
        assert told == states
        if kills % 3 == 0 and late < 120:
            record = block(late, late - 1, [write(99, signature(late, 0), lamports=late)])
            record_slots([record], source="late", now=NOW)
            expected = everything()
            late += 1
    while seal_step(Policy(margin=0, late_share=1e9), now=NOW):
        pass
    assert everything() == expected
    assert is_sealed()
    assert not LateRow.objects.exists()
    assert not SealedSegment.objects.filter(state=0).exists()
    counted = SealedSegment.objects.filter(state=1).values_list("id", "changes")
    for segment, changes in counted:
        assert len(list(change_source.merged([], [segment]))) == changes
    return kills


@pytest.fixture
def small_steps(committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_BLOCK_BYTES", 500)
    monkeypatch.setattr(service, "_CHANGES", 120)


def test_a_kill_anywhere_loses_nothing(
    rpc: Rpc, small_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kills: the long run is in the soak."""
    monkeypatch.setattr("tests.rewind.test_sealing_kills.PARTITIONS", 2)
    assert run(rpc, 1, most_kills=6) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12))
def test_many_kills_lose_nothing(rpc: Rpc, small_steps: None, seed: int) -> None:
    assert run(rpc, seed) > 0
