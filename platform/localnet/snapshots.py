"""Snapshot archives of the finalized chain, as a validator writes them: full, and incremental over
a full one. In tar.zst: `version`, `snapshots/`, and one storage of accounts.
"""

import io
import re
import struct
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.lattice import LatticeHash
from chain.units import Slot
from localnet.errors import BadParams
from localnet.ledger import Ledger
from localnet.snapshot_manifest import Written, manifest, status_cache

_VERSION = b"1.2.0"
_FULL = re.compile(r"snapshot-([0-9]+)-[1-9A-HJ-NP-Za-km-z]+\.tar\.zst")
_INCREMENTAL = re.compile(r"incremental-snapshot-([0-9]+)-([0-9]+)-[1-9A-HJ-NP-Za-km-z]+\.tar\.zst")
# write_version, data_len, pubkey, lamports, rent_epoch, owner, executable, padding, hash
_HEAD = struct.Struct("<QQ32sQQ32sB7x32x")
# The one storage of a full archive, and of an increment.
_FULL_STORAGE, _INCREMENTAL_STORAGE = 0, 1


class Snapshot(NamedTuple):
    """An archive that was written: its hash is the checksum of the lattice hash of all accounts."""

    path: Path
    slot: Slot
    hash: Hash
    base_slot: Slot | None


class NoSnapshot(BadParams):
    """What is asked for cannot be written."""


def write_snapshot(ledger: Ledger, folder: Path, base_slot: int | None = None) -> Snapshot:
    """The newest finalized block's, over the full snapshot of the base slot where one is given.
    Raises NoSnapshot, OSError.
    """
    bank = ledger.root
    if not bank.accounts_lattice:
        raise NoSnapshot("the chain is from before lattice hashes: begin a new one (--reset)")
    everything = dict(bank.everything())
    if base_slot is None:
        chosen: Iterable[tuple[Pubkey, Account]] = everything.items()
        number = _FULL_STORAGE
    else:
        _require_full(folder, base_slot)
        chosen = _written_since(ledger, Slot(base_slot), everything)
        number = _INCREMENTAL_STORAGE
    storage = b"".join(_entry(key, account) for key, account in chosen)
    declared = manifest(
        bank,
        ledger.schedule,
        ledger.genesis_hash,
        ledger.slot_seconds,
        Written(
            sum(each.lamports for each in everything.values()),
            sum(len(each.data) for each in everything.values()),
        ),
    )
    checksum = Hash(LatticeHash(bank.accounts_lattice).checksum)
    start = "snapshot" if base_slot is None else f"incremental-snapshot-{base_slot}"
    path = folder / f"{start}-{bank.slot}-{checksum}.tar.zst"
    members = [
        ("version", _VERSION),
        (f"snapshots/{bank.slot}/{bank.slot}", declared),
        ("snapshots/status_cache", status_cache(bank.slot)),
        (f"accounts/{bank.slot}.{number}", storage),
    ]
    _write(path, members)
    return Snapshot(path, bank.slot, checksum, None if base_slot is None else Slot(base_slot))


def newest_slots(folder: Path) -> tuple[Slot, Slot | None] | None:
    """The slots of the newest full snapshot and of the newest incremental one over it; None without
    a full one.
    """
    full = max((int(found[1]) for found in _named(folder, _FULL)), default=None)
    if full is None:
        return None
    over = [int(found[2]) for found in _named(folder, _INCREMENTAL) if int(found[1]) == full]
    return Slot(full), Slot(max(over)) if over else None


def _named(folder: Path, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return [found for name in names if (found := pattern.fullmatch(name))]


def _require_full(folder: Path, slot: int) -> None:
    if not any(int(found[1]) == slot for found in _named(folder, _FULL)):
        raise NoSnapshot(f"there is no full snapshot of slot {slot}")


def _written_since(
    ledger: Ledger, base: Slot, everything: dict[Pubkey, Account]
) -> Iterator[tuple[Pubkey, Account]]:
    """What finalized blocks above the base wrote, closed accounts without lamports."""
    root = ledger.root.slot
    if base >= root:
        raise NoSnapshot(f"no block above slot {base} is finalized")
    keys: dict[Pubkey, None] = {}
    for slot in ledger.storage.slots(base + 1, root, root - base):
        record = ledger.storage.block(slot)
        if record is None or record.account_writes is None:
            raise NoSnapshot(f"the writes of slot {slot} are kept no longer: take a full snapshot")
        keys.update(dict.fromkeys(Pubkey(write.pubkey) for write in record.account_writes))
    gone = Account(0, b"", Pubkey.default(), False, 0)
    return ((key, everything.get(key, gone)) for key in keys)


def _entry(key: Pubkey, account: Account) -> bytes:
    data = bytes(account.data)
    head = _HEAD.pack(
        0,
        len(data),
        bytes(key),
        account.lamports,
        account.rent_epoch,
        bytes(account.owner),
        account.executable,
    )
    return head + data + bytes(-len(data) % 8)


def _write(path: Path, members: list[tuple[str, bytes]]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with (
        part.open("wb") as file,
        zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    part.replace(path)
