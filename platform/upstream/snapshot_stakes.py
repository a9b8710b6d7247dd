"""python -m upstream.snapshot_stakes SNAPSHOT: prints the stakes and voters of a snapshot's epochs,
as chain.verify_proof takes them; with the same packages, and no settings, database or network.

Only the manifest is read, which comes first: a snapshot that is still being downloaded will do.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from solders.hash import Hash

from chain.electorates import Electorate, write_electorates
from chain.lattice import bank_hash, hard_fork_data
from upstream.archives.errors import BadSnapshot
from upstream.archives.manifest_stakes import EpochStakes
from upstream.archives.snapshot_manifest import Bank, Manifest
from upstream.archives.snapshots import Snapshot

HELP = (
    "Print the stakes of the epochs that a snapshot's manifest has, and who may sign the vote"
    " accounts' votes, for verify_proof --stakes. The bank's hash is checked against its parts; no"
    " hash covers the stakes: they are as good as the snapshot's source."
)
FILE_HELP = "a snapshot archive of a validator (.tar.zst or .tar)"
EPOCH_HELP = "that epoch only"

# Each is twice as long as the one before; mainnet has none, a test validator fourteen at most.
_MOST_WARM_UP_EPOCHS = 64


class Found(NamedTuple):
    """The file of stakes, and lines about the snapshot."""

    text: bytes
    lines: list[str]


class NoStakes(ValueError):
    """The snapshot does not hold by itself, or has no stakes of the epoch."""


def snapshot_stakes(path: Path, epoch: int | None = None) -> Found:
    """Raises BadSnapshot and NoStakes."""
    slot, manifest = _read(path)
    bank = manifest.bank
    lines = [f"slot {slot}: bank hash {Hash(bank.hash)}", _check(slot, manifest)]
    chosen = [each for each in manifest.epoch_stakes if epoch in (None, each.epoch) and each.total]
    if not chosen:
        known = ", ".join(str(each.epoch) for each in manifest.epoch_stakes) or "none"
        raise NoStakes(f"{path}: it has the stakes of other epochs: {known}")
    epochs = ", ".join(str(each.epoch) for each in chosen)
    several = "epoch" if len(chosen) == 1 else "epochs"
    lines.append(f"trusted: the stakes and voters of {several} {epochs}, as the snapshot has them")
    return Found(write_electorates([_electorate(each, bank) for each in chosen]), lines)


def _read(path: Path) -> tuple[int, Manifest]:
    with Snapshot(path) as snapshot:
        next(iter(snapshot), None)
        if snapshot.manifest is None or snapshot.slot is None:
            raise BadSnapshot(path, "", snapshot.warning or "the manifest does not come first")
        if snapshot.manifest.tail_fault is not None:
            raise BadSnapshot(path, "", snapshot.manifest.tail_fault)
        return snapshot.slot, snapshot.manifest


def _check(slot: int, manifest: Manifest) -> str:
    bank = manifest.bank
    if manifest.lattice is None or any(bank.delta_hash):
        return "not checked: the bank's hash, which is of an older kind"
    parts = (bank.parent_hash, bank.signature_count, manifest.blockhash, manifest.lattice)
    fork = hard_fork_data(bank.hard_forks, slot, bank.parent_slot)
    made = bank_hash(*parts, hard_fork=fork)
    if made != bank.hash:
        raise NoStakes(
            f"the manifest's parts make the bank hash {Hash(made)}, not {Hash(bank.hash)}"
        )
    return "checked: the bank's hash from the manifest's parts; the accounts were not summed up"


def _electorate(epoch: EpochStakes, bank: Bank) -> Electorate:
    schedule = bank.schedule
    if schedule.first_normal_epoch > _MOST_WARM_UP_EPOCHS or not schedule.slots_per_epoch:
        raise NoStakes(f"the manifest's epoch schedule cannot be followed: {tuple(schedule)}")
    slots = schedule.slots_of(epoch.epoch)
    return Electorate(epoch.stakes, epoch.voters, epoch.epoch, slots)


def main() -> int:
    """The exit code."""
    parser = ArgumentParser(prog="python -m upstream.snapshot_stakes", description=HELP)
    parser.add_argument("path", type=Path, metavar="SNAPSHOT", help=FILE_HELP)
    parser.add_argument("--epoch", type=int, help=EPOCH_HELP)
    given = parser.parse_args()
    try:
        found = snapshot_stakes(given.path, given.epoch)
    except (BadSnapshot, NoStakes, OSError) as fault:
        print(fault, file=sys.stderr)
        return 1
    print(*found.lines, sep="\n", file=sys.stderr)
    sys.stdout.buffer.write(found.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
