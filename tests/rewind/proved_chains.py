"""Made chains of banks whose validators vote, as records: what the cluster computed, and what a
faulty stream brings of it.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.lattice import LatticeHash, bank_hash, lattice_of
from chain.units import Slot
from rewind.baselines.models import Baseline
from rewind.proof.store import epoch_stakes
from tests.chain.proofs import ACCOUNTS, VOTE, VOTERS, tower_sync, vote_transaction
from tests.rewind.samples import blockhash, signature, wire

State = AccountWrite
_GENESIS = AccountWrite(bytes([200]) * 32, 5, bytes(32), b"", False, 0, 0, None)


def vote_account(number: int, voter: Pubkey | None = None, *, epoch: int = 0) -> AccountWrite:
    """The account of that number, whose votes the voter signs from the epoch on."""
    voter = VOTERS[number].pubkey() if voter is None else voter
    head = struct.pack("<I", 2) + bytes(64) + bytes(1)  # the third layout
    data = head + struct.pack("<QBQQ", 0, 0, 1, epoch) + bytes(voter) + bytes(1_600)
    return AccountWrite(bytes(ACCOUNTS[number]), 1, bytes(VOTE), data, False, 0, 0, None)


def keep_stakes(
    *stakes: int, baseline: Baseline | None = None, epoch: int = 0, named: bool = False
) -> None:
    """Of the vote accounts, as a node has them, or a snapshot; with their voters if `named`."""
    epoch_stakes.keep(
        epoch_stakes.StakeOrigin(baseline),
        epoch,
        {
            bytes(account): epoch_stakes.Stake(stake, bytes(voter.pubkey()) if named else None)
            for account, voter, stake in zip(ACCOUNTS, VOTERS, stakes, strict=True)
        },
    )


@dataclass
class MadeChain:
    """`records` as the cluster made them; `hashes` and `sums` of the banks by slot."""

    voters: Sequence[int] = (0, 1, 2, 3)
    records: list[SlotRecord] = field(default_factory=list)
    hashes: dict[int, bytes] = field(default_factory=dict)
    sums: dict[int, bytes] = field(default_factory=dict)
    _total: LatticeHash = field(default_factory=LatticeHash)
    _states: dict[bytes, AccountWrite] = field(default_factory=dict)

    def block(
        self,
        writes: Sequence[AccountWrite] = (),
        *,
        slot: int | None = None,
        voters: Sequence[int] | None = None,
        votes_failed: bool = False,
        keys: Mapping[int, Keypair] | None = None,
        kind: int = 14,
        forged: bool = False,
        parent: int | None = None,
    ) -> SlotRecord:
        """The next block: its writes, two transactions, and votes for its parent, which other
        `keys` may sign, as instructions of that kind, or which no one signed. The clock is written
        by every block.
        """
        if parent is None:
            parent = self.records[-1].slot if self.records else 0
        slot = (parent + 1 if self.records else 0) if slot is None else slot
        clock = AccountWrite(bytes([201]) * 32, 1, bytes(32), slot.to_bytes(8), False, 0, 0, None)
        transactions = [TransactionRecord(wire(slot, index), None) for index in range(2)]
        if self.records:
            for number in self.voters if voters is None else voters:
                data = tower_sync([parent], self.hashes[parent], kind=kind)
                key = (keys or {}).get(number, VOTERS[number])
                signed = bytes(vote_transaction(ACCOUNTS[number], key, data))
                if forged:
                    signed = signed[:1] + bytes([slot % 250 + 1]) * 64 + signed[65:]
                meta = {"err": {"InstructionError": [0, "Custom"]}} if votes_failed else None
                transactions.append(TransactionRecord(signed, meta))
        every = [clock, *writes]
        if not self.records:
            every = [_GENESIS, *map(vote_account, range(4)), *every]
        for each in last_writes(every).values():
            if each.pubkey in self._states:
                self._total.take(lattice_of(self._states[each.pubkey]))
            self._total.add(lattice_of(each))
            self._states[each.pubkey] = each
        count = sum(each.decoded.header.required_signatures for each in transactions)
        above = self.hashes.get(parent, bytes(32)) if self.records else bytes(32)
        own = bytes(Hash.from_string(blockhash(slot)))
        self.sums[slot] = bytes(self._total)
        self.hashes[slot] = bank_hash(above, count, own, self.sums[slot])
        record = SlotRecord(
            slot=Slot(slot),
            parent_slot=Slot(parent),
            blockhash=blockhash(slot),
            previous_blockhash=blockhash(parent),
            block_time=None,
            block_height=None,
            transactions=transactions,
            account_writes=every,
        )
        self.records.append(record)
        return record

    @property
    def states(self) -> Mapping[bytes, AccountWrite]:
        """Of the newest block."""
        return self._states


def change(
    slot: int, account: int, lamports: int, *, owner: int = 9, data: bytes = b"", at: int = 0
) -> AccountWrite:
    """By the slot's transaction of that index."""
    by = signature(slot, at)
    pubkey = account.to_bytes(32)
    return AccountWrite(pubkey, lamports, bytes([owner]) * 32, data, False, 0, at + 1, by)


def last_writes(writes: Sequence[AccountWrite]) -> dict[bytes, AccountWrite]:
    return {each.pubkey: each for each in sorted(writes, key=lambda each: each.write_version)}


def with_writes(record: SlotRecord, writes: Sequence[AccountWrite]) -> SlotRecord:
    return replace(record, account_writes=list(writes))


def with_fault(
    records: Sequence[SlotRecord], kind: str, choose: Callable[[Sequence[Any]], Any]
) -> list[SlotRecord]:
    """What a stream brings that loses, alters, doubles or moves one write of a transaction; the
    same records for any other kind, and where there is no such write.
    """
    writes = [list(each.account_writes or ()) for each in records]
    places = [
        (slot, number)
        for slot, each in enumerate(writes)
        for number, one in enumerate(each)
        if one.signature is not None
    ]
    if kind in ("lost", "altered", "doubled", "moved") and places:
        slot, number = choose(places)
        one = writes[slot][number]
        if kind in ("lost", "moved"):
            del writes[slot][number]
        if kind == "altered":
            writes[slot][number] = choose(
                [
                    one._replace(data=one.data + b"altered"),
                    one._replace(lamports=one.lamports + 1),
                    one._replace(owner=one.owner[::-1][:-1] + b"\1"),
                    one._replace(executable=not one.executable),
                ]
            )
        if kind in ("doubled", "moved"):
            to = choose(range(len(records)))
            by = change(to, 1, 1, at=1).signature
            writes[to].append(one._replace(signature=by, write_version=2))
    return [with_writes(each, some) for each, some in zip(records, writes, strict=True)]


def first_difference(true: Iterable[SlotRecord], faulty: Iterable[SlotRecord]) -> int | None:
    """The first slot after which living accounts are not what they are."""
    here, there = dict[bytes, Any](), dict[bytes, Any]()
    for mine, theirs in zip(true, faulty, strict=True):
        here |= _content(last_writes(mine.account_writes or ()))
        there |= _content(last_writes(theirs.account_writes or ()))
        if _living(here) != _living(there):
            return mine.slot
    return None


def _content(writes: dict[bytes, AccountWrite]) -> dict[bytes, Any]:
    return {
        key: (each.lamports, each.owner, each.data, each.executable) for key, each in writes.items()
    }


def _living(states: dict[bytes, Any]) -> dict[bytes, Any]:
    return {key: state for key, state in states.items() if state[0]}
