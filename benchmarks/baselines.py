"""Importing a baseline with and without the sum of its accounts, the sum read back from the table
instead, and the check of proofs of slots.
"""

import hashlib
import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from benchmarks.archive import MIX
from benchmarks.service import database
from chain.accounts import AccountWrite
from chain.units import U64_MAX, Slot

ACCOUNTS = int(os.environ.get("BASELINE_BENCH", "100000"))
# Of the stored states these have a newer one above them.
SUPERSEDED = 0.1
_VOTES = 1_000
_SLOT = Slot(1_000)
_NOISE = random.Random(7).randbytes(1 << 20)

Stored = tuple[Slot, AccountWrite]


def main() -> None:
    with database():
        imports()
    check_proofs()


def imports() -> None:
    """Accounts a second of an import, and what the sum adds to its CPU."""
    from django.db import transaction

    from chain.lattice import LatticeHash, lattice_of
    from rewind.baselines.services.baseline import record_snapshot
    from rewind.baselines.store.snapshots import Staged, Staging

    rows = list(stored())
    print(
        f"baselines: {ACCOUNTS:,} accounts in {len(rows):,} stored states of"
        f" {sum(len(each.data) for _, each in rows) / len(rows):,.0f} B",
        flush=True,
    )
    for title, again in (("without the sum", None), ("with it", lambda: [a for _, a in rows])):
        cpu, clock = time.process_time(), time.perf_counter()
        with transaction.atomic():
            told = record_snapshot(
                rows,
                slot=lambda: _SLOT,
                whole=lambda: True,
                source="bench",
                now=datetime.now(UTC),
                again=again,
            )
            transaction.set_rollback(True)
        busy, wall = time.process_time() - cpu, time.perf_counter() - clock
        if told.accounts != ACCOUNTS:
            raise SystemExit(f"{told.accounts} accounts were imported")
        print(
            f"baselines: {title}: {len(rows) / wall:,.0f} states a second,"
            f" {1e6 * busy / len(rows):.1f} µs of our CPU each",
            flush=True,
        )
    with Staging() as staging, transaction.atomic():
        staging.fill(Staged(slot, True, account) for slot, account in rows)
        for title, states in (("newest", staging.states), ("superseded", staging.superseded)):
            clock, count, total = time.perf_counter(), 0, LatticeHash()
            for state in states():
                total.add(lattice_of(state))
                count += 1
            took = time.perf_counter() - clock
            print(
                f"baselines: {title} states summed from the table: {count:,} in {took:.2f} s,"
                f" {1e6 * took / len(rows):.1f} µs for each stored state",
                flush=True,
            )


def stored() -> Iterator[Stored]:
    """Account data of mainnet's sizes (benchmarks/archive.py)."""
    chance = random.Random(11)
    kinds, weights = [sizes for _, sizes, _ in MIX], [share for share, *_ in MIX]
    for number in range(ACCOUNTS):
        size = chance.choice(chance.choices(kinds, weights)[0])
        pubkey = hashlib.sha256(number.to_bytes(8)).digest()
        at = chance.randrange(len(_NOISE) - size)
        data = _NOISE[at : at + size]
        for slot in (1, 2) if chance.random() < SUPERSEDED else (2,):
            owner = bytes([number % 50]) * 32
            yield Slot(slot), AccountWrite(pubkey, slot, owner, data, False, U64_MAX, 0, None)


def check_proofs() -> None:
    """Milliseconds to read and check the document of a slot with many votes."""
    from chain.proof_check import check
    from chain.slot_proof import read_proofs

    text = document()
    clock = time.perf_counter()
    proofs = read_proofs(text)
    read = time.perf_counter() - clock
    verdict = check(proofs)
    took = time.perf_counter() - clock
    if not verdict.is_voted:
        raise SystemExit("the document does not hold")
    print(
        f"baselines: a proof with {_VOTES:,} votes, {len(text) / 1e6:.2f} MB: {1e3 * took:.0f} ms,"
        f" {1e3 * read:.0f} of them to read it",
        flush=True,
    )


def document() -> bytes:
    """The proof of a slot for which all accounts voted."""
    import json

    from solders.instruction import AccountMeta, Instruction
    from solders.transaction import Transaction

    from chain.addresses import VOTE
    from chain.encodings import b64encode
    from chain.lattice import LatticeHash, bank_hash
    from localnet.votes import Tower, tower_sync

    lattice, parent, blockhash = bytes(2_048), bytes(32), bytes([7]) * 32
    own = bank_hash(parent, _VOTES, blockhash, lattice)
    tower = Tower([[_SLOT - each, each + 1] for each in range(30, -1, -1)], _SLOT - 40)
    data = tower_sync(tower, own, 0)  # type: ignore[arg-type]
    votes = []
    for number in range(_VOTES):
        voter = Keypair.from_seed(number.to_bytes(32))
        account = Pubkey.from_bytes(hashlib.sha256(number.to_bytes(8)).digest())
        metas = [AccountMeta(account, False, True), AccountMeta(voter.pubkey(), True, False)]
        signed = Transaction.new_signed_with_payer(
            [Instruction(VOTE, data, metas)], voter.pubkey(), [voter], Hash(blockhash)
        )
        votes.append(
            {
                "votePubkey": str(account),
                "signature": str(signed.signatures[0]),
                "slot": _SLOT + 1,
                "transaction": b64encode(bytes(signed)),
                "stake": 5,
                "authorizedVoter": str(voter.pubkey()),
            }
        )
    return json.dumps(
        {
            "slot": _SLOT,
            "bankHash": str(Hash(own)),
            "parentSlot": _SLOT - 1,
            "parentBankHash": str(Hash(parent)),
            "signatureCount": _VOTES,
            "blockhash": str(Hash(blockhash)),
            "accountsLatticeHash": b64encode(lattice),
            "accountsLatticeChecksum": str(Hash(LatticeHash(lattice).checksum)),
            "totalStake": 5 * _VOTES,
            "votes": votes,
        }
    ).encode()


if __name__ == "__main__":
    main()
