"""The manifest of a snapshot archive (`snapshots/<slot>/<slot>`) → the live length of each storage.

It is one bincode value: the bank's fields, the accounts database's, then extras that are not read.
The order and the widths are those of `runtime/src/serde_snapshot.rs`, and of the types it names, as
solana-labs/solana and anza-xyz/agave had them in the years of version 1.2.0 (1.x to 3.x); they were
held against the states of firedancer's `fd_ssmanifest_parser.c`, which reads the same bytes. In all
of them the bank's fields take the same bytes under changing names: epoch stakes became a map that
is always empty, and only the tail grew. They were read as source: no snapshot of a real validator
was at hand to try this on.
"""

from typing import NamedTuple

from chain.units import Slot
from upstream.archives.account_json import LARGEST_ACCOUNT
from upstream.archives.bincode import Bincode
from upstream.archives.compression import Source

# A storage is a file, accounts/<slot>.<id>.
Storage = tuple[Slot, int]

_U64 = 8
_U128 = 16
_HASH = 32
_PUBKEY = 32
_FEE_RATE_GOVERNOR = 4 * _U64 + 1
_RENT = 2 * _U64 + 1
_INFLATION = 6 * _U64
_DELEGATION = _PUBKEY + 4 * _U64
_BANK_HASH_STATS = 5 * _U64
# What an account takes beside its data: lamports, length, owner, executable, rent_epoch.
_ACCOUNT = 2 * _U64 + _PUBKEY + 1 + _U64
_VOTE_ACCOUNT = _PUBKEY + _U64 + _ACCOUNT
_STAKES = 5 * _U64
_EPOCH_STAKES = _U64 + _STAKES + 3 * _U64
_NODE = _PUBKEY + 2 * _U64

# A validator keeps about one storage for each of the last 432,000 slots; some hundred bytes of
# memory go for each.
_MOST_STORAGES = 1 << 21
# A validator keeps 301; some more do no harm.
_MOST_BLOCKHASHES = 10_000
# AppendVec's own limit.
_LARGEST_STORAGE = 1 << 34


class Manifest(NamedTuple):
    """What a manifest says of its chain: blockhashes by their number (of the newest 301 blocks),
    the newest of them, the block's height, the lamports of all accounts, and how many bytes of each
    storage are accounts; what is behind them is nothing.
    """

    blockhashes: dict[int, bytes]
    blockhash: bytes
    block_height: int
    capitalization: int
    lengths: dict[Storage, int]

    @property
    def genesis_hash(self) -> bytes | None:
        """Stands for the blockhash before the first block's, and falls out with the others."""
        return self.blockhashes.get(0)


def read_manifest(manifest: Source, size: int, slot: Slot) -> Manifest:
    """Raises Misfit when the manifest, `size` bytes, is not of the form that is known, or is of
    another slot.
    """
    data = Bincode(manifest, size)
    blockhashes, blockhash = _blockhash_queue(data)
    block_height, capitalization = _pass_bank(data, slot)
    lengths = _storages(data, slot)
    _pass_rest_of_database(data, slot)
    return Manifest(blockhashes, blockhash, block_height, capitalization, lengths)


def _pass_bank(data: Bincode, slot: Slot) -> tuple[int, int]:
    """Behind the queue of blockhashes; the block height and the capitalization."""
    data.skip_list(2 * _U64)  # ancestors
    data.skip(2 * _HASH)  # hash, parent_hash
    parent_slot = data.u64()
    if parent_slot > slot:
        raise data.misfit(f"the parent of slot {slot} is given as {parent_slot}")
    data.skip_list(2 * _U64)  # hard_forks
    data.skip(3 * _U64)  # transaction_count, tick_height, signature_count
    capitalization = data.u64()
    data.skip(_U64)  # max_tick_height
    _pass_option(data, _U64)  # hashes_per_tick
    # ticks_per_slot, ns_per_slot, genesis_creation_time, slots_per_year, accounts_data_len
    data.skip(_U64 + _U128 + 3 * _U64)
    _expect_slot(data, slot, "the bank's slot")
    data.skip(_U64)  # epoch
    block_height = data.u64()
    data.skip(_PUBKEY)  # leader_id
    data.skip(2 * _U64 + _FEE_RATE_GOVERNOR)  # collector_fees, fee_calculator, fee_rate_governor
    data.skip(_U64)  # collected_rent
    _pass_rent_collector(data)
    _pass_epoch_schedule(data)
    data.skip(_INFLATION)
    _pass_stakes(data)
    for each in (_PUBKEY, _PUBKEY, _PUBKEY + _U64):
        data.skip_list(each)  # unused accounts
    for _ in range(data.count(_EPOCH_STAKES)):
        _pass_epoch_stakes(data)
    data.flag()  # is_delta
    return block_height, capitalization


