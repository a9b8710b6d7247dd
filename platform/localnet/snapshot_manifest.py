"""The manifest of a snapshot that localnet writes: its finalized bank, as a validator has it.

One bincode value: the bank's fields, the accounts database's, then extras, with the order and the
widths of `runtime/src/serde_snapshot.rs` (upstream.archives.snapshot_manifest reads the same). What
localnet does not have (rent that is collected, inflation) is written as zeros. Storages are not
named, as Agave 4.4 does not: each ends where its file ends.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import U64_MAX, Slot
from localnet import sysvars
from localnet.bank import BLOCKHASH_AGE, Bank
from localnet.genesis import STAKE_LAMPORTS
from localnet.leaders import Schedule
from localnet.votes import vote_account

TICKS_PER_SLOT = 64
_SECONDS_PER_YEAR = 365.242_199 * 24 * 60 * 60
_WARMUP_RATE = 0.25


class Written(NamedTuple):
    """What a manifest says beside what its bank does: lamports of all accounts together and the
    bytes of their data.
    """

    capitalization: int
    data_bytes: int


def manifest(
    bank: Bank, schedule: Schedule, genesis_hash: Hash, slot_seconds: float, written: Written
) -> bytes:
    """The file `snapshots/<slot>/<slot>` of a finalized bank."""
    return b"".join(
        (
            _bank(bank, schedule, genesis_hash, slot_seconds, written),
            _database(bank.slot),
            _extras(bank),
        )
    )


def status_cache(slot: Slot) -> bytes:
    """The file `snapshots/status_cache`: no transaction of before is remembered."""
    return _list([_u64(slot) + b"\x01" + _list([])])


def _bank(
    bank: Bank, schedule: Schedule, genesis_hash: Hash, slot_seconds: float, written: Written
) -> bytes:
    parent_slot, parent_hash = _parent(bank)
    years = _SECONDS_PER_YEAR / slot_seconds
    ticks = (bank.slot + 1) * TICKS_PER_SLOT
    return b"".join(
        (
            _blockhashes(bank, genesis_hash),
            _list(_u64(each, 0) for each in sorted({parent_slot, bank.slot})),  # ancestors
            bank.bank_hash + parent_hash + _u64(parent_slot),
            _list([]),  # hard forks
            _u64(bank.transaction_count, ticks, bank.signature_count, written.capitalization),
            _u64(ticks),
            _option(None),  # hashes per tick
            _u64(TICKS_PER_SLOT) + int(slot_seconds * 1e9).to_bytes(16, "little"),
            struct.pack("<qdQ", bank.block_time, years, written.data_bytes),
            _u64(bank.slot, bank.epoch, bank.block_height) + bytes(bank.leader.identity.pubkey()),
            _u64(0, sysvars.LAMPORTS_PER_SIGNATURE),  # collected fees, fee calculator
            _u64(10_000, 20_000, 5_000, 100_000) + b"\x32",  # fee rate governor
            _u64(0),  # collected rent
            _u64(bank.epoch) + sysvars.epoch_schedule(schedule.epoch_slots),
            struct.pack("<d", years) + sysvars.rent(),
            sysvars.epoch_schedule(schedule.epoch_slots),
            struct.pack("<6d", 0, 0, 0, 0, 0, 0),  # inflation
            _stakes(bank, bank.epoch, with_credits=False),
            _list([]) + _list([]) + _list([]),  # unused accounts
            _list([]),  # epoch stakes, which stand in the extras
            b"\x01",  # is_delta
        )
    )


def _parent(bank: Bank) -> tuple[Slot, bytes]:
    """The parent's slot and hash: the newest of SlotHashes. The genesis bank is its own."""
    account = bank.load(addresses.SLOT_HASHES)
    data = b"" if account is None else bytes(account.data)
    if not data or not int.from_bytes(data[:8], "little"):
        return bank.slot, bytes(32)
    return Slot(int.from_bytes(data[8:16], "little")), data[16:48]


