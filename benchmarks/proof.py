"""The running proof at the rate of the made stream: what it adds to recording a slot, what its own
step costs a write, how far it lags, and the memory of accounts' hashes.
"""

import hashlib
import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.archive import MIX
from benchmarks.service import database

SLOTS = int(os.environ.get("PROOF_BENCH", "60"))
ACCOUNTS = 60_000
# Of a slot of 0.4 s: as many votes as mainnet's validators cast, and with their accounts' writes
# 12,250 writes a second.
VOTES, OTHERS = int(os.environ.get("PROOF_BENCH_VOTES", "1000")), 600
WRITES = 4_900 - VOTES
_NOISE = random.Random(7).randbytes(1 << 20)
_VOTE = "Vote111111111111111111111111111111111111111"
_OWNER = bytes([9]) * 32


def main() -> None:
    with database():
        memory()
        run()


def run() -> None:
    from solders.pubkey import Pubkey

    from rewind.proof.services import proof_records, proving
    from rewind.recording.services import filters
    from rewind.recording.services.recording import record_slots

    filters.filter_owner(Pubkey.from_string(_VOTE), filtered=True)
    keep_stakes()
    policy = proving.Policy(trusts_node=True)
    spent = noted = proved = 0.0
    note = proof_records.note

    def timed(*arguments: Any) -> None:
        nonlocal noted
        began = time.process_time()
        note(*arguments)
        noted += time.process_time() - began

    writes = 0
    lags = list[float]()
    proof_records.note = timed  # type: ignore[assignment]
    try:
        for record in _records():
            if record.slot == 1:  # slot 0 has all accounts
                spent = noted = proved = 0.0
                writes, lags = 0, []
            writes += len(record.account_writes or ())
            began = time.process_time()
            record_slots([record], source="bench", now=datetime.now(UTC))
            spent += time.process_time() - began
            began, clock = time.process_time(), time.perf_counter()
            while proving.prove_step(policy):
                pass
            proved += time.process_time() - began
            lags.append(time.perf_counter() - clock)
    finally:
        proof_records.note = note
    lags.sort()
    rate = 2.5 * writes / (SLOTS - 1)
    print(
        f"proof: {SLOTS} slots, {writes:,} writes, {VOTES} votes a slot: recording"
        f" {1e6 * spent / writes:.1f} µs of our CPU a write, {1e6 * noted / writes:.1f} of them for"
        f" the proof; its step {1e6 * proved / writes:.1f} µs a write, p50"
        f" {1e3 * lags[len(lags) // 2]:.0f} ms a slot, most {1e3 * lags[-1]:.0f}",
        flush=True,
    )
    print(
        f"proof: at {rate:,.0f} writes a second {100 * noted / writes * rate:.0f} % of a core in"
        f" ingest and {100 * proved / writes * rate:.0f} % in the worker, without PostgreSQL's",
        flush=True,
    )


def _records() -> Iterator[Any]:
    """Banks that each vote for the one below by its true hash; the first has all accounts."""
    from solders.hash import Hash
    from solders.keypair import Keypair

    from chain.blocks import SlotRecord, TransactionRecord
    from chain.lattice import LatticeHash, bank_hash, lattice_of
    from chain.units import Slot

    chance = random.Random(11)
    voters = [Keypair.from_seed(number.to_bytes(32)) for number in range(VOTES)]
    kinds, weights = [sizes for _, sizes, _ in MIX], [share for share, *_ in MIX]
    sizes = [chance.choice(chance.choices(kinds, weights)[0]) for _ in range(ACCOUNTS)]
    ranks = [1 / (rank + 1) for rank in range(ACCOUNTS)]
    chance.shuffle(ranks)
    parent, total, hashes = bytes(32), LatticeHash(), dict[bytes, bytes]()
    for slot in range(SLOTS):
        plain = [
            b"\x01" + slot.to_bytes(32) + index.to_bytes(32) + b"\x01\0\0\x01" + bytes(65)
            for index in range(OTHERS)
        ]
        votes = [_vote(each, slot, parent) for each in voters] if slot else []
        chosen = range(ACCOUNTS) if not slot else chance.choices(range(ACCOUNTS), ranks, k=WRITES)
        writes = [
            _write(account, sizes[account], chance, version, plain[version % OTHERS][1:65])
            for version, account in enumerate(chosen)
        ]
        writes += [
            _vote_write(voter, slot, data[1:65])
            for voter, data in zip(voters, votes, strict=bool(slot))
        ]
        # The last transaction of an account counts, not the last write.
        places = {data[1:65]: at for at, data in enumerate([*plain, *votes])}
        last = {
            each.pubkey: each
            for each in sorted(writes, key=lambda e: (places[e.signature], e.write_version))
        }
        for key, each in last.items():
            if key in hashes:
                total.take(hashes[key])
            hashes[key] = lattice_of(each)
            total.add(hashes[key])
        own = hashlib.sha256(slot.to_bytes(8)).digest()
        parent = bank_hash(parent, OTHERS + len(votes), own, bytes(total))
        yield SlotRecord(
            slot=Slot(slot),
            parent_slot=Slot(max(slot - 1, 0)),
            blockhash=str(Hash(own)),
            previous_blockhash=str(Hash(own)),
            block_time=None,
            block_height=None,
            transactions=[TransactionRecord(data, None) for data in [*plain, *votes]],
            account_writes=writes,
        )


