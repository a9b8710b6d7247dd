"""Lattice hashes: sums in any order, and those that real snapshots carry in their names."""

import hashlib
import struct
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.lattice import (
    LATTICE_BYTES,
    LatticeHash,
    account_lattice,
    bank_hash,
    hard_fork_data,
    lattice_of,
)
from tests.examples import examples
from upstream.archives.snapshots import Snapshot

KEYS = st.binary(min_size=32, max_size=32)
ACCOUNTS = st.builds(
    AccountWrite,
    pubkey=KEYS,
    lamports=st.integers(0, 2**64 - 1),
    owner=KEYS,
    data=st.binary(max_size=300),
    executable=st.booleans(),
    rent_epoch=st.integers(0, 2**64 - 1),
    write_version=st.just(0),
    signature=st.none(),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(ACCOUNTS, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_accounts_does_not_matter(accounts, random) -> None:
    shuffled = list(accounts)
    random.shuffle(shuffled)
    assert LatticeHash.of(accounts) == LatticeHash.of(shuffled)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(ACCOUNTS, max_size=6), st.lists(ACCOUNTS, max_size=6))
def test_what_is_added_can_be_taken_away(kept, gone) -> None:
    both = LatticeHash.of(kept + gone)
    for account in gone:
        both.take(lattice_of(account))
    assert both == LatticeHash.of(kept)
    assert LatticeHash.of(kept + gone) - LatticeHash.of(gone) == LatticeHash.of(kept)
    assert LatticeHash.of(kept) + LatticeHash.of(gone) == LatticeHash.of(kept + gone)


@settings(max_examples=examples(100), deadline=None)
@given(ACCOUNTS, st.integers(0, 2**64 - 1))
def test_a_lane_is_a_u16_of_the_hash_drawn_out(account, rent_epoch) -> None:
    found = lattice_of(account._replace(rent_epoch=rent_epoch))
    if account.lamports == 0:
        assert found == bytes(LATTICE_BYTES)
        return
    text = (
        struct.pack("<Q", account.lamports)
        + account.data
        + bytes([account.executable])
        + account.owner
        + account.pubkey
    )
    assert found == blake3(text).digest(length=2048)
    total = LatticeHash.of([account, account])
    lanes = struct.unpack("<1024H", found)
    assert bytes(total) == struct.pack("<1024H", *((2 * lane) % 65536 for lane in lanes))
    assert total.checksum == blake3(bytes(total)).digest()


@settings(max_examples=examples(100), deadline=None)
@given(ACCOUNTS.filter(lambda account: account.lamports > 0), st.data())
def test_any_bit_of_an_account_changes_its_hash(account, data) -> None:
    field = data.draw(st.sampled_from(["pubkey", "owner", "data", "lamports", "executable"]))
    value = getattr(account, field)
    if field == "executable":
        other = not value
    elif field == "lamports":
        other = value ^ (1 << data.draw(st.integers(0, 63)))
    else:
        place = data.draw(st.integers(0, max(0, len(value) * 8 - 1)))
        whole = int.from_bytes(value, "big") ^ (1 << place)
        other = whole.to_bytes(max(1, len(value)), "big")
    assert lattice_of(account._replace(**{field: other})) != lattice_of(account)


def test_a_copy_is_its_own() -> None:
    one = account_lattice(bytes(32), 1, bytes(32), b"", executable=False)
    first = LatticeHash(one)
    second = first.copy()
    second.add(one)
    assert bytes(first) == one
    assert first != second
    with pytest.raises(ValueError, match="2048"):
        LatticeHash(b"\0")


def test_a_banks_hash() -> None:
    parent, blockhash, accounts = bytes(range(32)), bytes([7] * 32), bytes([9] * 2048)
    head = hashlib.sha256(parent + (5).to_bytes(8, "little") + blockhash).digest()
    plain = hashlib.sha256(head + accounts).digest()
    assert bank_hash(parent, 5, blockhash, accounts) == plain
    fork = hard_fork_data([(10, 1), (12, 2), (20, 1)], 12, 9)
    assert fork == (3).to_bytes(8, "little")
    assert hard_fork_data([(10, 1)], 12, 10) is None
    forked = hashlib.sha256(plain + (3).to_bytes(8, "little")).digest()
    assert bank_hash(parent, 5, blockhash, accounts, hard_fork=fork) == forked


def _newest(folder: Path, *names: str) -> dict[bytes, tuple[int, AccountWrite]]:
    found: dict[bytes, tuple[int, AccountWrite]] = {}
    for name in names:
        (path,) = folder.glob(name)
        with Snapshot(path) as snapshot:
            for slot, account in snapshot:
                if account.pubkey not in found or found[account.pubkey][0] <= slot:
                    found[account.pubkey] = (slot, account)
    return found


@pytest.mark.parametrize(
    "names", [("snapshot-1-*",), ("snapshot-1-*", "incremental-snapshot-1-4-*")]
)
def test_real_snapshots_are_named_by_their_accounts(fixtures: Path, names) -> None:
    folder = fixtures / "snapshots"
    if not folder.is_dir():
        pytest.skip(f"the real snapshots are not here: {folder}")
    accounts = [account for _, account in _newest(folder, *names).values()]
    (last,) = folder.glob(names[-1])
    named = last.name.removesuffix(".tar.zst").rpartition("-")[2]
    assert Hash(LatticeHash.of(accounts).checksum) == Hash.from_string(named)
