"""Random histories, committed to PostgreSQL in batches with the prover between them: one lost,
altered, doubled or moved write that leaves accounts otherwise is refuted at exactly its slot, and
nothing without a fault. Four of five examples have one.

SOAK_EXAMPLES (2000) says how many, SOAK_SEED which.
"""

import os
import random
from collections import Counter

import pytest
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord
from rewind.proof.services import proving
from rewind.proof.store import proof_runs
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from tests.rewind.conftest import NOW, committed, empty_archive
from tests.rewind.proved_chains import MadeChain, change, first_difference, keep_stakes, with_fault

__all__ = ["committed"]

pytestmark = pytest.mark.soak

EXAMPLES = int(os.environ.get("SOAK_EXAMPLES", "2000"))
KINDS = ("none", "lost", "altered", "doubled", "moved")
FILTERED = 77
_POLICY = proving.Policy(cache_bytes=1 << 20, trusts_node=True)


def history(chance: random.Random) -> MadeChain:
    """Three to ten blocks; accounts of both owners open and close."""
    made = MadeChain()
    for slot in range(chance.randint(3, 10)):
        accounts = sorted(chance.sample(range(1, 7), chance.randint(0, 4)))
        made.block(
            [
                change(slot, each, chance.randrange(4), owner=chance.choice((9, FILTERED)))
                for each in accounts
            ],
            slot=slot,
        )
    made.block()  # its votes are for the last of them
    return made


def histories(chance: random.Random, kind: str) -> tuple[list[SlotRecord], list[SlotRecord]]:
    """A true one, and what the stream brings of it: with a fault that matters, but for `none`."""
    while True:
        true = history(chance).records
        stream = with_fault(true, kind, chance.choice)
        last = len(true) - 1  # nothing votes for it
        if kind == "none" or first_difference(true, stream) not in (None, last):
            return true, stream


def prove(*, remembering: bool) -> None:
    while proving.prove_step(_POLICY):
        if not remembering:
            proving.forget()
    proving.trim(_POLICY)


def test_exactly_the_faulty_slot_is_refuted(committed: None) -> None:
    seed = int(os.environ.get("SOAK_SEED", "3"))
    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    refuted: Counter[str] = Counter()
    try:
        for number in range(EXAMPLES):
            chance = random.Random(seed * 1_000_003 + number)
            kind = KINDS[number % len(KINDS)]
            refuted[kind] += _one(chance, kind, f"example {number}")
    finally:
        filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=False)
        proving.forget()
    print(f"\n{EXAMPLES} histories, refuted: {dict(refuted)}")
    assert refuted["none"] == 0
    assert refuted.total() == EXAMPLES - len(range(0, EXAMPLES, len(KINDS)))


def _one(chance: random.Random, kind: str, name: str) -> bool:
    """Whether it is refuted, as it has to be where it has a fault."""
    empty_archive()
    keep_stakes(25, 25, 25, 25)
    proving.forget()
    true, stream = histories(chance, kind)
    remembering = chance.random() < 0.5
    rest = stream
    while rest:
        size = chance.randint(1, len(rest))
        record_slots(rest[:size], source="stream", now=NOW)
        rest = rest[size:]
        if chance.random() < 0.5:
            prove(remembering=remembering)
    prove(remembering=remembering)
    found = [(run.first, run.last, run.state) for run in proof_runs.between(0, 100, 100)]
    expected, last = first_difference(true, stream), len(true) - 1
    if expected is None:
        assert found == [(0, last - 1, "proven"), (last, last, "unproven")], name
        return False
    below = [(0, expected - 1, "proven")] if expected else []
    assert found[: len(below) + 1] == [*below, (expected, expected, "refuted")], name
    assert all(state == "unproven" for *_, state in found[len(below) + 1 :]), name
    return True
