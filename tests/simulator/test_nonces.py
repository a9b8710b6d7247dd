"""Durable nonces: transactions that outlive their blockhash, once."""

from hashlib import sha256

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.instruction import CompiledInstruction, Instruction
from solders.keypair import Keypair
from solders.message import MessageAddressTableLookup, MessageHeader, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import (
    AdvanceNonceAccountParams,
    InitializeNonceAccountParams,
    advance_nonce_account,
    initialize_nonce_account,
)
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import U64_MAX
from tests.simulator.test_lookups import lookup_table
from tests.simulator.world import (
    ALICE,
    BOB,
    PREVIOUS,
    RECENT,
    SOL,
    World,
    address,
    call,
    plain,
    transfer,
    v0,
)

NONCE = address(600)
TARGET = address(77)
DURABLE = Hash(bytes([3]) * 32)
FEE = (5_000).to_bytes(8, "little")


def state(durable: Hash, authority: Keypair = ALICE, *, version: int = 1, status: int = 1) -> bytes:
    head = version.to_bytes(4, "little") + status.to_bytes(4, "little")
    return head + bytes(authority.pubkey()) + bytes(durable) + FEE


def durable_of(blockhash: Hash) -> Hash:
    return Hash(sha256(b"DURABLE_NONCE" + bytes(blockhash)).digest())


def advance(nonce: Pubkey = NONCE, authority: Keypair = ALICE) -> Instruction:
    return advance_nonce_account(
        AdvanceNonceAccountParams(nonce_pubkey=nonce, authorized_pubkey=authority.pubkey())
    )


@pytest.fixture
def world() -> World:
    world = World()
    world.accounts[NONCE] = plain(SOL, state(DURABLE))
    return world


def test_a_nonce_stands_for_the_blockhash_and_advances(world: World) -> None:
    transaction = v0([advance(), transfer(ALICE.pubkey(), TARGET, SOL)], blockhash=DURABLE)
    outcome = world.run(transaction)
    assert outcome.err is None
    assert world.accounts[NONCE].data == state(durable_of(PREVIOUS))
    assert world.balance(TARGET) == SOL
    assert world.look(transaction).err == "BlockhashNotFound"
    world.next_slot()
    assert world.look(transaction).err == "BlockhashNotFound"


def test_a_nonce_advances_with_a_transaction_that_fails(world: World) -> None:
    world.accounts[ALICE.pubkey()] = Account(SOL, b"", addresses.SYSTEM, False, 5)
    transaction = v0([advance(), transfer(ALICE.pubkey(), TARGET, 9 * SOL)], blockhash=DURABLE)
    outcome = world.run(transaction)
    assert outcome.err == {"InstructionError": [1, {"Custom": 1}]}
    assert outcome.charged
    assert list(outcome.writes) == [ALICE.pubkey(), NONCE]
    assert world.accounts[NONCE] == plain(SOL, state(durable_of(PREVIOUS)))
    assert world.accounts[ALICE.pubkey()] == plain(SOL - 5_000)
    assert world.look(transaction).err == "BlockhashNotFound"


def test_a_nonce_advances_with_a_transaction_that_only_pays(world: World) -> None:
    outcome = world.run(v0([advance(), call(TARGET)], blockhash=DURABLE))
    assert outcome.err == "ProgramAccountNotFound"
    assert world.accounts[NONCE].data == state(durable_of(PREVIOUS))


def test_a_nonce_may_pay_for_itself(world: World) -> None:
    key = Keypair.from_seed(bytes([7]) * 32)
    world.accounts[key.pubkey()] = plain(SOL, state(DURABLE))
    good = v0(
        [advance(key.pubkey()), transfer(ALICE.pubkey(), TARGET, SOL)], [key, ALICE], (), DURABLE
    )
    outcome = world.look(good)
    assert outcome.err is None
    assert outcome.writes[key.pubkey()] == plain(SOL - 10_000, state(durable_of(PREVIOUS)))
    bad = v0(
        [advance(key.pubkey()), transfer(ALICE.pubkey(), TARGET, 99 * SOL)],
        [key, ALICE],
        (),
        DURABLE,
    )
    outcome = world.look(bad)
    assert outcome.err == {"InstructionError": [1, {"Custom": 1}]}
    assert outcome.writes == {key.pubkey(): plain(SOL - 10_000, state(durable_of(PREVIOUS)))}


