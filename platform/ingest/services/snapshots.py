"""Imports snapshots and account files into the archive, checked against the stored chain."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.lattice import hard_fork_data
from chain.units import Slot
from historical.blocks.services.blocks import blockhashes
from historical.blocks.store.blocks import blocks_of_hashes
from ingest import chain_identity
from ingest.errors import OtherChain, other_genesis, unknown_chain
from ingest.store import chains
from rewind.baselines.services import baseline
from rewind.baselines.services.baseline import Origin, RecordedBaseline
from rewind.baselines.services.baseline_proof import Base, Declared, DeclaredBank
from rewind.errors import BadBaseline
from rewind.proof.store.epoch_stakes import Stake
from rewind.recording.store import slots as archive
from rewind.recording.store import slots as archive_store
from upstream.archives.manifest_stakes import EpochStakes
from upstream.archives.snapshot_manifest import Manifest
from upstream.archives.snapshots import Snapshot


def import_accounts(
    accounts: Iterable[AccountWrite],
    slot: Slot,
    *,
    source: str,
    genesis_hash: str | None,
    now: datetime,
) -> RecordedBaseline:
    """Imports account files, which do not name their chain. Raises BadBaseline and OtherChain."""
    _refuse_the_future(slot)
    agreed = _genesis_of_file(None, genesis_hash)
    if genesis_hash is None:
        raise unknown_chain(agreed)
    chain_identity.claim(agreed, source=source, now=now)
    return baseline.record_baseline(accounts, slot, source=source, now=now)


def import_snapshot(
    snapshot: Snapshot,
    *,
    slot: Slot | None,
    owners: frozenset[bytes],
    genesis_hash: str | None,
    now: datetime,
    replace_stakes: bool = False,
) -> RecordedBaseline:
    """Imports a validator's snapshot archive; an incremental one needs its base. The operator, the
    manifest or a stored block must prove its chain. Raises BadBaseline (rewind.baselines.errors
    where its accounts are not those that it declares), OtherChain, BadSnapshot.
    """
    if slot is not None:
        _refuse_the_future(slot)
    _genesis_of_file(None, genesis_hash)
    checked = _CheckedSnapshot(snapshot, owners, genesis_hash)

    def agreed() -> Slot:
        if snapshot.slot is None or slot not in (None, snapshot.slot):
            raise BadBaseline(f"{snapshot.path} is of slot {snapshot.slot}, not {slot}")
        _refuse_the_future(snapshot.slot)
        checked.check()
        chain_identity.claim(checked.genesis_hash, source=snapshot.path.name, now=now)
        return snapshot.slot

    return baseline.record_snapshot(
        checked.accounts(),
        slot=agreed,
        whole=lambda: snapshot.is_whole and (checked.base is None or checked.base.whole),
        source=snapshot.path.name,
        now=now,
        chosen_owners=owners,
        origin=checked.origin,
        again=lambda: _read_again(snapshot.path),
        replace_stakes=replace_stakes,
    )


def _read_again(path: Path) -> Iterator[AccountWrite]:
    with Snapshot(path) as snapshot:
        for stored in snapshot:
            yield stored.account


class _CheckedSnapshot:
    """A snapshot archive that is checked as soon as its manifest is read."""

    def __init__(
        self, snapshot: Snapshot, owners: frozenset[bytes], genesis_hash: str | None
    ) -> None:
        self.genesis_hash = ""
        self.base: Base | None = None
        self._snapshot = snapshot
        self._owners = owners
        self._given = genesis_hash
        self._is_checked = False

    def accounts(self) -> Iterator[tuple[Slot, AccountWrite]]:
        """The snapshot's accounts. Checks before it returns: while accounts are copied into the
        database its connection is busy. Raises as `check`.
        """
        stored = iter(self._snapshot)
        first = list(islice(stored, 1))
        if self._snapshot.slot is not None:
            self.check()
        return ((each.slot, each.account) for each in chain(first, stored))

    def check(self) -> None:
        """Raises OtherChain and BadBaseline."""
        if self._is_checked:
            return
        self._is_checked = True
        manifest, slot = self._snapshot.manifest, self._snapshot.slot
        self.genesis_hash = _genesis_of_file(manifest, self._given)
        if manifest is not None and slot is not None:
            _check_block(slot, manifest.blockhash)
        if not self._given and (manifest is None or not _is_proved(manifest)):
            raise unknown_chain(chain_identity.known())
        base = self._snapshot.declared_base
        if base is not None:
            recent = {} if manifest is None else manifest.blockhashes
            self.base = baseline.require_base(base, chosen_owners=self._owners, blockhashes=recent)

    def origin(self) -> Origin:
        manifest, named = self._snapshot.manifest, self._snapshot.named_hash
        if manifest is None or self._snapshot.slot is None or not manifest.blockhash:
            return Origin(base=self.base, declared=Declared(named))
        bank = manifest.bank
        return Origin(
            manifest.blockhash,
            bank.block_height,
            bank.capitalization,
            self.base,
            Declared(
                named,
                manifest.lattice,
                _declared_bank(manifest, self._snapshot.slot),
                by_sum_alone=not self._snapshot.names_storages,
            ),
            {each.epoch: _stakes(each) for each in manifest.epoch_stakes},
        )


def _declared_bank(manifest: Manifest, slot: Slot) -> DeclaredBank:
    bank = manifest.bank
    return DeclaredBank(
        hash=bank.hash,
        parent_hash=bank.parent_hash,
        parent_slot=bank.parent_slot,
        signature_count=bank.signature_count,
        blockhash=manifest.blockhash,
        hard_fork=hard_fork_data(bank.hard_forks, slot, bank.parent_slot),
        delta_hash=bank.delta_hash if any(bank.delta_hash) else None,
    )


def _stakes(epoch: EpochStakes) -> dict[bytes, Stake]:
    return {
        account: Stake(lamports, epoch.voters.get(account))
        for account, lamports in epoch.stakes.items()
    }


def _genesis_of_file(manifest: Manifest | None, given: str | None) -> str:
    """The genesis hash on which the file, the operator and the database agree; empty if none of
    them has one.
    """
    named = None if manifest is None else manifest.genesis_hash
    found = [str(Hash(named))] if named is not None else []
    found += [each for each in (given, chain_identity.known()) if each]
    for other in found[1:]:
        if other != found[0]:
            if other == given:
                raise OtherChain(
                    f"its genesis hash is {found[0]}, and not {given} as --genesis says"
                )
            raise other_genesis(found[0], other)
    return found[0] if found else ""


def _is_proved(manifest: Manifest) -> bool:
    """True if the manifest or stored data prove the chain."""
    if manifest.genesis_hash is not None:
        return True
    if blocks_of_hashes(list(manifest.blockhashes.values())):
        return True
    return any(
        manifest.blockhashes.get(height + 1) == blockhash
        for height, blockhash in chains.baseline_blocks()
    )


def _check_block(slot: Slot, blockhash: bytes) -> None:
    """Raises OtherChain if another block is stored for the slot."""
    recorded = blockhashes(slot, slot).get(slot)
    archived = archive_store.stored([slot]).get(slot)
    others = [] if recorded is None else [bytes(Hash.from_string(recorded))]
    others += [] if archived is None else [archived.blockhash]
    for other in others:
        if blockhash and other != blockhash:
            raise OtherChain(
                f"its blockhash of slot {slot} is {Hash(blockhash)}, what is stored here is"
                f" {Hash(other)}: it is from another chain"
            )


def _refuse_the_future(slot: int) -> None:
    """A baseline may come before all slots, but not above the newest archived one."""
    bounds = archive.bounds()
    if bounds is not None and slot > bounds[1]:
        raise BadBaseline(
            f"slot {slot} lies above the newest archived slot, {bounds[1]}: a baseline of the"
            " future. Import it once that slot is archived"
        )
