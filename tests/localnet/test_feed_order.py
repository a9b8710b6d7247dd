"""The order of what happens, slot by slot, as a ledger tells it to its feed."""

import asyncio
from collections import defaultdict
from pathlib import Path

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from chain.transactions import decode_wire
from chain.units import Slot, UnixTimestamp
from localnet.faults import Faults
from localnet.feed import (
    AccountWritten,
    BlockMade,
    ChainEvent,
    EntryMade,
    Feed,
    SlotChanged,
    SlotStatus,
    TransactionRan,
    slot_of,
)
from localnet.identities import FAUCET
from localnet.ledger import Ledger
from localnet.opening import open_chain
from localnet.storage import Storage
from localnet.submissions import BundleState

NOW = UnixTimestamp(1_700_000_000)
_OPENED = SlotStatus.CREATED_BANK


def payment(blockhash: Hash, lamports: int) -> bytes:
    instruction = transfer(
        TransferParams(from_pubkey=FAUCET.pubkey(), to_pubkey=Keypair().pubkey(), lamports=lamports)
    )
    message = Message.new_with_blockhash([instruction], FAUCET.pubkey(), blockhash)
    return bytes(Transaction([FAUCET], message, blockhash))


async def told(folder: Path) -> tuple[list[ChainEvent], dict[Pubkey, int]]:
    """What a chain of some 30 slots tells, forks and skipped slots among them."""
    storage, faults = Storage(folder), Faults()
    feed = Feed(faults)
    chain = open_chain(storage, epoch_slots=32, slot_seconds=0.01, now=NOW)
    ledger = Ledger(
        chain, storage, feed, faults, slot_seconds=0.01, finalized_after=4, skip_percent=0
    )
    subscription = feed.subscribe()
    running = asyncio.create_task(ledger.run())
    heard: list[ChainEvent] = []
    async for happening in subscription:
        heard.append(happening)
        if not isinstance(happening, SlotChanged) or happening.status is not _OPENED:
            continue
        slot = happening.slot
        if slot >= 30:
            break
        for number in range(slot % 4):
            ledger.submit(payment(ledger.head.blockhash, 1_000_000 + number))
        if slot in (6, 20):
            faults.fork_slots = 3 if slot == 6 else 1
        if slot == 14:
            faults.skip_slots = 2
    ledger.stop()
    await running
    heard += subscription.take()
    balances = {key: account.lamports for key, account in ledger.accounts.items()}
    storage.close()
    return heard, balances


def test_each_slot_is_told_in_a_nodes_order_and_its_writes_make_the_accounts(
    tmp_path: Path,
) -> None:
    heard, balances = asyncio.run(told(tmp_path))
    by_slot: dict[Slot, list[ChainEvent]] = defaultdict(list)
    for happening in heard:
        by_slot[slot_of(happening)].append(happening)
    dead = set()
    left_behind = set()
    expected = {FAUCET.pubkey(): 0}
    for slot, happenings in by_slot.items():
        statuses = [each.status for each in happenings if isinstance(each, SlotChanged)]
        made = [
            SlotStatus.FIRST_SHRED_RECEIVED,
            SlotStatus.CREATED_BANK,
            SlotStatus.COMPLETED,
        ]
        if statuses == [*made, SlotStatus.DEAD]:
            dead.add(slot)
            continue
        if statuses == [*made, SlotStatus.PROCESSED]:
            left_behind.add(slot)
        else:
            assert statuses == [
                *made,
                SlotStatus.PROCESSED,
                SlotStatus.CONFIRMED,
                SlotStatus.FINALIZED,
            ]
        check_block(happenings)
        if slot not in left_behind:
            for each in happenings:
                if isinstance(each, AccountWritten):
                    expected[Pubkey(each.write.pubkey)] = each.write.lamports
    assert len(dead) == 2
    assert len(left_behind) == 2
    assert {key: balances[key] for key in expected} == expected
    for status in (SlotStatus.CONFIRMED, SlotStatus.FINALIZED):
        reached = [
            each.slot for each in heard if isinstance(each, SlotChanged) and each.status is status
        ]
        assert reached == sorted(set(reached))
    blocks = {each.record.slot: each.record for each in heard if isinstance(each, BlockMade)}
    for slot, record in blocks.items():
        parent = blocks.get(record.parent_slot)
        if parent is not None:
            assert record.previous_blockhash == parent.blockhash
        assert slot not in dead
    assert len({record.blockhash for record in blocks.values()}) == len(blocks)
    versions = [each.write.write_version for each in heard if isinstance(each, AccountWritten)]
    assert versions == sorted(set(versions))


