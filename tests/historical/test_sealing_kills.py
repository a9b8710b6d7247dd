"""A process that seals is killed anywhere: nothing is lost and nothing doubled, and reads beside it
return what they did before.
"""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from chain.encodings import b58encode
from historical.models import (
    AddressEntries,
    IndexRun,
    PackedTexts,
    SealedBlock,
    SealedRange,
    Transaction,
)
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.packed_index import INDEXES
from historical.sealed.services import index_merging, index_packing, sealing
from historical.sealed.store import index_runs
from tests.conftest import Rpc
from tests.patience import PATIENCE_SECONDS

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, every_read

RANGE = 256
LAST = 1_100


def seal_until_done() -> None:
    while True:
        step = sealing.seal_step(
            range_slots=RANGE, now=datetime.now(UTC), settles=timedelta(seconds=-1)
        )
        if step is None:
            return


@contextmanager
def sealing_process() -> Iterator[int]:
    """Seals beside this process, in steps of a few blocks; it is killed in the end, if it is not
    done. Its number.
    """
    connection.close()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            seal_until_done()
            status = 0
        finally:
            os._exit(status)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)  # it is not waited for yet: its number is its own
        os.waitpid(child, 0)


def run(rpc: Rpc, seed: int, *, most_kills: int) -> int:
    """Seals a made chain with so many kills at most, and reads beside it; how many there were."""
    chance = random.Random(seed)
    blocks = [
        made_block(slot, slot - 1, transactions=chance.choice([0, 1, 3, 6]), seed=seed)
        for slot in range(1, LAST)
        if chance.random() < 0.5
    ]
    record_blocks([*blocks, made_block(1_400, LAST, transactions=1, seed=seed)], now=NOW)
    signatures = [b58encode(each.signature) for block in blocks for each in block.transactions]
    reads: dict[str, Any] = {
        "slots": [block.slot for block in blocks][::90],
        "signatures": chance.sample(signatures, 20),
        "addresses": [b58encode(each) for each in ACCOUNTS[:2]],
    }
    expected = every_read(rpc, **reads)
    lists = [call for call in expected if "ForAddress" in call]
    kills = 0
    while kills < most_kills and Transaction.objects.exclude(slot=1_400).exists():
        with sealing_process():
            until = time.monotonic() + chance.uniform(0, 0.12)
            while time.monotonic() < until:
                call = eval(chance.choice(lists))
                response = rpc(HISTORICAL, *call)
                wanted = expected[repr(call)]
                assert response == (wanted[0] if isinstance(wanted, tuple) else wanted)
        kills += 1
    assert every_read(rpc, **reads) == expected
    seal_until_done()
    assert every_read(rpc, **reads) == expected
    whole(len(blocks), len(signatures))
    return kills


def whole(blocks: int, transactions: int) -> None:
    """Everything is sealed, once."""
    ended = time.monotonic() + PATIENCE_SECONDS
    while IndexRun.objects.exclude(state=index_runs.LIVE).exists():
        assert time.monotonic() < ended
        seal_until_done()
    assert not Transaction.objects.exclude(slot=1_400).exists()
    assert not AddressEntries.objects.exclude(first_slot=1_400).exists()
    assert SealedBlock.objects.count() == blocks
    ranges = SealedRange.objects.values_list("blocks", "transactions")
    assert [sum(each) for each in zip(*ranges, strict=True)] == [blocks, transactions]
    used = {
        frame for frames in SealedBlock.objects.values_list("frames", flat=True) for frame in frames
    }
    assert used == set(PackedTexts.objects.values_list("id", flat=True))
    for kind, index in INDEXES.items():
        found = [
            entry
            for run in index_runs.runs()
            if run.kind == kind
            for block in index_runs.blocks_from(run.id, b"", 10_000)
            for entry in index.unpack(block)
        ]
        assert len(found) == len(set(found))
        assert kind != 1 or len(found) == transactions
    remove_blocks(0, 10_000)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_MOST_BLOCKS", 20)
    monkeypatch.setattr(sealing, "FRAME_TEXT", 5_000)
    monkeypatch.setattr(index_merging, "FAN_IN", 3)
    monkeypatch.setattr(index_merging, "_BLOCKS_AT_ONCE", 8)
    monkeypatch.setattr(index_packing, "_MOST_TRANSACTIONS", 100)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small_steps")
def test_a_killed_process_leaves_each_step_done_or_not_begun(rpc: Rpc) -> None:
    assert run(rpc, 1, most_kills=6)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("seed", range(2, 10))
def test_processes_killed_again_and_again_lose_nothing(rpc: Rpc, seed: int) -> None:
    print(f"{run(rpc, seed, most_kills=200)} kills")
