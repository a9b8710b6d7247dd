"""Stakes of epochs over any history of stake and vote accounts, recorded in any order."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.accounts import AccountWrite
from chain.addresses import STAKE, VOTE
from chain.epoch_stakes import read_vote_account
from chain.epochs import EpochSchedule
from chain.stake_activation import Activation, Rules, activation, read_delegation
from chain.units import Slot
from rewind.baselines.models import StakeTurn
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services import epochs
from rewind.proof.services import stake_turns
from rewind.proof.store import epoch_stakes
from rewind.recording.services.recording import record_slots
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, write
from tests.rewind.sealed_forms import seal
from tests.rewind.test_stake_turns import (
    NEVER,
    SIGNERS,
    SLOTS,
    VOTES,
    Chain,
    count,
    genesis,
    history,
    lamports,
    stake,
    vote_account,
)

# Of what is closed: the runtime's, or as it was.
_OWNERS = (bytes(32), bytes(STAKE))
_RULES = Rules(None, with_integers=False)
Stakes = dict[bytes, tuple[int, bytes | None]]


@dataclass
class Made:
    """A chain of some epochs: `blocks` of (slot, parent, writes), the accounts after each, and the
    stakes that its cluster counts, by epoch.
    """

    random: Random
    blocks: list[tuple[int, int, list[AccountWrite]]] = field(default_factory=list)
    states: dict[bytes, AccountWrite] = field(default_factory=dict)
    after: dict[int, dict[bytes, AccountWrite]] = field(default_factory=dict)
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    stakes: dict[int, Stakes] = field(default_factory=dict)

    def make(self) -> "Made":
        self._block(0, 0, genesis())
        self._keep(0, (0, 1), {})
        slot = 0
        while slot < 5 * SLOTS:
            parent, slot = slot, slot + self.random.choice([1, 3, 9, 20, 40])
            began, epoch = parent // SLOTS, slot // SLOTS
            writes = [self._write(epoch) for _ in range(self.random.randint(0, 3))]
            if epoch > began:
                self._turn(began, epoch)
                writes.append(history(*self.rows))
            self._block(slot, parent, writes)
        return self

    def _write(self, epoch: int) -> AccountWrite:
        random, account = self.random, self.random.randrange(1, 9)
        voter = random.randrange(4)
        kind = random.choice(["begin", "begin", "cease", "close", "leave", "vote", "unvote"])
        if kind == "begin":
            return stake(account, voter, random.randrange(1, 900), begins=epoch)
        if kind == "cease":
            began = random.randrange(epoch + 1)
            return stake(
                account, voter, random.randrange(1, 900), began, random.choice([epoch, NEVER])
            )
        if kind == "close":
            return stake(account, voter, 9)._replace(lamports=0, owner=random.choice(_OWNERS))
        if kind == "leave":
            return write(account, data=stake(account, voter, 9).data)
        if kind == "vote":
            return vote_account(voter, {0: SIGNERS[voter], epoch + 2: random.choice(SIGNERS)})
        return write(VOTES[voter], lamports=0, owner=bytes(32))

    def _block(self, slot: int, parent: int, writes: list[AccountWrite]) -> None:
        last = list({each.pubkey: each for each in writes}.values())
        self.states.update((each.pubkey, each) for each in last)
        self.after[slot] = dict(self.states)
        self.blocks.append((slot, parent, last))

    def _owned(self, owner: bytes) -> list[AccountWrite]:
        return [each for each in self.states.values() if each.owner == owner and each.lamports]

    def _turn(self, ended: int, begins: int) -> None:
        known = {epoch: Activation(*amounts) for epoch, *amounts in self.rows}
        run = {
            epoch: each
            for place, (epoch, each) in enumerate(known.items())
            if epoch == self.rows[0][0] - place
        }
        # As the sysvar is read: down to an epoch without a block.
        run = run if not self.rows or self.rows[0][0] == ended - 1 else {}
        total = [0, 0, 0]
        for account in self._owned(bytes(STAKE)):
            delegation = read_delegation(account.data)
            assert delegation is not None
            each = activation(delegation, ended, run, _RULES)
            total = [one + more for one, more in zip(total, each, strict=True)]
        self.rows.insert(0, (ended, *total))
        follows = (begins + 1,) if begins == ended + 1 else (begins, begins + 1)
        self._keep(begins, follows, {ended: Activation(*total), **run})

    def _keep(self, begins: int, follows: tuple[int, ...], run: dict[int, Activation]) -> None:
        voting = {
            each.pubkey: read_vote_account(each.lamports, each.data)
            for each in self._owned(bytes(VOTE))
        }
        weights: dict[bytes, int] = {}
        for account in self._owned(bytes(STAKE)):
            delegation = read_delegation(account.data)
            assert delegation is not None
            amount = activation(delegation, begins, run, _RULES).effective
            if amount and delegation.voter in voting:
                weights[delegation.voter] = weights.get(delegation.voter, 0) + amount
        for epoch in follows:
            self.stakes[epoch] = {
                key: (each, voting[key].voter_in(epoch))  # type: ignore[union-attr]
                for key, each in weights.items()
            }


def found(epoch: int) -> Stakes:
    return {
        account: (each.lamports, each.voter)
        for account, each in epoch_stakes.of_epoch(epoch).items()
    }


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["genesis", "snapshot"]))
def test_any_history_in_any_order_has_its_stakes(db: None, seed: int, begin: str) -> None:
    random = Random(seed)
    made = Made(random).make()
    with transaction.atomic():
        epochs.keep(EpochSchedule(slots_per_epoch=SLOTS))
        first = 0 if begin == "genesis" else random.choice(made.blocks[: len(made.blocks) // 2])[0]
        steps = [partial_record(*each) for each in made.blocks if each[0] >= first]
        random.shuffle(steps)
        if first:
            accounts = made.after[first].values()
            steps.insert(
                random.randint(1, len(steps)),
                lambda: record_baseline(accounts, Slot(first), source="x", now=NOW, whole=True),
            )
        for step in steps:
            step()
            if random.random() < 0.3:
                count()
            if random.random() < 0.05:
                seal(half=random.random() < 0.5)
        count()
        turns = dict(StakeTurn.objects.values_list("epoch", "outcome"))
        blocks = {slot // SLOTS for slot, _, _ in made.blocks}
        begun = {epoch for epoch in blocks if epoch > first // SLOTS or not first}
        assert turns.keys() == begun
        for epoch in begun:
            expected = made.stakes[epoch + 1]
            assert found(epoch + 1) == expected
            assert turns[epoch] == ("computed" if expected else "refused")
        transaction.set_rollback(True)


def partial_record(slot: int, parent: int, writes: list[AccountWrite]) -> Callable[[], Any]:
    return lambda: record_slots([block(slot, parent, writes)], source="x", now=NOW)


def test_two_workers_count_each_account_once(committed: None) -> None:
    chain = Chain(lambda *records: record_slots(list(records), source="x", now=NOW))
    chain.begin(*genesis(*(stake(10_000 + number, 2, 1) for number in range(8_100))))
    ready = threading.Barrier(3)

    def work() -> None:
        ready.wait()
        while not StakeTurn.objects.exclude(outcome="running").exists():
            stake_turns.count_step()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert lamports(0) == {0: 700, 1: 300, 2: 8_100}
    assert StakeTurn.objects.get().accounts == 8_103
