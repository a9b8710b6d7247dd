"""One engine for many transactions answers as a new one for each."""

import os
import random
from collections.abc import Callable

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import TransactionConfig
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from simulator.engine import Engine
from simulator.outcome import Outcome
from tests.simulator import elf
from tests.simulator.test_lookups import lookup_table
from tests.simulator.test_nonces import advance, state
from tests.simulator.world import (
    RECENT,
    SOL,
    World,
    address,
    call,
    create_token_account,
    keypair,
    limits,
    mint_account,
    plain,
    readable,
    token_account,
    token_address,
    token_transfer,
    transfer,
    v0,
    v1,
    writable,
)

PEOPLE = [keypair(each) for each in range(1, 7)]
STRANGERS = [address(each) for each in range(300, 304)]
PROGRAMS = [address(each) for each in range(800, 804)]
MINTS = {address(700): addresses.TOKEN, address(701): addresses.TOKEN_2022}
NONCES = [address(600), address(601)]
TABLES = [address(500), address(501)]
CODES = [elf.SUCCEEDS, elf.LOGS, elf.RETURNS_DATA, elf.fails_with(7), b"no code"]
DURABLE = Hash(bytes([3]) * 32)


class Chance:
    """Random transactions on a random, changing world."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = World()
        self.tables = []
        accounts = self.world.accounts
        for person in PEOPLE:
            accounts[person.pubkey()] = plain(self.random.choice([SOL, 10 * SOL, 100_000]))
        for mint, program in MINTS.items():
            accounts[mint] = mint_account(6, program)
            for person in PEOPLE[:3]:
                key = token_address(person.pubkey(), mint, program)
                accounts[key] = token_account(mint, person.pubkey(), 1_000, program)
        for nonce in NONCES:
            accounts[nonce] = plain(SOL, state(DURABLE, PEOPLE[0]))
        for table in TABLES:
            keys = self.random.sample([*STRANGERS, *PROGRAMS, *MINTS], 6)
            self.tables.append(lookup_table(self.world, table, keys))
        self.table_accounts = {table: accounts[table] for table in TABLES}

    def disturb(self) -> None:
        """Something else happens on the chain."""
        accounts, pick = self.world.accounts, self.random.choice
        disturbances: list[Callable[[], object]] = [
            lambda: self.world.deploy(pick(PROGRAMS), pick(CODES)),
            lambda: self.world.deploy(pick(PROGRAMS), pick(CODES), slot=self.world.slot),
            lambda: accounts.pop(pick(PROGRAMS), None),
            lambda: accounts.update({pick(PROGRAMS): plain(SOL, b"data")}),
            lambda: accounts.update(
                {pick(PROGRAMS): Account(SOL, pick(CODES), addresses.LOADER_2, True, 0)}
            ),
            *[lambda: accounts.update({pick(PEOPLE).pubkey(): plain(10 * SOL)})] * 4,
            lambda: accounts.pop(pick(PEOPLE).pubkey(), None),
            lambda: accounts.update({pick(NONCES): plain(SOL, state(DURABLE, PEOPLE[0]))}),
            lambda: accounts.pop(pick(TABLES), None),
            *[self.put_table] * 3,
            self.world.next_slot,
        ]
        pick(disturbances)()

    def put_table(self) -> None:
        table = self.random.choice(TABLES)
        self.world.accounts[table] = self.table_accounts[table]

    def transaction(self) -> VersionedTransaction:
        pick = self.random.choice
        payer = pick(PEOPLE)
        signers = [payer]
        instructions: list[Instruction] = []
        blockhash = RECENT
        if self.random.random() < 0.15:
            instructions.append(advance(pick(NONCES), PEOPLE[0]))
            signers = [payer, PEOPLE[0]] if payer != PEOPLE[0] else signers
            blockhash = pick([DURABLE, RECENT])
        if self.random.random() < 0.2:
            instructions += limits(units=self.random.randrange(20_000), price=pick([0, 10**6]))
        for _ in range(self.random.choice([1, 1, 2, 3])):
            instructions.append(self.instruction(payer.pubkey()))
        if self.random.random() < 0.15:
            units, fee = pick([None, 300, 1_400_000, 1_400_000]), pick([None, 7, 50_000])
            config = TransactionConfig(fee, units, pick([None, 600, 2**26, 2**26]))
            return v1(instructions, signers, config, blockhash)
        tables = self.random.sample(self.tables, pick([0, 0, 1, 2]))
        return v0(instructions, signers, tables, blockhash)

    def instruction(self, payer: Pubkey) -> Instruction:
        pick, kind = self.random.choice, self.random.randrange(4)
        people = [each.pubkey() for each in PEOPLE]
        someone = pick([*STRANGERS, *PROGRAMS, *people, *people])
        mint, program = pick(list(MINTS.items()))
        if kind == 0:
            lamports = pick([0, 1, 890_880, SOL // 50, SOL // 50, 20 * SOL])
            return transfer(payer, someone, lamports)
        if kind == 1:
            source, target = (token_address(each, mint, program) for each in (payer, someone))
            amount = self.random.randrange(300)
            return token_transfer(source, mint, target, payer, amount, 6, program)
        if kind == 2:
            return create_token_account(payer, someone, mint, program)
        named = [pick([writable, readable])(pick([*STRANGERS, *PROGRAMS])) for _ in range(2)]
        return call(pick(PROGRAMS), b"", named)


def compare(rounds: int, seed: int) -> dict[str, int]:
    """How often each kind of outcome came; every one the same from a pooled engine and a new."""
    chance = Chance(seed)
    kinds: dict[str, int] = {}
    for number in range(rounds):
        if chance.random.random() < 0.4:
            chance.disturb()
        if chance.random.random() < 0.2:
            bundle = [chance.transaction() for _ in range(chance.random.randrange(2, 5))]
        else:
            bundle = [chance.transaction()]
        pooled = outcomes(chance.world, chance.world.engine, bundle)
        assert pooled == outcomes(chance.world, Engine(), bundle), f"seed {seed}, round {number}"
        for outcome in pooled:
            kind = outcome.err if isinstance(outcome.err, str) else str(outcome.err)[:25]
            kinds[kind] = kinds.get(kind, 0) + 1
            if len(bundle) == 1 and chance.random.random() < 0.7:
                chance.world.apply(outcome)
    return kinds


def outcomes(world: World, engine: Engine, bundle: list[VersionedTransaction]) -> list[Outcome]:
    return engine.execute_bundle(bundle, load=world.accounts.get, moment=world.moment, verify=False)


def test_hundreds_of_transactions() -> None:
    kinds = compare(300, seed=6)
    assert kinds["None"] > 60
    assert len(kinds) > 6


@pytest.mark.soak
def test_ten_thousand_transactions() -> None:
    seed = int(os.environ.get("SOAK_SEED", "2"))
    kinds: dict[str, int] = {}
    for part in range(20):
        for kind, count in compare(500, seed * 1_000 + part).items():
            kinds[kind] = kinds.get(kind, 0) + count
    assert sum(kinds.values()) >= 10_000
