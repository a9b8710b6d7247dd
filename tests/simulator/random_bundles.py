"""Random bundles on a random, changing world, run by engine processes and by a new VM."""

from collections import Counter

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from simulator import client
from simulator.engine import Engine
from simulator.errors import AccountsMissing
from simulator.machine import CACHED_SYSVARS
from simulator.outcome import Outcome
from simulator.required_accounts import native_keys, needed_keys
from tests.patience import PATIENCE_SECONDS as PATIENCE
from tests.simulator.test_nonces import advance
from tests.simulator.test_pooled import DURABLE, MINTS, NONCES, PEOPLE, STRANGERS, Chance
from tests.simulator.world import (
    RECENT,
    SOL,
    World,
    call,
    create_token_account,
    plain,
    signing,
    token_account,
    token_address,
    token_transfer,
    transfer,
    v0,
    writable,
)


class BundleChance(Chance):
    """Bundles of up to four transactions that hang together: accounts are made, filled, emptied
    and closed, by both token programs; now and then one fails, or the world changes.
    """

    def bundle(self) -> list[VersionedTransaction]:
        pick = self.random.choice
        if self.random.random() < 0.3:
            return [self.transaction() for _ in range(self.random.randrange(1, 5))]
        mint, program = pick(list(MINTS.items()))
        owner, guest = pick(PEOPLE[:3]), pick(PEOPLE[3:])
        mine, his = (token_address(each.pubkey(), mint, program) for each in (owner, guest))
        amount = self.random.randrange(1, 50)
        me, him = owner.pubkey(), guest.pubkey()
        steps = [
            (owner, [_account_for(me, him, mint, program)]),
            (owner, [token_transfer(mine, mint, his, me, amount, 6, program)]),
            (guest, [token_transfer(his, mint, mine, him, amount, 6, program)]),
            (guest, [_close(his, him, guest, program)]),
            (owner, [transfer(me, him, pick([SOL // 10, 1_000_000]))]),
            (guest, [transfer(him, pick(STRANGERS), 890_880)]),
            (owner, [self.instruction(me)]),
        ]
        first = pick([0, 0, 0, self.random.randrange(len(steps))])
        chosen = steps[first : first + pick([1, 2, 3, 4, 4])]
        return [self._signed(payer, instructions) for payer, instructions in chosen]

    def _signed(self, payer: Keypair, instructions: list[Instruction]) -> VersionedTransaction:
        if self.random.random() < 0.1:
            authority = PEOPLE[0]
            signers = [payer] if payer == authority else [payer, authority]
            nonce = advance(self.random.choice(NONCES), authority)
            return v0([nonce, *instructions], signers, (), self.random.choice([DURABLE, RECENT]))
        tables = self.random.sample(self.tables, self.random.choice([0, 0, 1, 2]))
        return v0(instructions, [payer], tables)

    def refill(self) -> None:
        """Restores the balances that bundles have used up."""
        accounts = self.world.accounts
        for person in PEOPLE:
            accounts[person.pubkey()] = plain(10 * SOL)
        for mint, program in MINTS.items():
            for person in PEOPLE[:3]:
                key = token_address(person.pubkey(), mint, program)
                accounts[key] = token_account(mint, person.pubkey(), 1_000, program)
            for person in PEOPLE[3:]:
                accounts.pop(token_address(person.pubkey(), mint, program), None)


def _account_for(payer: Pubkey, owner: Pubkey, mint: Pubkey, program: Pubkey) -> Instruction:
    """A token account, made unless it is there."""
    made = create_token_account(payer, owner, mint, program)
    return Instruction(made.program_id, b"\x01", made.accounts)


def _close(account: Pubkey, to: Pubkey, owner: Keypair, program: Pubkey) -> Instruction:
    keys = [writable(account), writable(to), signing(owner.pubkey())]
    return call(program, b"\x09", keys)


def compare(rounds: int, seed: int) -> Counter[str]:
    """The count of each kind of outcome. Checks that engine processes that have run many bundles
    and a new VM have the same outcomes.
    """
    chance = BundleChance(seed)
    kinds: Counter[str] = Counter()
    for number in range(rounds):
        if chance.random.random() < 0.3:
            chance.disturb()
        if number % 10 == 0:
            chance.refill()
        bundle, world = chance.bundle(), chance.world
        pooled = in_a_process(world, bundle)
        alone = Engine().execute_bundle(
            bundle, load=world.accounts.get, moment=world.moment, verify=False
        )
        assert pooled == alone, f"seed {seed}, round {number}"
        kinds.update(str(outcome.err)[:40] for outcome in pooled)
        if all(outcome.err is None for outcome in pooled):
            kinds["bundles"] += 1
            kinds["closed accounts"] += sum(
                account.lamports == 0 for outcome in pooled for account in outcome.writes.values()
            )
            if chance.random.random() < 0.5:
                for outcome in pooled:
                    world.apply(outcome)
    return kinds


def in_a_process(world: World, bundle: list[VersionedTransaction]) -> list[Outcome]:
    """The outcomes from one of the engine processes, which is given only the accounts it needs."""
    given: dict[Pubkey, Account | None] = {}
    while True:
        while needed := needed_keys(bundle, given):
            given.update({key: world.accounts.get(key) for key in needed})
        natives = native_keys(bundle, given).union(CACHED_SYSVARS)
        given.update({key: world.accounts.get(key) for key in natives})
        try:
            return client.simulate(
                bundle, given, world.moment, verify=False, timeout_seconds=PATIENCE
            )
        except AccountsMissing as missing:
            given.update({key: world.accounts.get(key) for key in missing.keys})
