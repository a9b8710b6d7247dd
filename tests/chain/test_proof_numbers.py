"""Slot numbers of chains: one that is not the true one is refused, or listed as believed."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash

from chain.electorates import read_electorates
from chain.false_proofs import WrongNumber
from chain.proof_check import Verdict, check
from chain.slot_proof import read_proofs
from tests.chain.proofs import chain, electorate, text, tower_sync, vote
from tests.examples import examples

MINE = read_electorates(text(electorate(firstSlot=0, lastSlot=99)))


@st.composite
def chains(draw: Any) -> tuple[list[int], list[Any]]:
    """The true numbers of a chain, and its documents; votes for some, whose towers have some of
    the ancestors.
    """
    slots = sorted(draw(st.sets(st.integers(2, 18), min_size=2, max_size=8)))
    documents = chain(slots, voters=0)
    voted = {len(slots) - 1, *draw(st.sets(st.integers(0, len(slots) - 1), max_size=2))}
    for at in sorted(voted):
        own = bytes(Hash.from_string(documents[at]["bankHash"]))
        ancestors = draw(st.sets(st.sampled_from([slots[0] - 1, *slots[:at]])))
        data = tower_sync([*sorted(ancestors), slots[at]], own)
        documents[at]["votes"] = [vote(each, slots[at], own, data=data) for each in range(4)]
    return slots, documents


def renumbered(documents: list[Any], numbers: list[int]) -> list[Any]:
    made = [{**each, "slot": slot} for each, slot in zip(documents, numbers, strict=True)]
    for at, slot in enumerate(numbers[:-1]):
        made[at + 1]["parentSlot"] = slot
    made[0]["parentSlot"] = min(made[0]["parentSlot"], numbers[0] - 1)
    return made


def listed(verdict: Verdict) -> set[int]:
    """Slots whose numbers are believed."""
    lines = [each for each in verdict.believed if each.startswith("the number of slot")]
    return {int(each) for line in lines for each in re.findall(r"\d+", line)}


def checked(documents: list[Any]) -> Verdict:
    return check(read_proofs(text(documents)), MINE)


@settings(max_examples=examples(100), deadline=None)
@given(chains(), st.data())
def test_other_numbers_are_refused_or_listed(made: Any, data: st.DataObject) -> None:
    slots, documents = made
    claimed = list(slots)
    for at, document in enumerate(documents):
        above = next((i for i in range(at, len(slots)) if documents[i]["votes"]), at)
        lowest = claimed[at - 1] + 1 if at else 1
        if not document["votes"]:
            # Room is left for those up to the next one with votes.
            claimed[at] = data.draw(st.integers(lowest, slots[above] - (above - at)))
    try:
        verdict = checked(renumbered(documents, claimed))
    except WrongNumber:
        assert claimed != slots
        return
    assert verdict.is_proven
    wrong = {mine for mine, true in zip(claimed, slots, strict=True) if mine != true}
    assert wrong <= listed(verdict)


@settings(max_examples=examples(30), deadline=None)
@given(chains())
def test_true_numbers_hold(made: Any) -> None:
    assert checked(made[1]).is_proven


def test_without_skipped_slots_the_votes_of_the_last_one_cover_all() -> None:
    documents = chain([3, 4, 5, 6], voters=0)
    own = bytes(Hash.from_string(documents[-1]["bankHash"]))
    data = tower_sync([2, 3, 4, 5, 6], own)
    documents[-1]["votes"] = [vote(each, 6, own, data=data) for each in range(4)]
    verdict = checked(documents)
    assert verdict.is_proven and len(verdict.believed) == 1


def test_a_minority_does_not_cover_a_number() -> None:
    documents = chain([3, 4, 5], voters=0)
    own = bytes(Hash.from_string(documents[-1]["bankHash"]))
    votes = [
        vote(each, 5, own, data=tower_sync([3, 4, 5] if each < 2 else [5], own))
        for each in range(4)
    ]
    # 70 of 100 name the ancestors, then 60.
    documents[-1]["votes"] = votes
    assert listed(checked(documents)) == set()
    documents[-1]["votes"] = [
        votes[0],
        vote(1, 5, own, data=tower_sync([5], own)),
        vote(2, 5, own, data=tower_sync([3, 4, 5], own)),
        votes[3],
    ]
    assert listed(checked(documents)) == {3, 4}


def test_a_named_ancestor_that_is_not_next_may_be_the_parents_parent() -> None:
    """Votes for 8 name 6, and not 7: a document that says 6 of the bank of 7 is not refuted."""
    documents = chain([5, 6, 7, 8], voters=0)
    own = bytes(Hash.from_string(documents[-1]["bankHash"]))
    data = tower_sync([6, 8], own)
    documents[-1]["votes"] = [vote(each, 8, own, data=data) for each in range(4)]
    assert listed(checked(documents)) == {5, 6, 7}
    assert listed(checked(renumbered(documents, [4, 5, 6, 8]))) == {4, 5, 6}