@pytest.mark.parametrize(
    "account",
    [
        None,
        plain(SOL),
        plain(SOL, state(Hash.default())),
        plain(SOL, state(DURABLE, status=0)),
        plain(SOL, state(DURABLE, version=0)),
        plain(SOL, state(DURABLE, BOB)),
        plain(SOL, state(DURABLE), addresses.VOTE),
        plain(SOL, state(DURABLE) + b"\0"),
    ],
    ids=["absent", "plain", "other", "uninitialized", "legacy", "not mine", "not system", "long"],
)
def test_what_no_transaction_can_stand_on(world: World, account: Account | None) -> None:
    world.accounts.pop(NONCE)
    if account is not None:
        world.accounts[NONCE] = account
    outcome = world.look(v0([advance(), transfer(ALICE.pubkey(), TARGET, SOL)], blockhash=DURABLE))
    assert outcome.err == "BlockhashNotFound"
    assert not outcome.charged


def test_the_nonce_must_be_advanced_first(world: World) -> None:
    late = v0([transfer(ALICE.pubkey(), TARGET, SOL), advance()], blockhash=DURABLE)
    assert world.look(late).err == "BlockhashNotFound"


def test_the_nonce_must_not_come_from_a_lookup_table(world: World) -> None:
    lookup_table(world, address(500), [NONCE])
    keys = [ALICE.pubkey(), addresses.SYSTEM, addresses.RECENT_BLOCKHASHES]
    message = MessageV0(
        MessageHeader(1, 0, 2),
        keys,
        DURABLE,
        [CompiledInstruction(1, advance().data, b"\x03\x02\x00")],
        [MessageAddressTableLookup(address(500), b"\x00", b"")],
    )
    transaction = VersionedTransaction(message, [ALICE])
    assert world.look(transaction).err == "BlockhashNotFound"
    world.blockhashes = None
    assert world.look(transaction).err is None


def test_with_a_recent_blockhash_a_nonce_is_an_account_like_others(world: World) -> None:
    good = world.look(v0([advance()]))
    assert good.err is None
    assert good.writes[NONCE].data == state(durable_of(PREVIOUS))
    bad = world.look(v0([advance(), transfer(ALICE.pubkey(), TARGET, 99 * SOL)]))
    assert bad.err == {"InstructionError": [1, {"Custom": 1}]}
    assert list(bad.writes) == [ALICE.pubkey()]


def test_a_nonce_cannot_advance_twice_in_a_slot(world: World) -> None:
    world.run(v0([advance()]))
    again = world.look(v0([advance()]))
    assert again.err == {"InstructionError": [0, {"Custom": 7}]}
    world.next_slot()
    assert world.look(v0([advance()])).err is None


def test_a_new_nonce_starts_at_the_slots_own_hash(world: World) -> None:
    key = Keypair.from_seed(bytes([7]) * 32)
    world.accounts[key.pubkey()] = plain(SOL, bytes(80))
    make = initialize_nonce_account(
        InitializeNonceAccountParams(nonce_pubkey=key.pubkey(), authority=ALICE.pubkey())
    )
    outcome = world.look(v0([make]))
    assert outcome.err is None
    assert outcome.writes[key.pubkey()].data == state(durable_of(PREVIOUS))


def test_a_replay_finds_the_nonce_too(world: World) -> None:
    world.blockhashes = None
    transaction = v0([advance(), transfer(ALICE.pubkey(), TARGET, 99 * SOL)], blockhash=DURABLE)
    outcome = world.look(transaction)
    assert list(outcome.writes) == [ALICE.pubkey(), NONCE]
    plain_one = v0([transfer(ALICE.pubkey(), TARGET, 99 * SOL)], blockhash=RECENT)
    assert list(world.look(plain_one).writes) == [ALICE.pubkey()]
    assert world.accounts[NONCE].rent_epoch == U64_MAX
