"""Builtins and sysvars at a position: a gap affects them only if an epoch begins in it."""

from collections.abc import Collection
from dataclasses import replace

from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.epochs import EpochSchedule
from gaps.coverage import GapEntry
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.loading import recorded_accounts
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import replaying as store
from rewind.accounts.store.states import newest_state
from rewind.coverage.services.epochs import epochs

# Every block writes them. The others, and the builtins, change with the first block of an epoch.
_OF_EVERY_BLOCK = frozenset(
    {addresses.CLOCK, addresses.SLOT_HASHES, addresses.SLOT_HISTORY, addresses.RECENT_BLOCKHASHES}
)
# Where an epoch's rewards are being paid, every block changes their sysvar too.
_ACTIVE_AT = 80

Found = tuple[dict[Pubkey, Account | None], frozenset[Pubkey]]


def recorded_natives(
    keys: Collection[Pubkey], resolved: ResolvedPosition, findings: Findings
) -> Found:
    """The builtins and sysvars, None for those that the engine's own must stand in for; beside them
    those that are no longer followed.
    """
    gap = resolved.gap
    if gap is None:
        return recorded_accounts(keys, resolved, findings)
    seldom = [key for key in keys if key not in _OF_EVERY_BLOCK]
    often = [key for key in keys if key in _OF_EVERY_BLOCK]
    found, stale = recorded_accounts(often, resolved, findings)
    epoch_gap = _epoch_gap(resolved)
    more, stale_more = recorded_accounts(seldom, replace(resolved, gap=epoch_gap), findings)
    if epoch_gap is None and resolved.earliest == 0:
        # What genesis did not make no epoch has made since.
        for key in seldom:
            findings.not_recorded.pop(bytes(key), None)
    rewards = more.get(addresses.EPOCH_REWARDS)
    if rewards is not None and rewards.data[_ACTIVE_AT : _ACTIVE_AT + 1] == b"\1":
        active = bytes(addresses.EPOCH_REWARDS)
        findings.read(active, newest_state(active, resolved.position, resolved.layout), resolved)
    return {**found, **more}, stale | stale_more


def _epoch_gap(resolved: ResolvedPosition) -> GapEntry | None:
    """The newest open gap up to the position that may have the first block of an epoch."""
    schedule = _schedule(resolved)
    found = store.newest_gap_over_an_epochs_beginning(
        resolved.slot, schedule.slots_per_epoch, schedule.first_normal_slot
    )
    return None if found is None else GapEntry.of(*found)


def _schedule(resolved: ResolvedPosition) -> EpochSchedule:
    """The chain's own, which never changes."""
    state = newest_state(bytes(addresses.EPOCH_SCHEDULE), resolved.position, resolved.layout)
    data = b"" if state is None else state.data
    if len(data) < 33:
        return epochs().schedule
    slots, first_epoch, first_slot = (
        int.from_bytes(data[at : at + 8], "little") for at in (0, 17, 25)
    )
    return EpochSchedule(slots, first_epoch, first_slot) if slots else epochs().schedule
