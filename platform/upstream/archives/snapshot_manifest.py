"""The manifest of a snapshot archive (`snapshots/<slot>/<slot>`): its bank, storages' lengths.

It is one bincode value: the bank's fields, the accounts database's, then extras; each age
wrote some more. The order and the widths are those of `runtime/src/serde_snapshot.rs`, and of the
types it names, as solana-labs/solana and anza-xyz/agave had them in the years of version 1.2.0 (1.x
to 4.x); they were held against the states of firedancer's `fd_ssmanifest_parser.c`, which reads the
same bytes. In all of them the bank's fields take the same bytes under changing names: epoch stakes
became a map that is always empty, so did the storages with Agave 4.4, and only the tail grew.
"""

from typing import NamedTuple

from chain.epochs import EpochSchedule
from chain.lattice import LATTICE_BYTES
from chain.units import Slot
from upstream.archives.bincode import Bincode, Misfit
from upstream.archives.compression import Source
from upstream.archives.manifest_stakes import (
    LEAST_EPOCH_STAKES,
    EpochStakes,
    read_epoch_stakes,
    read_stakes,
)

# A storage is a file, accounts/<slot>.<id>.
Storage = tuple[Slot, int]

_U64 = 8
_U128 = 16
_HASH = 32
_PUBKEY = 32
_FEE_RATE_GOVERNOR = 4 * _U64 + 1
_RENT = 2 * _U64 + 1
_INFLATION = 6 * _U64
_BANK_HASH_STATS = 5 * _U64
# Of the full snapshot below an incremental one: slot, hash, capitalization, and two of the other.
_PERSISTENCE = 3 * _U64 + 2 * _HASH

# A validator keeps about one storage for each of the last 432,000 slots; some hundred bytes of
# memory go for each.
_MOST_STORAGES = 1 << 21
# A validator keeps 301; some more do no harm.
_MOST_BLOCKHASHES = 10_000
# A cluster has had a handful.
_MOST_HARD_FORKS = 1_000
# A validator keeps those of six epochs.
_MOST_EPOCHS = 64
# AppendVec's own limit.
_LARGEST_STORAGE = 1 << 34


class Bank(NamedTuple):
    """The bank of the snapshot's slot: its hash and what it is made of. `hard_forks` are pairs of
    slot and count; `delta_hash` is of the accounts written in the slot, which went into the hash
    before lattice hashes did, and zeros since. `schedule` divides slots into epochs.
    """

    hash: bytes
    parent_hash: bytes
    parent_slot: Slot
    hard_forks: tuple[tuple[int, int], ...]
    signature_count: int
    block_height: int
    capitalization: int
    delta_hash: bytes = bytes(_HASH)
    schedule: EpochSchedule = EpochSchedule()


class Manifest(NamedTuple):
    """What a manifest says of its chain: blockhashes by their number (of the newest 301 blocks),
    the newest of them, the bank, how many bytes of each storage are accounts (what is behind them
    is nothing; empty since Agave 4.4), the stakes of the epochs that it knows, lowest first, and
    the lattice hash of all accounts, 2,048 bytes, None where it has none. `tail_fault` says why
    what is behind the storages could not be followed: then it has no lattice hash, and stakes
    perhaps.
    """

    blockhashes: dict[int, bytes]
    blockhash: bytes
    bank: Bank
    lengths: dict[Storage, int]
    epoch_stakes: tuple[EpochStakes, ...] = ()
    lattice: bytes | None = None
    tail_fault: str | None = None

    @property
    def genesis_hash(self) -> bytes | None:
        """Stands for the blockhash before the first block's, and falls out with the others."""
        return self.blockhashes.get(0)


