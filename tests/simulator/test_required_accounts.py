"""Which accounts to load before a simulation."""

from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from simulator.required_accounts import needed_keys
from tests.simulator.test_lookups import lookup_table
from tests.simulator.world import (
    ALICE,
    World,
    address,
    call,
    mint_account,
    readable,
    token_account,
    v0,
    writable,
)

MINT, HOLDING, OTHER, TABLE = address(700), address(701), address(702), address(500)


def test_each_round_asks_for_what_the_last_one_showed() -> None:
    world = World()
    world.accounts[MINT] = mint_account(6)
    world.accounts[HOLDING] = token_account(MINT, ALICE.pubkey(), 1)
    table = lookup_table(world, TABLE, [HOLDING, OTHER])
    named = [writable(HOLDING), readable(OTHER), readable(addresses.CLOCK)]
    transaction = v0([call(addresses.TOKEN, b"", named)], tables=[table])
    code = Pubkey.from_bytes(world.accounts[addresses.TOKEN].data[4:36])
    rounds = []
    given: dict[Pubkey, Account | None] = {}
    while needed := needed_keys([transaction], given):
        rounds.append(set(needed))
        given.update({key: world.accounts.get(key) for key in needed})
    assert rounds == [
        {ALICE.pubkey(), addresses.TOKEN, TABLE},
        {HOLDING, OTHER, code},
        {MINT},
    ]
    outcome = world.engine.execute(transaction, load=given.get, moment=world.moment)
    assert outcome == world.look(transaction)
    assert len(outcome.pre_token_balances) == 1


def test_absent_and_broken_accounts_need_nothing_more() -> None:
    world = World()
    table = lookup_table(world, TABLE, [HOLDING])
    transaction = v0([call(OTHER, b"", [writable(HOLDING)])], tables=[table])
    given = {ALICE.pubkey(): None, OTHER: None, TABLE: None}
    assert needed_keys([transaction], given) == []
    given[TABLE] = token_account(MINT, OTHER, 1)
    assert needed_keys([transaction], given) == [MINT]
    assert needed_keys([], {}) == []
