"""What a chain keeps is enough to run it again: each transaction on the states before it."""

from collections.abc import Iterator

import pytest
from solders.account import Account
from solders.clock import Clock
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.slot_history import SlotHistory, SlotHistoryCheck
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.units import Slot
from localnet.storage import Storage
from rewind.positions import END_OF_SLOT, START_OF_SLOT, first_signatures, placed
from simulator.engine import Engine
from simulator.moment import Moment
from tests.clients.chain_endpoints import (
    decided,
    landed,
    moment_of,
    of_localnet,
    send_bundle,
    sending,
    statuses,
)
from tests.clients.mixed_transactions import Mixture
from tests.clients.planned import Pen
from tests.localnet.test_block_engine import result
from tests.localnet.wallets import SOL
from tests.localnet_process import running_localnet

EPOCH_SLOTS = 64
ROUNDS = 2


@pytest.fixture(scope="module")
def records() -> list[SlotRecord]:
    """Every block of a chain with transactions of all kinds, a fork and an epoch's end."""
    with running_localnet(
        LOCALNET_SKIP_PERCENT=5, LOCALNET_EPOCH_SLOTS=EPOCH_SLOTS, LOCALNET_SLOT_MS=60
    ) as localnet:
        pen = Pen(seed=5)
        tip_accounts = [Pubkey.from_string(each) for each in result(localnet, "getTipAccounts")]
        mixture = Mixture(pen, tip_accounts)
        wallets = [("requestAirdrop", str(key), 10_000 * SOL) for key in mixture.wallets]
        sent = of_localnet(localnet, wallets)
        landed(localnet, sent)
        for number in range(ROUNDS + 1):
            moment = moment_of(localnet, mixture.nonces if number else [])
            planned = mixture.round(moment) if number else mixture.opening(moment)
            if number == 1:
                localnet.call("setFaults", {"forkSlots": 2, "skipSlots": 1})
            of_localnet(localnet, sending(planned))
            signatures = [each.signature for each in planned]
            if number:
                bundle = mixture.bundle()
                assert decided(localnet, send_bundle(localnet, bundle)) == "Landed"
                signatures += [each.signature for each in bundle]
            landed(localnet, signatures)
            sent += signatures
        last = max(each["slot"] for each in statuses(localnet, sent) if each)
        # Some transactions see an epoch that is not the first.
        if last < EPOCH_SLOTS:
            localnet.wait_for_slot(EPOCH_SLOTS + 1)
            landed(localnet, [localnet.call("requestAirdrop", str(mixture.wallets[0]), SOL)])
        localnet.stop()
        storage = Storage(localnet.run_dir / "localnet")
        found = [storage.block(slot) for slot in storage.slots(0, 10_000, 10_000)]
        storage.close()
    return [record for record in found if record is not None]


def states(record: SlotRecord) -> Iterator[tuple[int, dict[Pubkey, Account]]]:
    """What was written at each place of the block, in order."""
    assert record.account_writes is not None
    indexes = first_signatures(record.transactions)
    by_place: dict[int, dict[Pubkey, Account]] = {}
    for (pubkey, place), write in placed(record.account_writes, indexes).items():
        by_place.setdefault(place, {})[Pubkey(pubkey)] = account_of(write)
    return iter(sorted(by_place.items(), key=lambda each: each[0]))


def account_of(write: AccountWrite) -> Account:
    owner = Pubkey(write.owner)
    return Account(write.lamports, write.data, owner, write.executable, write.rent_epoch)


def blockhashes_in(account: Account) -> list[Hash]:
    """Those of the RecentBlockhashes sysvar, newest first."""
    count = int.from_bytes(account.data[:8], "little")
    return [Hash(account.data[8 + 40 * place : 40 + 40 * place]) for place in range(count)]


def test_every_transaction_comes_to_the_same_on_the_states_before_it(
    records: list[SlotRecord],
) -> None:
    engine, now, run = Engine(), dict[Pubkey, Account](), 0

    def load(key: Pubkey) -> Account | None:
        account = now.get(key)
        return account if account is not None and account.lamports else None

    for record in records:
        written = dict(states(record))
        now.update(written.pop(START_OF_SLOT))
        for index, entry in enumerate(record.transactions):
            recent = blockhashes_in(now[addresses.RECENT_BLOCKHASHES])
            assert str(recent[0]) == record.previous_blockhash
            moment = Moment(record.slot, recent[0], frozenset(recent))
            transaction = VersionedTransaction.from_bytes(entry.wire)
            outcome = engine.execute(transaction, load=load, moment=moment)
            assert outcome.meta() == entry.meta, (record.slot, index)
            assert outcome.writes == written[index], (record.slot, index)
            now.update(written.pop(index))
            run += 1
        now.update(written.pop(END_OF_SLOT, {}))
        assert written == {}
    assert run > 200
    assert max(record.slot for record in records if record.transactions) > EPOCH_SLOTS


def test_sysvars_stand_where_transactions_saw_them(records: list[SlotRecord]) -> None:
    clock_and_hashes = {addresses.CLOCK, addresses.SLOT_HASHES}
    at_the_end = {addresses.RECENT_BLOCKHASHES, addresses.SLOT_HISTORY}
    by_slot = {record.slot: record for record in records}
    with_transactions = [record for record in records[1:] if record.transactions]
    assert with_transactions
    for record in with_transactions:
        written = dict(states(record))
        first, last = written[START_OF_SLOT], written[END_OF_SLOT]
        leader = {Pubkey.from_string(str((record.rewards or [])[0]["pubkey"]))}
        parent = by_slot[record.parent_slot]
        ends_epoch = record.slot // EPOCH_SLOTS != parent.slot // EPOCH_SLOTS
        stakes = {addresses.STAKE_HISTORY} if ends_epoch else set()
        assert first.keys() == clock_and_hashes | stakes
        assert last.keys() == at_the_end | leader
        clock = Clock.from_bytes(first[addresses.CLOCK].data)
        assert (clock.slot, clock.unix_timestamp) == (record.slot, record.block_time)
        assert clock.epoch == record.slot // EPOCH_SLOTS
        hashes = first[addresses.SLOT_HASHES].data
        assert int.from_bytes(hashes[8:16], "little") == parent.slot
        newest = blockhashes_in(last[addresses.RECENT_BLOCKHASHES])
        assert list(map(str, newest[:2])) == [record.blockhash, parent.blockhash]
        history = SlotHistory.from_bytes(last[addresses.SLOT_HISTORY].data)
        assert history.next_slot == record.slot + 1
        for slot in range(record.slot + 1):
            found = history.check(slot) == SlotHistoryCheck.Found
            assert found == (Slot(slot) in by_slot), slot