def _write(account: int, size: int, chance: random.Random, version: int, by: bytes) -> Any:
    from chain.accounts import AccountWrite

    at = chance.randrange(len(_NOISE) - size)
    pubkey = hashlib.sha256(account.to_bytes(8)).digest()
    data = _NOISE[at : at + size]
    return AccountWrite(pubkey, version + 1, _OWNER, data, False, 0, version, by)


def _vote_write(voter: Any, slot: int, by: bytes) -> Any:
    """A vote account: 3,762 bytes that change a little, and name their voter."""
    from solders.pubkey import Pubkey

    from chain.accounts import AccountWrite

    head = (2).to_bytes(4, "little") + bytes(65)  # the third layout, the node, the withdrawer
    tower = (31).to_bytes(8, "little") + (slot.to_bytes(8) * 52)[: 31 * 13] + b"\0"
    named = (1).to_bytes(8, "little") + bytes(8) + bytes(voter.pubkey())  # since epoch 0
    data = (head + tower + named).ljust(3_762, b"\0")
    owner = bytes(Pubkey.from_string(_VOTE))
    pubkey = hashlib.sha256(b"vote" + bytes(voter.pubkey())).digest()
    return AccountWrite(pubkey, 27_000_000, owner, data, False, 0, 10_000, by)


def keep_stakes() -> None:
    """Of all vote accounts, as a node has them."""
    from solders.keypair import Keypair

    from rewind.proof.store import epoch_stakes

    voters = [Keypair.from_seed(number.to_bytes(32)).pubkey() for number in range(VOTES)]
    stakes = {
        hashlib.sha256(b"vote" + bytes(voter)).digest(): epoch_stakes.Stake(10**9 + number, None)
        for number, voter in enumerate(voters)
    }
    epoch_stakes.keep(epoch_stakes.StakeOrigin(), 0, stakes)


def _vote(voter: Any, slot: int, parent: bytes) -> bytes:
    from solders.hash import Hash
    from solders.instruction import AccountMeta, Instruction
    from solders.pubkey import Pubkey
    from solders.transaction import Transaction

    from chain.addresses import VOTE
    from chain.units import UnixTimestamp
    from localnet.votes import Tower, tower_sync

    below = slot - 1
    tower = Tower([[max(below - each, 0), each + 1] for each in range(min(30, below), -1, -1)], 0)
    data = tower_sync(tower, parent, UnixTimestamp(slot))
    account = Pubkey.from_bytes(hashlib.sha256(b"vote" + bytes(voter.pubkey())).digest())
    metas = [AccountMeta(account, False, True), AccountMeta(voter.pubkey(), True, False)]
    instruction = Instruction(VOTE, data, metas)
    signed = Transaction.new_signed_with_payer(
        [instruction], voter.pubkey(), [voter], Hash(slot.to_bytes(32))
    )
    return bytes(signed)


def memory() -> None:
    """Of the hashes that a process keeps."""
    from rewind.proof.services.near_accounts import NearAccounts

    before = _resident()
    near = NearAccounts(0, 0, 128 << 20)
    for number in range(100):
        near.follow(number, {os.urandom(32): os.urandom(2_048) for _ in range(1_000)}, [])
    used = _resident() - before
    print(
        f"proof: 128 MB of hashes are {len(near):,} accounts, {used / 1e6:.0f} MB resident",
        flush=True,
    )


def _resident() -> int:
    """Bytes of this process."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