def check_block(happenings: list[ChainEvent]) -> None:
    """Writes come before their transaction, those before their entry, all before the block."""
    (block,) = [each for each in happenings if isinstance(each, BlockMade)]
    record = block.record
    waiting: list[AccountWritten] = []
    transactions = entries = counted = 0
    last_hash = b""
    for each in happenings[: happenings.index(block)]:
        if isinstance(each, AccountWritten):
            waiting.append(each)
        elif isinstance(each, TransactionRan):
            assert each.index == transactions
            mine = [write for write in waiting if write.write.signature is not None]
            assert mine
            assert all(write.write.signature == each.signature for write in mine)
            waiting = []
            transactions += 1
            assert record.transactions[each.index] == each.record
        elif isinstance(each, EntryMade):
            assert each.index == entries
            assert each.starting_transaction_index == counted
            assert each.transaction_count == transactions - counted
            counted, entries, last_hash = transactions, entries + 1, each.hash
    assert all(write.write.signature is None for write in waiting)
    assert str(Hash(last_hash)) == record.blockhash
    assert (len(record.transactions), block.entry_count) == (transactions, entries)
    written = [each.write for each in happenings if isinstance(each, AccountWritten)]
    assert record.account_writes == written


def test_no_transaction_stands_in_a_block_twice_however_it_came(tmp_path: Path) -> None:
    async def story() -> tuple[bool, list[BundleState]]:
        storage, faults = Storage(tmp_path), Faults()
        feed = Feed(faults)
        chain = open_chain(storage, epoch_slots=32, slot_seconds=0.01, now=NOW)
        ledger = Ledger(
            chain, storage, feed, faults, slot_seconds=0.01, finalized_after=4, skip_percent=0
        )
        first, second, third, fourth = (
            payment(chain.root.blockhash, 1_000_000 + number) for number in range(4)
        )
        # All of one turn: none of them has run when the others are taken.
        ledger.submit(first)
        bundles = [
            ledger.submit_bundle([first, second]),
            ledger.submit_bundle([third, third]),
            ledger.submit_bundle([second, third]),
            ledger.submit_bundle([third, fourth]),
        ]
        ledger.submit(second)
        ledger.submit(fourth)
        subscription = feed.subscribe()
        running = asyncio.create_task(ledger.run())
        ran: list[bytes] = []
        async for happening in subscription:
            if isinstance(happening, TransactionRan):
                ran.append(happening.signature)
            if isinstance(happening, SlotChanged) and happening.status is SlotStatus.FINALIZED:
                break
        ledger.stop()
        await running
        states = [found.state for each in bundles if (found := ledger.bundle_status(each))]
        kept = [signature for signature, *_ in storage.signatures_since(0)]
        assert sorted(kept) == sorted(ran)
        storage.close()
        names = {decode_wire(wire).signatures[0]: wire for wire in (first, second, third, fourth)}
        return [names[each] for each in ran] == [first, second, third, fourth], states

    in_order, states = asyncio.run(story())
    assert in_order
    assert states == [
        BundleState.FAILED,
        BundleState.FAILED,
        BundleState.LANDED,
        BundleState.FAILED,
    ]