def read_manifest(manifest: Source, size: int, slot: Slot) -> Manifest:
    """Raises Misfit when the manifest, `size` bytes, is not of the form that is known, or is of
    another slot; what is behind the accounts database may be of any.
    """
    data = Bincode(manifest, size)
    blockhashes, blockhash = _blockhash_queue(data)
    bank, old_stakes = _bank(data, slot)
    lengths = _storages(data, slot)
    delta_hash = _rest_of_database(data, slot)
    try:
        stakes, lattice = _extras(data)
        fault = None
    except Misfit as misfit:
        stakes, lattice, fault = (), None, str(misfit)
    by_epoch = {each.epoch: each for each in (*old_stakes, *stakes)}
    return Manifest(
        blockhashes,
        blockhash,
        bank._replace(delta_hash=delta_hash),
        lengths,
        tuple(by_epoch[epoch] for epoch in sorted(by_epoch)),
        lattice,
        fault,
    )


def _bank(data: Bincode, slot: Slot) -> tuple[Bank, list[EpochStakes]]:
    """Behind the queue of blockhashes."""
    data.skip_list(2 * _U64)  # ancestors
    bank_hash, parent_hash = data.take(_HASH), data.take(_HASH)
    parent_slot = data.u64()
    if parent_slot > slot:
        raise data.misfit(f"the parent of slot {slot} is given as {parent_slot}")
    count = data.count(2 * _U64)
    if count > _MOST_HARD_FORKS:
        raise data.misfit(f"{count} hard forks")
    hard_forks = tuple((data.u64(), data.u64()) for _ in range(count))
    data.skip(2 * _U64)  # transaction_count, tick_height
    signature_count, capitalization = data.u64(), data.u64()
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
    data.skip(_U64)  # the rent collector's epoch
    _epoch_schedule(data)
    data.skip(_U64 + _RENT)  # its slots_per_year, rent
    schedule = _epoch_schedule(data)
    data.skip(_INFLATION)
    read_stakes(data)
    for each in (_PUBKEY, _PUBKEY, _PUBKEY + _U64):
        data.skip_list(each)  # unused accounts
    epochs = range(_epochs(data))
    stakes = [read_epoch_stakes(data, versioned=False) for _ in epochs]
    data.flag()  # is_delta
    bank = Bank(
        bank_hash,
        parent_hash,
        Slot(parent_slot),
        hard_forks,
        signature_count,
        block_height,
        capitalization,
        schedule=schedule,
    )
    return bank, stakes


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


def _epoch_schedule(data: Bincode) -> EpochSchedule:
    slots_per_epoch = data.u64()
    data.skip(_U64)  # leader_schedule_slot_offset
    data.flag()  # warmup
    return EpochSchedule(slots_per_epoch, data.u64(), data.u64())


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


def _rest_of_database(data: Bincode, slot: Slot) -> bytes:
    """The hash of the accounts written in the slot."""
    data.skip(_U64)  # once the write version
    _expect_slot(data, slot, "the accounts database's slot")
    delta_hash = data.take(_HASH)
    data.skip(_HASH + _BANK_HASH_STATS)
    # Two lists of roots, which came later: what ends before them is whole.
    for each in (_U64, _U64 + _HASH):
        if data.left:
            data.skip_list(each)
    return delta_hash


def _extras(data: Bincode) -> tuple[tuple[EpochStakes, ...], bytes | None]:
    """Stakes and the lattice hash. A file ends behind any of the extras: each age wrote more."""
    stakes: tuple[EpochStakes, ...] = ()
    if data.left:
        data.skip(_U64)  # lamports_per_signature
    for size in (_PERSISTENCE, _HASH):  # incremental_snapshot_persistence, epoch_accounts_hash
        if data.left:
            _pass_option(data, size)
    if data.left:
        epochs = range(_epochs(data))
        stakes = tuple(read_epoch_stakes(data, versioned=True) for _ in epochs)
    lattice = data.take(LATTICE_BYTES) if data.left and data.flag() else None
    # Behind it the block's id, and what later ages will write.
    return stakes, lattice


def _epochs(data: Bincode) -> int:
    count = data.count(LEAST_EPOCH_STAKES)
    if count > _MOST_EPOCHS:
        raise data.misfit(f"the stakes of {count} epochs")
    return count


def _pass_option(data: Bincode, size: int) -> None:
    if data.flag():
        data.skip(size)


def _expect_slot(data: Bincode, slot: Slot, what: str) -> None:
    found = data.u64()
    if found != slot:
        raise data.misfit(f"{what} is given as {found}, not {slot}")
