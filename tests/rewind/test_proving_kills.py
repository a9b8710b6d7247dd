"""A process that proves is killed anywhere: another goes on, no slot is skipped, none is proven
twice with different contents, and the proofs are those of a process that was never killed.
"""

import os
import random
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord
from columns.raw_queries import fetch_all
from rewind.proof.services import proving
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from tests.rewind.conftest import NOW, empty_archive
from tests.rewind.proved_chains import MadeChain, change, keep_stakes, with_writes

_POLICY = proving.Policy(3, 1_000, 1 << 20, trusts_node=True)
_FILTERED = 77
_HOMES = {"_next": proving, "keep_states": slot_proofs, "forget_pending": slot_proofs}
_HOMES |= {"put": slot_proofs, "settle": slot_proofs, "mark": proof_runs}
_HOMES |= {"mark_done": proof_queue, "drop_done": proof_queue, "reopen": proof_queue}

Step = tuple[str, str, int]


def history(blocks: int, chance: random.Random) -> tuple[list[SlotRecord], int]:
    """Records, one with a write too few, and that one's slot."""
    made = MadeChain()
    for slot in range(blocks):
        writes = [
            change(slot, account, chance.randrange(4), owner=chance.choice((9, _FILTERED)))
            for account in sorted(chance.sample(range(1, 30), 5))
        ]
        made.block([*writes, change(slot, 99, slot + 1)], slot=slot)
    return made.records, chance.randrange(blocks // 2, blocks - 3)


def prove() -> None:
    while proving.prove_step(_POLICY):
        pass
    proving.trim(_POLICY)


def killed(*, seconds: float | None = None, step: Step | None = None) -> bool:
    """A process proves until it is killed, after so many seconds or at a step; whether it was."""
    connection.close()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            proving.forget()
            if step is not None:
                _kill_at(*step)
            prove()
            status = 0
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # it is not waited for yet: its number is its own
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status != 0


def _kill_at(name: str, when: str, nth: int) -> None:
    home: Any = _HOMES[name]
    real, calls = getattr(home, name), 0

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **named)
        if calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(home, name, counted)


def everything() -> list[list[tuple[Any, ...]]]:
    """All that the proof left."""
    return [
        fetch_all(f"SELECT * FROM rewind_{table} ORDER BY 1, 2")
        for table in ("slotproof", "proofrun", "neweststate", "slotwrites")
    ]


class Proofs:
    """What was proven so far, looked at after each kill."""

    def __init__(self) -> None:
        self._proven: dict[int, tuple[Any, ...]] = {}

    def check(self) -> None:
        rows = fetch_all("SELECT * FROM rewind_slotproof WHERE state = 1 ORDER BY slot")
        found = {row[0]: tuple(row) for row in rows}
        assert list(found) == list(range(len(found)))  # none is skipped
        for slot, row in self._proven.items():
            assert found.get(slot) == row, f"slot {slot} is proven otherwise"
        self._proven = found


def run(chance: random.Random, blocks: int, kill: Callable[[], bool]) -> int:
    """The same history twice, proven with kills and without; how many kills."""
    filters.filter_owner(Pubkey(bytes([_FILTERED]) * 32), filtered=True)
    records, faulty = history(blocks, chance)
    true = records[faulty]
    writes = [each for each in true.account_writes or () if each.pubkey != (99).to_bytes(32)]
    stream = [*records[:faulty], with_writes(true, writes), *records[faulty + 1 :]]
    proven, kills = Proofs(), 0

    def prove_with_kills() -> None:
        nonlocal kills
        while kill():
            kills += 1
            proven.check()
        prove_whole()

    def prove_whole() -> None:
        proving.forget()
        prove()
        proven.check()

    ends = []
    for once in (prove_whole, prove_with_kills):
        empty_archive()
        keep_stakes(25, 25, 25, 25)
        proven = Proofs()
        half = blocks // 2
        record_slots(stream[:half], source="stream", now=NOW)
        once()
        record_slots(stream[half:], source="stream", now=NOW)
        once()
        refuted = everything()
        assert [run.first for run in proof_runs.refuted(9)] == [faulty]
        record_slots([true], source="other", now=NOW, recheck=True)
        once()
        ends.append((refuted, everything()))
    assert ends[0] == ends[1]
    first = proof_runs.between(0, blocks, 9)[0]
    assert first == proof_runs.Run(0, blocks - 2, "proven", "", "node")
    return kills


@pytest.fixture
def filtered(committed: None) -> Any:
    yield
    filters.filter_owner(Pubkey(bytes([_FILTERED]) * 32), filtered=False)
    proving.forget()


def test_a_kill_at_each_step_changes_nothing(filtered: None) -> None:
    # These come where a slot is refuted, or where votes are checked, the others with each slot.
    late, rare = ("forget_pending", "reopen"), ("settle", "keep_states", "drop_done")
    steps = deque(
        (name, when, 1 if name in (*late, *rare) else 2)
        for name in [*(each for each in _HOMES if each not in late), *late]
        for when in ("before", "after")
    )

    def kill() -> bool:
        if steps and killed(step=steps[0]):
            steps.popleft()
            return True
        steps.rotate(-1)
        return False

    run(random.Random(1), 40, kill)
    assert not steps


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12))
def test_many_kills_change_nothing(filtered: None, seed: int) -> None:
    chance = random.Random(seed)

    def kill() -> bool:
        if chance.random() < 0.6:
            return killed(seconds=chance.uniform(0.01, 0.25))
        when = chance.choice(("before", "after"))
        return killed(step=(chance.choice(list(_HOMES)), when, chance.randint(1, 6)))

    assert run(chance, 150, kill) > 0