def _blockhashes(bank: Bank, genesis_hash: Hash) -> bytes:
    """Hashes by their number: genesis is 0, a block's is one more than its height."""
    newest = bank.block_height + 1
    recent = [bytes(each) for each in (*bank.blockhashes, bank.blockhash)]
    numbered = dict(zip(range(newest - len(recent) + 1, newest + 1), recent, strict=True))
    if newest <= BLOCKHASH_AGE:
        numbered[0] = bytes(genesis_hash)
    hashes = (
        each + _u64(sysvars.LAMPORTS_PER_SIGNATURE, number) + struct.pack("<q", bank.block_time)
        for number, each in numbered.items()
        if number >= 0
    )
    return _u64(newest) + _option(recent[-1]) + _list(hashes) + _u64(2 * BLOCKHASH_AGE)


def _stakes(bank: Bank, epoch: int, *, with_credits: bool) -> bytes:
    return b"".join(
        (
            _list(
                _vote_account(bank, each.vote)
                for each in bank.schedule.validators
                if bank.load(each.vote)
            ),
            _list(
                bytes(each.stake)
                + bytes(each.vote)
                + struct.pack("<QQQd", STAKE_LAMPORTS, U64_MAX, U64_MAX, _WARMUP_RATE)
                + (_u64(0) if with_credits else b"")
                for each in bank.schedule.validators
            ),
            _u64(0, epoch),
            _stake_history(bank),
        )
    )


def _vote_account(bank: Bank, key: Pubkey) -> bytes:
    account = bank.load(key)
    assert account is not None
    return bytes(key) + _u64(STAKE_LAMPORTS) + _account(account)


def _account(account: Account) -> bytes:
    data = bytes(account.data)
    head = _u64(account.lamports, len(data)) + data + bytes(account.owner)
    return head + bytes([account.executable]) + _u64(account.rent_epoch)


def _stake_history(bank: Bank) -> bytes:
    account = bank.load(addresses.STAKE_HISTORY)
    data = b"" if account is None else bytes(account.data)
    return data[: 8 + 32 * int.from_bytes(data[:8], "little")] if data else _u64(0)


def _database(slot: Slot) -> bytes:
    # No storages, as since Agave 4.4; delta hash and hash of before lattice hashes, statistics, and
    # two lists of roots.
    return _list([]) + _u64(0, slot) + bytes(64) + bytes(40) + _list([]) + _list([])


def _extras(bank: Bank) -> bytes:
    return b"".join(
        (
            _u64(sysvars.LAMPORTS_PER_SIGNATURE),
            _option(None),  # of an increment, before lattice hashes
            _option(None),  # the epoch's accounts hash, likewise
            _list(_epoch_stakes(bank, epoch) for epoch in (bank.epoch, bank.epoch + 1)),
            _option(bank.accounts_lattice),
            _option(None),  # block id
        )
    )


def _epoch_stakes(bank: Bank, epoch: int) -> bytes:
    voting = [each for each in bank.schedule.validators if bank.load(each.vote)]
    nodes = (
        bytes(each.identity.pubkey()) + _list([bytes(each.vote)]) + _u64(STAKE_LAMPORTS)
        for each in voting
    )
    voters = []
    for each in voting:
        info = vote_account(bank, each.vote)
        if info is not None and info["authorizedVoters"]:
            voter = Pubkey.from_string(info["authorizedVoters"][-1]["authorizedVoter"])
            voters.append(bytes(each.vote) + bytes(voter))
    return b"".join(
        (
            _u64(epoch) + struct.pack("<I", 0),
            _stakes(bank, epoch, with_credits=True),
            _u64(STAKE_LAMPORTS * len(voting)) + _list(nodes) + _list(voters),
        )
    )


def _u64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def _list(members: Iterable[bytes]) -> bytes:
    parts = list(members)
    return _u64(len(parts)) + b"".join(parts)


def _option(value: bytes | None) -> bytes:
    return b"\x00" if value is None else b"\x01" + value
