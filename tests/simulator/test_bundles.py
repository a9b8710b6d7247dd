"""Bundles: one transaction after the other, up to the first failure."""

from solders.account import Account
from solders.transaction import VersionedTransaction

from chain import addresses
from simulator.outcome import Outcome
from tests.simulator import elf
from tests.simulator.world import (
    ALICE,
    BOB,
    SOL,
    World,
    address,
    call,
    create_token_account,
    keypair,
    mint_account,
    pay,
    token_account,
    token_address,
    token_transfer,
    v0,
)

NEWCOMER = keypair(40)
MINT = address(700)


def run(world: World, *transactions: VersionedTransaction) -> list[Outcome]:
    return world.engine.execute_bundle(transactions, load=world.accounts.get, moment=world.moment)


def test_each_sees_what_those_before_it_wrote() -> None:
    world = World()
    before = dict(world.accounts)
    first, second = run(world, pay(NEWCOMER.pubkey(), 2 * SOL), pay(BOB.pubkey(), SOL, NEWCOMER))
    assert first.err is second.err is None
    assert second.pre_balances == [2 * SOL, 10 * SOL, 1]
    assert second.post_balances == [SOL - 5_000, 11 * SOL, 1]
    assert world.accounts == before
    assert world.look(pay(BOB.pubkey(), SOL, NEWCOMER)).err == "AccountNotFound"


def test_the_first_failure_ends_it() -> None:
    world = World()
    outcomes = run(world, pay(BOB.pubkey(), SOL), pay(BOB.pubkey(), 10 * SOL), pay(BOB.pubkey(), 1))
    assert [outcome.err for outcome in outcomes] == [
        None,
        {"InstructionError": [0, {"Custom": 1}]},
    ]
    refused = run(world, pay(BOB.pubkey(), SOL, NEWCOMER), pay(BOB.pubkey(), SOL))
    assert [outcome.err for outcome in refused] == ["AccountNotFound"]
    assert run(world) == []


def test_an_account_that_one_closes_is_gone_for_the_next() -> None:
    world = World()
    everything = 10 * SOL - 5_000
    outcomes = run(world, pay(BOB.pubkey(), everything), pay(BOB.pubkey(), 1))
    assert [outcome.err for outcome in outcomes] == [None, "AccountNotFound"]
    assert world.balance(ALICE.pubkey()) == 10 * SOL


def test_tokens_move_through_an_account_that_was_made_before() -> None:
    world = World()
    world.accounts[MINT] = mint_account(6)
    mine, theirs = (token_address(each, MINT) for each in (ALICE.pubkey(), NEWCOMER.pubkey()))
    world.accounts[mine] = token_account(MINT, ALICE.pubkey(), 100)
    outcomes = run(
        world,
        v0([create_token_account(ALICE.pubkey(), NEWCOMER.pubkey(), MINT)]),
        v0([token_transfer(mine, MINT, theirs, ALICE.pubkey(), 60, 6)]),
        v0([token_transfer(theirs, MINT, mine, NEWCOMER.pubkey(), 1, 6)], [ALICE, NEWCOMER]),
    )
    assert [outcome.err for outcome in outcomes] == [None, None, None]
    amounts = [
        [each["uiTokenAmount"]["amount"] for each in outcome.post_token_balances]
        for outcome in outcomes
    ]
    assert sorted(amounts[1]) == ["40", "60"]
    assert sorted(amounts[2]) == ["41", "59"]


def test_code_replaced_between_two_bundles_leaves_no_trace() -> None:
    world = World()
    program = address(800)
    world.deploy(program, elf.fails_with(7))
    failing = v0([call(program)])
    for code in (7, 8, 7):
        world.deploy(program, elf.fails_with(code))
        outcomes = run(world, pay(BOB.pubkey(), 1), failing)
        assert outcomes[1].err == {"InstructionError": [0, {"Custom": code}]}
    assert isinstance(world.accounts[program], Account)
    assert world.accounts[program].owner == addresses.LOADER_3


def test_a_transaction_that_comes_twice_is_processed_already() -> None:
    world = World()
    twice = pay(BOB.pubkey(), 1)
    first, second = run(world, twice, twice)
    assert first.err is None
    assert second.err == "AlreadyProcessed"
    assert not second.charged
    assert second.writes == {}
