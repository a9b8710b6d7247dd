"""Which stakes count, where vote accounts have to be admitted (SIMD-0357)."""

import struct

from chain.epoch_stakes import Admission, VoteAccount, counted, rent_exempt_by

RULE = Admission(balance=100, without_pending=False)


def names(count: int) -> list[bytes]:
    return [number.to_bytes(32) for number in range(count)]


def account(lamports: int = 100, *, has_bls: bool = True, pending: int = 0) -> VoteAccount:
    return VoteAccount(lamports, (), has_bls, pending)


def test_of_more_than_two_thousand_those_above_the_first_that_is_left_out_count() -> None:
    """All that have as much as it are left out with it."""
    keys = names(2_003)
    accounts = {key: account() for key in keys}
    ascending = {key: number for number, key in enumerate(keys, 1)}
    assert counted(ascending, accounts, RULE) == {key: ascending[key] for key in keys[3:]}
    level = {key: max(5, number) for key, number in ascending.items()}
    assert counted(level, accounts, RULE) == {key: level[key] for key in keys[5:]}
    assert counted(level, accounts, None) == level
    enough = dict(list(level.items())[:2_000])
    assert counted(enough, accounts, RULE) == enough


def test_what_delegators_earned_is_not_the_accounts() -> None:
    one, other, third = names(3)
    accounts = {one: account(110, pending=10), other: account(110, pending=11), third: account(99)}
    stakes = dict.fromkeys(accounts, 7)
    assert counted(stakes, accounts, RULE).keys() == {one, other}
    with_pending = RULE._replace(without_pending=True)
    assert counted(stakes, accounts, with_pending).keys() == {one}


def test_a_pubkey_that_is_no_vote_account_has_no_votes() -> None:
    one, other, third = names(3)
    accounts = {one: account(has_bls=False), third: account()}
    assert counted({one: 5, other: 6, third: 0}, accounts, None) == {one: 5}


def test_a_voter_holds_until_the_next_one() -> None:
    accounts = VoteAccount(1, ((3, b"a"), (5, b"b")), True, 0)
    assert [accounts.voter_in(epoch) for epoch in range(2, 7)] == [None, b"a", b"a", b"b", b"b"]


def test_the_least_balance_is_the_rent_sysvars() -> None:
    assert rent_exempt_by(struct.pack("<QdB", 3_480, 2.0, 50), 3_762) == 27_074_400
    assert rent_exempt_by(struct.pack("<QdB", 6_960, 1.0, 50), 3_762) == 27_074_400
