"""Which of the runtime's rules held in a slot of the archived chain, and which of them the engine
does not have.
"""

import time
from bisect import bisect_right
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from solders.account import Account
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import Slot
from columns.kept import Kept
from rewind.accounts.services.builtins_and_sysvars import recorded_natives
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.newest import newest_accounts
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import replaying as store
from rewind.positions import Position
from rewind.recording.services.filters import MAINNET_GENESIS_HASH
from rewind.recording.store import runtime_accounts
from simulator.features import (
    activation_slots,
    feature_set_at,
    feature_set_of,
    known_features,
    mainnet_features,
)
from simulator.missing_rules import (
    MissingRule,
    activated_at,
    features_to_ask_for,
    missing_accounts,
    missing_features,
)

_REMEMBERED_SECONDS = 60.0
# Where the node may still report some.
_UNKNOWN_SECONDS = 5.0


class Active(NamedTuple):
    """The features that are on; do not change the set. `missing` are those that the engine does not
    have and that a transaction may notice. `are_known`: none of this is a guess.
    """

    features: FeatureSet
    missing: tuple[MissingRule, ...]
    are_known: bool


class _Archived(NamedTuple):
    """The features that the archive has, ascending by activation slot: up to a latest slot and
    an epoch. Of mainnet's only those that the engine's own table does not know. The `assumed` ones
    are mainnet's, where it is not known whether this chain has them (`are_known` if that is known
    of all). The engine does not know the `foreign` ones.
    """

    slots: list[int]
    keys: list[Pubkey]
    foreign: dict[Pubkey, int]
    assumed: dict[Pubkey, int]
    are_known: bool
    is_mainnet: bool
    layout: int
    latest: int
    epoch: int
    known_until: float
    sets: dict[tuple[int, int], FeatureSet]


_archived: _Archived | None = None


def features_at(resolved: ResolvedPosition, *, epoch: int) -> Active:
    """What was on in the position's slot, which is of that epoch."""
    slot = resolved.slot
    archived = _read(resolved, epoch)
    return Active(_known_at(slot, archived), _missing_at(slot, archived), archived.are_known)


def _known_at(slot: int, archived: _Archived) -> FeatureSet:
    count = bisect_right(archived.slots, slot)
    if archived.is_mainnet:
        if not count:
            return feature_set_at(Slot(slot))
        active = dict(feature_set_at(Slot(slot)).active)
    elif archived.slots:
        active = dict(archived.assumed)
    else:
        return mainnet_features()
    key = len(active), count
    known = archived.sets.get(key)
    if known is None:
        active.update(zip(archived.keys[:count], archived.slots[:count], strict=True))
        known = archived.sets[key] = feature_set_of(active)
    return known


def _missing_at(slot: int, archived: _Archived) -> tuple[MissingRule, ...]:
    if not archived.foreign:
        return ()
    active = {key: at for key, at in archived.foreign.items() if at <= slot}
    return missing_features(active, is_mainnet=archived.is_mainnet)


def unheard_of() -> Set[Pubkey]:
    """Accounts that may be of features that neither the engine nor this build knows: the
    archive met them as accounts of the runtime.
    """
    met = {Pubkey(key) for key in runtime_accounts.known()}
    return met - set(features_to_ask_for()) - addresses.BUILTINS - addresses.SYSVARS


def missing_of(active: Mapping[Pubkey, int]) -> tuple[MissingRule, ...]:
    """What the engine is without, of features that are on in the archived chain since the slots."""
    return missing_features(active, is_mainnet=_is_mainnet())


def missing_now() -> tuple[MissingRule, ...]:
    """What the archived chain has, as far as it is known, and the engine does not: features that
    are on, and all programs of native code and sysvars. The node is not asked.
    """
    return _missing.value()


def _read_missing(_before: object) -> tuple[MissingRule, ...]:
    met = {Pubkey(key) for key in runtime_accounts.known()} - known_features()
    keys = sorted(met - addresses.BUILTINS - addresses.SYSVARS, key=bytes)
    accounts: dict[Pubkey, Account | None] = {**newest_accounts(keys)}
    return (*missing_of(_active(accounts)), *missing_accounts(accounts))


_missing = Kept(_REMEMBERED_SECONDS, _read_missing)


def forget() -> None:
    """The next call reads the archive's features again."""
    global _archived
    _archived = None
    _missing.forget()


def _read(resolved: ResolvedPosition, epoch: int) -> _Archived:
    """What is remembered, unless it is old or from before the epoch: features come with epochs."""
    global _archived
    now, known = time.monotonic(), _archived
    if known is not None and known.layout == resolved.layout:
        is_covered = resolved.slot <= known.latest or epoch <= known.epoch
        if is_covered and now < known.known_until:
            return known
    is_mainnet = _is_mainnet()
    wanted = {*features_to_ask_for(), *unheard_of()}
    if is_mainnet:
        wanted -= activation_slots().keys()
    at_the_end = replace(resolved, position=Position.end_of(resolved.latest))
    # As sysvars: what is missing affects them only if an epoch begins in it.
    findings = Findings()
    active = _active(recorded_natives(wanted, at_the_end, findings)[0])
    unknown = findings.not_recorded
    known_ones = known_features()
    activated = sorted((at, bytes(key)) for key, at in active.items() if key in known_ones)
    slots, keys = [at for at, _ in activated], [Pubkey(key) for _, key in activated]
    mainnet = {} if is_mainnet else activation_slots()
    undecided = map(Pubkey, unknown)
    _archived = _Archived(
        slots=slots,
        keys=keys,
        foreign={key: at for key, at in active.items() if key not in known_ones},
        # For all slots: of this chain mainnet's say nothing.
        assumed={key: 0 for key in undecided if key in mainnet},
        are_known=not unknown,
        is_mainnet=is_mainnet,
        layout=resolved.layout,
        latest=resolved.latest,
        epoch=epoch,
        known_until=now + (_UNKNOWN_SECONDS if unknown else _REMEMBERED_SECONDS),
        sets={},
    )
    return _archived


def _is_mainnet() -> bool:
    return store.chain_of_filters() == MAINNET_GENESIS_HASH


def _active(accounts: Mapping[Pubkey, Account | None]) -> dict[Pubkey, int]:
    found = ((key, activated_at(account)) for key, account in accounts.items())
    return {key: at for key, at in found if at is not None}
