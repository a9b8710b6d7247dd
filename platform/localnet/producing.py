"""Producing a block: its parts in the order in which a node shows them on its stream."""

import logging
from collections.abc import Mapping, Sequence

from solders.account import Account
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from localnet.bank import Bank, Ran
from localnet.faults import Faults
from localnet.feed import (
    AccountWritten,
    BlockMade,
    EntryMade,
    Feed,
    SlotChanged,
    SlotStatus,
    TransactionRan,
)
from localnet.submissions import Bundle, BundleState, Submitted
from localnet.votes import votes_in
from simulator.engine import Engine
from simulator.errors import EngineFault

log = logging.getLogger(__name__)


def begin_block(bank: Bank, feed: Feed, loading: Mapping[Pubkey, Account]) -> None:
    """Opens the slot: its sysvars, and accounts that are loaded from outside."""
    for status in (SlotStatus.FIRST_SHRED_RECEIVED, SlotStatus.CREATED_BANK):
        feed.publish(SlotChanged(bank.slot, bank.parent_slot, status, bank=bank.number))
    _show(bank, feed, bank.begin())
    _show(bank, feed, [bank.write(key, account) for key, account in loading.items()])


def run_turn(bank: Bank, engine: Engine, feed: Feed, turn: Sequence[Bundle | Submitted]) -> None:
    """Runs what is submitted, one after the other, into one entry of the block."""
    first = len(bank.ran)
    for item in turn:
        try:
            if isinstance(item, Bundle):
                _run_bundle(bank, engine, feed, item)
            elif item.signature not in bank.statuses:
                ran = bank.run(engine, item)
                if isinstance(ran, Ran):
                    _show_ran(bank, feed, ran)
        except EngineFault:
            # Nothing of it was applied; the engine restarts, and the chain goes on without it.
            log.exception("slot %d: the engine could not run a transaction", bank.slot)
            if isinstance(item, Bundle):
                item.state, item.error = BundleState.FAILED, "EngineFault"
    signatures = [ran.signature for ran in bank.ran[first:]]
    if signatures:
        bank.longest_entry = max(bank.longest_entry, len(signatures))
        index = bank.entries.entry_count
        entry_hash = bank.entries.record(signatures)
        _show_entry(bank, feed, (index, 1, entry_hash, len(signatures), first))


def cast_votes(bank: Bank, engine: Engine, feed: Feed, faults: Faults) -> None:
    """Runs a vote of each validator for the parent block, as the block's first entry."""
    bank.votes = votes_in(bank, forged=faults.forged_votes)
    run_turn(bank, engine, feed, bank.votes)


def end_block(bank: Bank, feed: Feed, *, dies: bool) -> None:
    """Freezes the bank; a block that dies is left before anyone calls it whole."""
    index = bank.entries.entry_count
    writes, hash_count, last_hash = bank.end()
    _show(bank, feed, writes)
    _show_entry(bank, feed, (index, hash_count, last_hash, 0, len(bank.ran)))
    slot, parent, number = bank.slot, bank.parent_slot, bank.number
    feed.publish(SlotChanged(slot, parent, SlotStatus.COMPLETED, bank=number))
    if not dies:
        feed.publish(BlockMade(bank.record(), bank.entries.entry_count, number))
        feed.publish(SlotChanged(slot, parent, SlotStatus.PROCESSED, bank=number))


def _run_bundle(bank: Bank, engine: Engine, feed: Feed, bundle: Bundle) -> None:
    signatures = {each.signature for each in bundle.transactions}
    if len(signatures) < len(bundle.transactions) or signatures & bank.statuses.keys():
        bundle.state, bundle.error = BundleState.FAILED, "AlreadyProcessed"
        return
    ran = bank.run_bundle(engine, bundle.transactions)
    if isinstance(ran, list):
        bundle.state, bundle.slot = BundleState.LANDED, bank.slot
        for each in ran:
            _show_ran(bank, feed, each)
    else:
        bundle.state, bundle.error = BundleState.FAILED, ran.error
        bundle.failed = ran.signature


def _show_ran(bank: Bank, feed: Feed, ran: Ran) -> None:
    _show(bank, feed, ran.writes)
    feed.publish(TransactionRan(bank.slot, ran.index, ran.signature, ran.record, bank.number))


def _show_entry(bank: Bank, feed: Feed, made: tuple[int, int, bytes, int, int]) -> None:
    """`made` are the fields of EntryMade between its slot and its bank; a stored one names none."""
    bank.entries_made.append(EntryMade(bank.slot, *made))
    feed.publish(EntryMade(bank.slot, *made, bank.number))


def _show(bank: Bank, feed: Feed, writes: Sequence[AccountWrite]) -> None:
    for write in writes:
        feed.publish(AccountWritten(bank.slot, write, bank.number))
