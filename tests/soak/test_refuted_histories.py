"""Random histories, committed to PostgreSQL in batches with the prover between them: one lost,
altered, doubled or moved write is refuted at exactly its slot, and nothing without a fault.

SOAK_EXAMPLES (2000) says how many, SOAK_SEED which.
"""

import os
import random
from collections import Counter

import pytest
from solders.pubkey import Pubkey

from rewind.services import filters, proving
from rewind.services.recording import record_slots
from rewind.store import proof_runs
from tests.rewind.conftest import NOW, committed, empty_archive
from tests.rewind.proved_chains import MadeChain, change, first_difference, with_fault

__all__ = ["committed"]

pytestmark = pytest.mark.soak

EXAMPLES = int(os.environ.get("SOAK_EXAMPLES", "2000"))
KINDS = ("none", "lost", "altered", "doubled", "moved")
FILTERED = 77
_POLICY = proving.Policy(quorum=3, cache_bytes=1 << 20)


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
    return made


def prove(*, remembering: bool) -> None:
    while proving.prove_step(_POLICY):
        if not remembering:
            proving.forget()
    proving.trim(_POLICY)


def test_exactly_the_faulty_slot_is_refuted(committed: None) -> None:
    seed = int(os.environ.get("SOAK_SEED", "3"))
    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    outcomes: Counter[tuple[str, str]] = Counter()
    try:
        for number in range(EXAMPLES):
            chance = random.Random(seed * 1_000_003 + number)
            outcomes[_one(chance, KINDS[number % len(KINDS)], f"example {number}")] += 1
    finally:
        filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=False)
        proving.forget()
    print(f"\n{EXAMPLES} histories: {sorted(outcomes.items())}")
    assert not any(kind == "none" and found == "refuted" for kind, found in outcomes)


def _one(chance: random.Random, kind: str, name: str) -> tuple[str, str]:
    empty_archive()
    proving.forget()
    true = history(chance).records
    stream = with_fault(true, kind, chance.choice)
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
    if expected is None or expected == last:  # no block above has votes for the last
        assert found == [(0, last - 1, "proven"), (last, last, "unproven")], name
        return kind, "of no effect" if expected is None else "in the last slot"
    below = [(0, expected - 1, "proven")] if expected else []
    assert found[: len(below) + 1] == [*below, (expected, expected, "refuted")], name
    assert all(state == "unproven" for *_, state in found[len(below) + 1 :]), name
    return kind, "refuted"
