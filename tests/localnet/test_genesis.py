"""Genesis: what a chain starts with is slot 0, told and kept as any other slot."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.sysvar import CLOCK

from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Slot, UnixTimestamp
from localnet.bank import BankState
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.feed_recovery import recall_blocks
from localnet.genesis import genesis_accounts
from localnet.identities import VALIDATORS
from localnet.opening import Opened, open_chain
from localnet.storage import Storage
from rewind.positions import START_OF_SLOT, placed
from simulator import defaults
from tests.localnet_process import Localnet, new_localnet
from upstream.geyser.assembly import Assembler
from upstream.geyser.client import GeyserStream, first_available
from upstream.geyser.events import SlotClosed
from upstream.geyser.messages import slot_record

NOW = UnixTimestamp(1_700_000_000)
GIVEN, EMPTY = Pubkey.new_unique(), Pubkey.new_unique()


def opened(storage: Storage, given: dict[Pubkey, Account] | None = None) -> Opened:
    return open_chain(storage, epoch_slots=64, slot_seconds=0.4, now=NOW, given=given)


def accounts_of(record: SlotRecord) -> dict[Pubkey, Account]:
    assert record.account_writes is not None
    return {Pubkey(write.pubkey): account_of(write) for write in record.account_writes}


def account_of(write: AccountWrite) -> Account:
    owner = Pubkey(write.owner)
    return Account(write.lamports, write.data, owner, write.executable, write.rent_epoch)


def test_slot_0_has_every_account_that_the_chain_starts_with(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    chain = opened(storage)
    record = storage.block(Slot(0))
    assert record is not None and record.account_writes is not None
    assert accounts_of(record) == dict(chain.accounts.items())
    assert accounts_of(record) == genesis_accounts(64, chain.genesis_hash, NOW, VALIDATORS)
    assert accounts_of(record).keys() > defaults.genesis_accounts().keys()
    assert all(write.signature is None for write in record.account_writes)
    versions = [write.write_version for write in record.account_writes]
    assert versions == sorted(set(versions))
    bank = chain.root.child(Slot(1), now=NOW)
    assert bank.begin()[0].write_version > versions[-1]
    assert record.blockhash == str(chain.genesis_hash)
    storage.close()


def test_given_accounts_are_of_genesis_where_the_chain_begins(tmp_path: Path) -> None:
    account = Account(5, b"data", Pubkey.new_unique(), False, U64_MAX)
    none = Account(0, b"", Pubkey.default(), False, U64_MAX)
    storage = Storage(tmp_path)
    chain = opened(storage, {GIVEN: account, EMPTY: none})
    record = storage.block(Slot(0))
    assert record is not None
    assert accounts_of(record)[GIVEN] == chain.accounts.get(GIVEN) == account
    assert EMPTY not in accounts_of(record)
    assert chain.accounts_to_load == {}
    storage.close()
    storage = Storage(tmp_path)
    assert opened(storage, {GIVEN: account}).accounts_to_load == {GIVEN: account}
    storage.close()


def test_the_stake_config_is_a_validators_whatever_is_given(tmp_path: Path) -> None:
    key = Pubkey.from_string("StakeConfig11111111111111111111111111111111")
    storage = Storage(tmp_path)
    chain = opened(storage, {key: Account(5, b"data", Pubkey.new_unique(), False, U64_MAX)})
    found = chain.accounts.get(key)
    assert found is not None
    assert (found.lamports, found.data.hex()) == (960_480, "00000000000000d03f0c")
    storage.close()


def test_a_chain_from_before_its_genesis_was_kept_goes_on(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    genesis_hash = bytes(range(32))
    storage.keep_fact("genesis_hash", genesis_hash)
    storage.keep_number("epoch_slots", 64)
    state = BankState(
        slot=Slot(0),
        parent_slot=Slot(0),
        previous_blockhash=bytes(32),
        blockhash=genesis_hash,
        block_height=0,
        block_time=NOW,
        blockhashes=[],
        transaction_count=0,
        bank_hash=bytes(32),
    )
    record = SlotRecord(
        slot=Slot(0),
        parent_slot=Slot(0),
        blockhash=str(Hash(genesis_hash)),
        previous_blockhash=str(Hash.default()),
        block_time=NOW,
        block_height=0,
        transactions=[],
        rewards=[],
    )
    storage.keep(state, record, genesis_accounts(64, Hash(genesis_hash), NOW, VALIDATORS), ())
    chain = opened(storage)
    bank = chain.root.child(Slot(1), now=NOW)
    bank.begin()
    bank.end()
    storage.keep(bank.state(), bank.record(), bank.written, [])
    feed = Feed(Faults())
    recall_blocks(storage, feed, 150)
    assert feed.first_available is None
    assert storage.slots(0, 9, 9) == [0, 1]
    storage.close()


@pytest.fixture(scope="module")
def young(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localnet]:
    """A chain that began with an account of ours."""
    files = tmp_path_factory.mktemp("accounts")
    account = {
        "lamports": LAMPORTS_PER_SOL,
        "data": ["aGVsbG8=", "base64"],
        "owner": str(Pubkey.default()),
        "executable": False,
    }
    (files / "ours.json").write_text(json.dumps({"pubkey": str(GIVEN), "account": account}))
    with new_localnet() as localnet:  # of shorter slots it would not be young for long enough
        localnet.start("--accounts", str(files))
        yield localnet


def streamed(localnet: Localnet) -> SlotRecord:
    """Slot 0 as a follower gets it that begins as far back as it can."""
    begin = first_available(localnet.geyser_url)
    assert begin == 0
    assembler = Assembler(begin=begin)
    with GeyserStream(localnet.geyser_url, from_slot=begin) as stream:
        for update in stream:
            for event in assembler.feed(update):
                assert isinstance(event, SlotClosed), event
                assert (event.closed.slot, event.reason) == (0, "")
                return slot_record(event.closed)
    raise AssertionError("the stream ended")


def test_a_stream_from_slot_0_has_the_whole_genesis(young: Localnet) -> None:
    # At once, and still later than a chain that is not young any more could be replayed.
    for slot in (2, 200):
        young.wait_for_slot(slot)
        record = streamed(young)
        told = young.call("getAccountWrites", 0)
        assert record.granularity is Granularity.WRITE
        assert (record.parent_slot, record.transactions, record.rewards) == (0, [], [])
        block = young.call("getBlock", 0)
        assert (record.blockhash, record.block_time) == (block["blockhash"], block["blockTime"])
        assert len(told) > 250
        places = placed(record.account_writes or (), {})
        assert {(str(Pubkey(key)), place) for key, place in places} == {
            (each["pubkey"], START_OF_SLOT) for each in told
        }
        assert accounts_of(record)[GIVEN].data == b"hello"
        assert accounts_of(record)[CLOCK].data[:8] == bytes(8)


def test_a_restart_does_not_forget_the_beginning(young: Localnet) -> None:
    young.wait_for_slot(170)
    before = streamed(young)
    young.kill()
    young.start()
    assert streamed(young) == before


def test_an_account_that_began_with_the_chain_is_not_loaded_again(young: Localnet) -> None:
    last = young.wait_for_slot(5)
    for slot in young.call("getBlocks", 0, last):
        written = {each["pubkey"] for each in young.call("getAccountWrites", slot)}
        assert (str(GIVEN) in written) == (slot == 0)
