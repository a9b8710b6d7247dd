"""Dropped banks: a slot is executed twice, as by a node that drops a duplicate block's version."""

from hashlib import sha256

from solders.hash import Hash

from localnet.bank import Bank
from localnet.entries import HashChain
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.producing import begin_block, cast_votes, end_block, run_turn
from localnet.submissions import Submitted
from simulator.engine import Engine


def run_dropped(
    bank: Bank, engine: Engine, feed: Feed, faults: Faults, waiting: list[Submitted]
) -> None:
    """Streams another version of the slot's block, which is on no branch: its sysvars, votes and
    half of the waiting transactions, all of them in one that freezes.
    """
    bank.entries = HashChain(Hash(sha256(bytes(bank.previous_blockhash)).digest()))
    begin_block(bank, feed, {})
    cast_votes(bank, engine, feed, faults)
    if faults.two_banks_freeze:
        run_turn(bank, engine, feed, waiting)
        end_block(bank, feed, dies=False)
    else:
        run_turn(bank, engine, feed, waiting[: (len(waiting) + 1) // 2])
