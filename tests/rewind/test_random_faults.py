"""Random histories, without a database: one write that is lost, altered, doubled or moved, and
that leaves accounts otherwise, is refuted in exactly the slot where they differ first.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from chain.lattice import LATTICE_BYTES, account_lattice
from rewind.proof.banks import Bank, Chain, SlotWrites
from rewind.proof.votes import CastVote, Weights
from tests.rewind.test_banks_and_votes import all_hold

VOTERS = [bytes([number]) * 32 for number in range(1, 5)]
STAKES = Weights(dict(zip(VOTERS, (40, 30, 20, 10), strict=True)), 3)
NOTHING = Bank(0, 0, bytes(32), bytes(32), 0, bytes(32), bytes(LATTICE_BYTES))
KINDS = ("lost", "altered", "doubled", "moved")


class State(NamedTuple):
    lamports: int
    owner: bytes
    data: bytes
    executable: bool


CLOSED = State(0, bytes(32), b"", False)
# By slot, from 1 on, what each account is after it.
Writes = dict[int, State]
History = Sequence[Mapping[int, State]]


def made(chance: random.Random) -> list[Writes]:
    """Two to ten slots of up to six accounts, which open, change and close; some slots write
    nothing. The last one is there to vote for the one below.
    """
    slots = [
        {account: _state(chance) for account in chance.sample(range(6), chance.randint(0, 4))}
        for _ in range(chance.randint(1, 9))
    ]
    return [*slots, {}]


def _state(chance: random.Random) -> State:
    if chance.random() < 0.25:
        return CLOSED
    return State(
        lamports=chance.choice((1, 2, 2**64 - 1)),
        owner=chance.choice((bytes(32), bytes([9]) * 32)),
        data=chance.randbytes(chance.choice((0, 1, 40))),
        executable=chance.random() < 0.2,
    )


def with_fault(history: History, kind: str, chance: random.Random) -> list[Writes]:
    """The same with one write lost, altered, doubled into a slot or moved to one; none into the
    last, which nothing votes for.
    """
    faulty = [dict(writes) for writes in history]
    places = [(slot, account) for slot, writes in enumerate(faulty) for account in writes]
    if not places:
        return faulty
    slot, account = chance.choice(places)
    state = faulty[slot][account]
    if kind in ("lost", "moved"):
        del faulty[slot][account]
    if kind == "altered":
        faulty[slot][account] = _altered(state, chance)
    if kind in ("doubled", "moved"):
        faulty[chance.randrange(len(faulty) - 1)][account] = state
    return faulty


def _altered(state: State, chance: random.Random) -> State:
    """One bit of it is another one."""
    field = chance.choice(("lamports", "owner", "executable", "data"))
    if field == "lamports":
        return state._replace(lamports=state.lamports ^ 1 << chance.randrange(64))
    if field == "executable":
        return state._replace(executable=not state.executable)
    if field == "data" and not state.data:
        return state._replace(data=b"\0")
    whole: bytes = getattr(state, field)
    flipped = int.from_bytes(whole) ^ 1 << chance.randrange(8 * len(whole))
    return state._replace(**{field: flipped.to_bytes(len(whole))})


def first_difference(true: History, faulty: History) -> int | None:
    """The first slot after which living accounts are not what they are."""
    here, there = dict[int, State](), dict[int, State]()
    for slot, (mine, theirs) in enumerate(zip(true, faulty, strict=True), 1):
        here.update(mine)
        there.update(theirs)
        if _living(here) != _living(there):
            return slot
    return None


def _living(states: Mapping[int, State]) -> Writes:
    return {account: state for account, state in states.items() if state.lamports}


class Followed:
    """Banks of a history, each with votes for the one below: for `signed` hashes, or for
    its own. `through` is the highest proven slot.
    """

    def __init__(self, history: History, signed: Sequence[bytes] | None = None) -> None:
        self.hashes: list[bytes] = []
        self.through = 0
        self.refuted: list[int] = []
        chain, now = Chain(NOTHING, []), dict[int, State]()
        for slot, writes in enumerate(history, 1):
            below = (self.hashes if signed is None else signed)[slot - 2 : slot - 1]
            votes = [CastVote(each, slot - 1, own) for own in below for each in VOTERS]
            old = [_lattice(account, now.get(account, CLOSED)) for account in writes]
            new = [_lattice(account, state) for account, state in writes.items()]
            now.update(writes)
            parts = SlotWrites(slot, slot - 1, bytes([slot]) * 32, slot, votes)
            self.hashes.append(chain.extend(parts, old, new).hash)
            verdict = chain.settle(lambda _: STAKES, all_hold)
            self.through = verdict.through.slot if verdict.through else self.through
            if verdict.refuted:
                self.refuted.append(verdict.refuted.slot)
                break


def _lattice(account: int, state: State) -> bytes:
    return account_lattice(account.to_bytes(32), *state[:3], executable=state.executable)


@pytest.mark.parametrize("wanted", [200, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_fault_is_refuted_in_exactly_its_slot(wanted: int) -> None:
    """Faults after which all accounts are as they were in each slot are none: they do not count."""
    refuted: Counter[str] = Counter()
    number = none = 0
    while refuted.total() < wanted:
        chance, kind, name = random.Random(number), KINDS[refuted.total() % 4], f"history {number}"
        number += 1
        true = made(chance)
        voted, last = Followed(true), len(true)
        assert (voted.through, voted.refuted) == (last - 1, []), name
        faulty = with_fault(true, kind, chance)
        expected, found = first_difference(true, faulty), Followed(faulty, voted.hashes)
        if expected is None:
            none += 1
            assert (found.through, found.refuted) == (last - 1, []), name
        else:
            assert (found.through, found.refuted) == (expected - 1, [expected]), name
            refuted[kind] += 1
    print(f"\n{dict(refuted)} refuted, none of {number} true ones nor of {none} of no effect")
    assert refuted == dict.fromkeys(KINDS, wanted // 4)
