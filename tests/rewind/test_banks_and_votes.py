"""Chains of banks and votes, without a database."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.lattice import LATTICE_BYTES, account_lattice, bank_hash
from rewind.proof import accounts, votes
from rewind.proof.banks import Bank, Chain, Disconnected, SlotWrites
from rewind.proof.votes import CastVote, Landed, VoteCount, Weighed, Weights
from tests.rewind.samples import write

VOTERS = [bytes([number]) * 32 for number in range(1, 5)]
STAKES = Weights(dict(zip(VOTERS, (40, 30, 20, 10), strict=True)), 3)
NOTHING = Bank(0, 0, bytes(32), bytes(32), 0, bytes(32), bytes(LATTICE_BYTES))


def all_hold(slot: int, bank_hash: bytes, cast: Sequence[Landed]) -> Iterator[bool]:
    """Each of the votes counts."""
    return iter([True] * len(cast))


def lattice(account: int, lamports: int) -> bytes:
    return account_lattice(account.to_bytes(32), lamports, bytes(32), b"", executable=False)


def bank_votes(slot: int, own: bytes, *names: int) -> list[CastVote]:
    return [CastVote(VOTERS[number], slot, own) for number in names]


def test_two_thirds_of_the_stake_are_not_enough_and_more_are() -> None:
    count, own = VoteCount(), bytes([5]) * 32
    even = Weights(dict.fromkeys(VOTERS[:3], 10), 1)
    count.add(8, bank_votes(7, own, 0, 1))
    assert count.weigh(7, even, all_hold) == []
    count.add(9, bank_votes(7, own, 2))
    (found,) = count.weigh(7, even, all_hold)
    assert (found.voters, found.stake, found.first_landed, found.last_landed) == (3, 30, 8, 9)


def test_without_stakes_accounts_count() -> None:
    count = VoteCount()
    count.add(8, bank_votes(7, bytes(32), 0, 1, 1, 1))
    assert count.weigh(7, Weights(None, 3), all_hold) == []
    assert count.weigh(7, Weights(None, 2), all_hold)


def test_the_heaviest_are_checked_first_and_no_more_than_needed() -> None:
    count, own = VoteCount(), bytes([5]) * 32
    count.add(8, bank_votes(7, own, 3, 2, 1))
    count.add(9, bank_votes(7, own, 0, 3))

    def checked(wrong: set[int]) -> tuple[list[int], list[Weighed]]:
        asked: list[int] = []

        def check(slot: int, bank_hash: bytes, cast: Sequence[Landed]) -> Iterator[bool]:
            for vote in cast:
                asked.append(VOTERS.index(vote.account))
                yield asked[-1] not in wrong

        return asked, count.weigh(7, STAKES, check)

    assert checked(set()) == ([0, 1], [Weighed(own, 2, 70, 8, 9)])
    assert checked({2}) == ([0, 1], [Weighed(own, 2, 70, 8, 9)])
    assert checked({1}) == ([0, 1, 2, 3], [Weighed(own, 3, 70, 8, 9)])
    # Without the heaviest one all others are not enough.
    assert checked({0}) == ([0, 1], [])


def test_a_vote_that_does_not_hold_is_no_account_s_only_one() -> None:
    """Of an account that landed twice, one vote that holds is enough."""
    count, own = VoteCount(), bytes([5]) * 32
    count.add(8, bank_votes(7, own, 0, 1))
    count.add(9, bank_votes(7, own, 0))

    def only_later(slot: int, bank_hash: bytes, cast: Sequence[Landed]) -> Iterator[bool]:
        return (vote.slot == 9 or vote.account != VOTERS[0] for vote in cast)

    (found,) = count.weigh(7, STAKES, only_later)
    assert (found.voters, found.stake, found.last_landed) == (2, 70, 9)


def test_accounts_without_stake_do_not_count() -> None:
    count = VoteCount()
    count.add(8, [CastVote(bytes([number]) * 32, 7, bytes(32)) for number in range(50, 90)])
    assert count.weigh(7, STAKES, all_hold) == []


@pytest.mark.parametrize("slot", [8, 9, 100 - votes.MOST_SLOTS, 3])
def test_votes_for_slots_that_cannot_be_meant_do_not_count(slot: int) -> None:
    count, landed = VoteCount(), 8 if slot > 3 else 3 + votes.MOST_SLOTS + 1
    count.add(landed, [CastVote(VOTERS[0], slot, bytes(32))] if slot >= 0 else [])
    assert count.weigh(slot, STAKES, all_hold) == []


def test_votes_for_slots_that_get_no_more_are_forgotten() -> None:
    count = VoteCount()
    count.add(8, bank_votes(7, bytes(32), 0, 1, 2))
    count.add(7 + votes.MOST_SLOTS, bank_votes(9, bytes(32), 0))
    assert count.slots() == [7, 9]
    count.add(8 + votes.MOST_SLOTS, [])
    assert count.slots() == [9]


def test_a_vote_for_a_bank_proves_those_below_it() -> None:
    chain = Chain(NOTHING, [])
    for slot in (1, 2, 3):
        chain.extend(SlotWrites(slot, slot - 1, bytes(32), 1, []), [], [lattice(slot, 1)])
    chain.count.add(4, bank_votes(2, chain.pending[1].hash, 0, 1))
    verdict = chain.settle(lambda _: STAKES, all_hold)
    assert verdict.through is not None
    assert verdict.through.slot == 2
    assert [bank.slot for bank in chain.pending] == [3]
    total = chain.head
    assert total.hash == bank_hash(verdict.through.hash, 1, bytes(32), total.lattice)


def test_banks_without_votes_are_not_weighed_again() -> None:
    """A chain without votes, as localnet's, has thousands of banks that wait."""
    chain, asked = Chain(NOTHING, []), []

    def weights(slot: int) -> Weights:
        asked.append(slot)
        return STAKES

    for slot in range(1, 50):
        made = chain.extend(SlotWrites(slot, slot - 1, bytes(32), 1, []), [], [lattice(slot, 1)])
        assert chain.settle(weights, all_hold).through is None
    assert asked == []
    chain.count.add(50, bank_votes(49, made.hash, 0, 1))
    verdict = chain.settle(weights, all_hold)
    assert verdict.through == made and set(asked) == {49}


def test_a_slot_of_another_parent_does_not_follow() -> None:
    with pytest.raises(Disconnected):
        Chain(NOTHING, []).extend(SlotWrites(5, 4, bytes(32), 1, []), [], [])


@given(
    st.lists(
        st.tuples(
            st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1), st.binary(max_size=300)
        )
    )
)
def test_kept_states_come_back(states: list[Any]) -> None:
    made = [
        write(pubkey, lamports=lamports, data=data, owner=pubkey[::-1])
        for pubkey, lamports, data in states
    ]
    found = list(accounts.unpacked(accounts.packed(made)))
    assert [(each.pubkey, each.lamports, each.data, each.owner) for each in found] == [
        (each.pubkey, each.lamports, each.data, each.owner) for each in made
    ]
    for each in found:
        assert list(accounts.unpacked(accounts.packed_state(each))) == [each]


@given(
    st.lists(
        st.builds(
            CastVote,
            st.binary(min_size=32, max_size=32),
            st.integers(0, 2**64 - 1),
            st.binary(min_size=32, max_size=32),
        )
    )
)
def test_kept_votes_come_back(cast: list[CastVote]) -> None:
    assert votes.unpacked(votes.packed(cast)) == sorted(cast)
