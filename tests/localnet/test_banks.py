"""Banks: accounts as each fork sees them, against plain dictionaries; and what a folder keeps."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey

from chain.units import U64_MAX, Slot, UnixTimestamp
from localnet.bank import Bank, BankState, Ground
from localnet.identities import VALIDATORS
from localnet.leaders import Schedule
from localnet.opening import open_chain, write_versions
from localnet.state import FinalizedAccounts
from localnet.storage import Storage
from tests.examples import examples

KEYS = [Pubkey(bytes([number]) * 32) for number in range(1, 6)]
OWNERS = [Pubkey(bytes([number]) * 32) for number in (101, 102)]
NOW = UnixTimestamp(1_700_000_000)

writes = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(0, 3), st.sampled_from(OWNERS)), max_size=4
)
# What a new bank writes, which bank it stands on (counted from the newest), how many to finalize.
steps = st.lists(st.tuples(writes, st.integers(0, 3), st.integers(0, 2)), max_size=12)


def root_bank(accounts: FinalizedAccounts) -> Bank:
    counter = itertools.count(1)
    ground = Ground(accounts, Schedule(64, b"seed", VALIDATORS), lambda: next(counter), 0)
    state = BankState(
        slot=Slot(0),
        parent_slot=Slot(0),
        previous_blockhash=bytes(32),
        blockhash=bytes(32),
        block_height=0,
        block_time=NOW,
        blockhashes=[],
        transaction_count=0,
        bank_hash=bytes(32),
    )
    return Bank(state, None, ground)


def seen_by(bank: Bank) -> dict[Pubkey, Account]:
    found = {key: bank.load(key) for key in KEYS}
    return {key: account for key, account in found.items() if account is not None}


@settings(max_examples=examples(150))
@given(steps)
def test_every_fork_sees_its_own_writes_and_its_ancestors(
    history: list[tuple[list[tuple[Pubkey, int, Pubkey]], int, int]],
) -> None:
    accounts = FinalizedAccounts()
    banks: list[tuple[Bank, dict[Pubkey, Account]]] = [(root_bank(accounts), {})]
    for slot, (written, back, finalized) in enumerate(history, start=1):
        parent, model = banks[-1 - back % len(banks)]
        bank, model = parent.child(Slot(slot), now=NOW), dict(model)
        for key, lamports, owner in written:
            account = Account(lamports, b"", owner, False, U64_MAX)
            bank.write(key, account)
            model[key] = account
        model = {key: account for key, account in model.items() if account.lamports}
        banks.append((bank, model))
        # Finalizing a bank leaves only those that stand on it.
        for _ in range(finalized):
            line = [each for each in bank.line() if each.parent is not None]
            if not line:
                break
            root = line[-1]
            root.rooted()
            banks = [(each, seen) for each, seen in banks if root in each.line()]
        for each, seen in banks:
            assert seen_by(each) == seen
            assert dict(each.everything()) == seen
            for owner in OWNERS:
                wanted = {key: a for key, a in seen.items() if a.owner == owner}
                assert dict(each.owned_by(owner)) == wanted


def test_a_folder_gives_back_what_was_kept(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    chain = open_chain(storage, epoch_slots=64, slot_seconds=0.4, now=NOW)
    assert (chain.root.slot, chain.first_free_slot) == (0, 1)
    bank = chain.root.child(Slot(1), now=NOW)
    bank.begin()
    big = Account(U64_MAX, bytes(range(256)) * 40, OWNERS[0], True, U64_MAX)
    bank.write(KEYS[0], big, bytes(64))
    bank.end()
    storage.keep(bank.state(), bank.record(), bank.written, [])
    before = bank.record()
    storage.close()

    storage = Storage(tmp_path)
    again = open_chain(storage, epoch_slots=128, slot_seconds=0.4, now=UnixTimestamp(NOW + 10))
    assert again.genesis_hash == chain.genesis_hash
    assert again.schedule.epoch_slots == 64  # a chain's epochs keep their length
    assert again.first_free_slot == 1 + 25 + 1  # ten seconds of slots were skipped
    assert again.root.state() == bank.state()
    assert again.accounts.get(KEYS[0]) == big
    assert storage.block(Slot(1)) == before
    storage.close()


def test_no_write_version_is_given_twice(tmp_path: Path) -> None:
    given_before: list[int] = []
    for _ in range(3):
        storage = Storage(tmp_path)
        following = write_versions(storage)
        given_now = [following() for _ in range(5)]
        assert given_now == sorted(set(given_now))
        assert not given_before or given_now[0] > given_before[-1]
        given_before += given_now
        storage.close()


def test_a_leaders_turn_is_four_slots_and_each_epoch_has_an_order_of_its_own() -> None:
    schedule = Schedule(64, b"seed", VALIDATORS)
    leaders = [schedule.leader(Slot(slot)) for slot in range(128)]
    for start in range(0, 128, 4):
        assert len(set(leaders[start : start + 4])) == 1
    assert leaders[:64] != leaders[64:]
    assert leaders == [Schedule(64, b"seed", VALIDATORS).leader(Slot(slot)) for slot in range(128)]


def test_old_blocks_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localnet.storage.KEPT_BLOCKS", 20)
    monkeypatch.setattr("localnet.storage._PRUNE_EVERY", 3)
    storage = Storage(tmp_path)
    bank = open_chain(storage, epoch_slots=64, slot_seconds=0.4, now=NOW).root
    for slot in range(1, 60):
        bank = bank.child(Slot(slot), now=NOW)
        bank.begin()
        bank.end()
        storage.keep(bank.state(), bank.record(), bank.written, [])
        bank.rooted()
    first = storage.first_slot()
    assert first is not None and 30 < first <= 40
    assert storage.slots(0, 100, 1_000) == list(range(first, 60))
    storage.close()
