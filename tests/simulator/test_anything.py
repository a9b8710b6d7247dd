"""Any accounts and transactions have an outcome."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from simulator.outcome import Outcome
from simulator.required_accounts import needed_keys
from tests.examples import examples
from tests.simulator import elf
from tests.simulator.test_lookups import lookup_table
from tests.simulator.test_nonces import advance, state
from tests.simulator.world import (
    ALICE,
    BOB,
    SOL,
    World,
    address,
    call,
    mint_account,
    plain,
    readable,
    token_account,
    token_transfer,
    v0,
    writable,
)

MINT, MINE, HIS, NONCE, PROGRAM, TABLE = (address(each) for each in range(700, 706))
DURABLE = Hash(bytes([3]) * 32)
OWNERS = [
    addresses.SYSTEM,
    addresses.TOKEN,
    addresses.TOKEN_2022,
    addresses.LOADER_1,
    addresses.LOADER_2,
    addresses.LOADER_3,
    addresses.LOOKUP_TABLE,
    addresses.VOTE,
    addresses.SYSVAR_OWNER,
]
# A CPI into loader 4 or a native account without code is not what these are about.


def furnished() -> World:
    world = World()
    world.accounts[MINT] = mint_account(6)
    world.accounts[MINE] = token_account(MINT, ALICE.pubkey(), 100)
    world.accounts[HIS] = token_account(MINT, BOB.pubkey(), 0)
    world.accounts[NONCE] = plain(SOL, state(DURABLE))
    world.deploy(PROGRAM, elf.SUCCEEDS)
    lookup_table(world, TABLE, [HIS, address(1_000)])
    return world


WORLD = furnished()
GOOD = v0(
    [
        advance(NONCE),
        token_transfer(MINE, MINT, HIS, ALICE.pubkey(), 7, 6),
        call(PROGRAM, b"", [writable(HIS), readable(address(1_000))]),
    ],
    tables=[lookup_table(WORLD, TABLE, [HIS, address(1_000)])],
    blockhash=DURABLE,
)
PLACES = [ALICE.pubkey(), MINT, MINE, HIS, NONCE, PROGRAM, TABLE, addresses.TOKEN]


def assert_sound(outcome: Outcome) -> None:
    msgspec.json.encode(outcome.meta())
    assert outcome.charged or not outcome.writes
    assert len(outcome.pre_balances) == len(outcome.post_balances)
    if outcome.charged:
        assert len(outcome.keys) == len(outcome.pre_balances)
        # Nothing comes from nowhere: what is gone is the fee.
        assert sum(outcome.pre_balances) - sum(outcome.post_balances) == outcome.fee


def test_the_good_one_is_good() -> None:
    outcome = WORLD.look(GOOD)
    assert outcome.err is None
    assert_sound(outcome)


@settings(max_examples=examples(300))
@given(
    place=st.sampled_from(PLACES),
    owner=st.sampled_from(OWNERS),
    lamports=st.sampled_from([0, 1, SOL, 2**63]),
    executable=st.booleans(),
    cut=st.integers(0, 400),
    noise=st.binary(max_size=120),
    at=st.integers(0, 200),
)
def test_any_account_gives_an_outcome(
    place: Pubkey,
    owner: Pubkey,
    lamports: int,
    executable: bool,
    cut: int,
    noise: bytes,
    at: int,
) -> None:
    held = WORLD.accounts[place]
    data = held.data[:cut]
    data = data[:at] + noise + data[at + len(noise) :]
    accounts = {**WORLD.accounts, place: Account(lamports, data, owner, executable, 0)}
    if lamports == 0:
        del accounts[place]
    assert_sound(WORLD.engine.execute(GOOD, load=accounts.get, moment=WORLD.moment))
    needed_keys([GOOD], accounts)
    # The next one meets no trace of it.
    assert WORLD.look(GOOD).err is None


@settings(max_examples=examples(300))
@given(
    noise=st.lists(st.tuples(st.integers(0, len(bytes(GOOD)) - 1), st.integers(0, 255)), max_size=4)
)
def test_any_transaction_gives_an_outcome(noise: list[tuple[int, int]]) -> None:
    wire = bytearray(bytes(GOOD))
    for at, value in noise:
        wire[at] = value
    try:
        transaction = VersionedTransaction.from_bytes(bytes(wire))
    except ValueError:
        return
    assert_sound(WORLD.look(transaction, verify=False))
    assert_sound(WORLD.look(transaction))
    needed_keys([transaction], WORLD.accounts)