def _blockhash_queue(data: Bincode) -> tuple[dict[int, bytes], bytes]:
    data.skip(_U64)  # last_hash_index
    last_hash = data.take(_HASH) if data.flag() else b""
    count = data.count(_HASH + 3 * _U64)
    if count > _MOST_BLOCKHASHES:
        raise data.misfit(f"{count} recent blockhashes")
    hashes = {}
    for _ in range(count):
        blockhash = data.take(_HASH)
        data.skip(_U64)  # fee_calculator
        hashes[data.u64()] = blockhash
        data.skip(_U64)  # timestamp
    data.skip(_U64)  # max_age
    return hashes, last_hash


def _pass_rent_collector(data: Bincode) -> None:
    data.skip(_U64)  # epoch
    _pass_epoch_schedule(data)
    data.skip(_U64 + _RENT)  # slots_per_year, rent


def _pass_epoch_schedule(data: Bincode) -> None:
    data.skip(2 * _U64)  # slots_per_epoch, leader_schedule_slot_offset
    data.flag()  # warmup
    data.skip(2 * _U64)  # first_normal_epoch, first_normal_slot


def _pass_stakes(data: Bincode) -> None:
    for _ in range(data.count(_VOTE_ACCOUNT)):
        data.skip(_PUBKEY + 2 * _U64)  # pubkey, stake, lamports
        length = data.count(1)
        if length > LARGEST_ACCOUNT:
            raise data.misfit(f"a vote account of {length} bytes")
        data.skip(length + _PUBKEY)  # data, owner
        data.flag()  # executable
        data.skip(_U64)  # rent_epoch
    data.skip_list(_PUBKEY + _DELEGATION)
    data.skip(2 * _U64)  # unused, epoch
    data.skip_list(4 * _U64)  # stake_history: epoch, effective, activating, deactivating


def _pass_epoch_stakes(data: Bincode) -> None:
    data.skip(_U64)  # epoch
    _pass_stakes(data)
    data.skip(_U64)  # total_stake
    for _ in range(data.count(_NODE)):
        data.skip(_PUBKEY)
        data.skip_list(_PUBKEY)  # vote_accounts
        data.skip(_U64)  # total_stake
    data.skip_list(2 * _PUBKEY)  # epoch_authorized_voters


def _storages(data: Bincode, slot: Slot) -> dict[Storage, int]:
    lengths: dict[Storage, int] = {}
    for _ in range(data.count(2 * _U64)):
        of_slot = Slot(data.u64())
        if of_slot > slot:
            raise data.misfit(f"a storage of slot {of_slot}, which comes later")
        for _ in range(data.count(2 * _U64)):
            storage = (of_slot, data.u64())
            length = data.u64()
            if storage in lengths or length > _LARGEST_STORAGE:
                raise data.misfit(f"a storage named twice, or of {length} bytes")
            lengths[storage] = length
            if len(lengths) > _MOST_STORAGES:
                raise data.misfit(f"more than {_MOST_STORAGES} storages")
    return lengths


def _pass_rest_of_database(data: Bincode, slot: Slot) -> None:
    data.skip(_U64)  # once the write version
    _expect_slot(data, slot, "the accounts database's slot")
    data.skip(2 * _HASH + _BANK_HASH_STATS)
    # Two lists of roots, which came later: what ends before them is whole.
    for each in (_U64, _U64 + _HASH):
        if data.left:
            data.skip_list(each)


def _pass_option(data: Bincode, size: int) -> None:
    if data.flag():
        data.skip(size)


def _expect_slot(data: Bincode, slot: Slot, what: str) -> None:
    found = data.u64()
    if found != slot:
        raise data.misfit(f"{what} is given as {found}, not {slot}")
