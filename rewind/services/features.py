"""Which of the runtime's rules held in a slot of the archived chain."""

import time
from bisect import bisect_right
from dataclasses import replace
from typing import NamedTuple

from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey

from rewind.positions import Position
from rewind.services.filters import MAINNET_GENESIS_HASH
from rewind.services.loading import states_at
from rewind.services.position_lookup import ResolvedPosition
from rewind.store import replaying as store
from rewind.store.states import State
from simulator import addresses
from simulator.features import (
    activation_slots,
    feature_set_at,
    feature_set_of,
    known_features,
    mainnet_features,
)

_REMEMBERED_SECONDS = 60.0
# Where the node may still report some.
_UNKNOWN_SECONDS = 5.0
_ACTIVE = 1
_FEATURE = bytes(addresses.FEATURE)


class _Archived(NamedTuple):
    """The features that the archive has, ascending by activation slot: up to a latest slot and
    an epoch. Of mainnet's only those that the engine's own table does not know. The `assumed` ones
    are mainnet's, where it is not known whether this chain has them.
    """

    slots: list[int]
    keys: list[Pubkey]
    assumed: dict[Pubkey, int]
    is_mainnet: bool
    layout: int
    latest: int
    epoch: int
    known_until: float
    sets: dict[tuple[int, int], FeatureSet]


_archived: _Archived | None = None


def features_at(resolved: ResolvedPosition, *, epoch: int) -> FeatureSet:
    """The features that were on in the position's slot, which is of that epoch; do not change the
    set.
    """
    slot = resolved.slot
    archived = _read(resolved, epoch)
    count = bisect_right(archived.slots, slot)
    if archived.is_mainnet:
        if not count:
            return feature_set_at(slot)
        active = dict(feature_set_at(slot).active)
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


def forget() -> None:
    """The next call reads the archive's features again."""
    global _archived
    _archived = None


def _read(resolved: ResolvedPosition, epoch: int) -> _Archived:
    """What is remembered, unless it is old or from before the epoch: features come with epochs."""
    global _archived
    now, known = time.monotonic(), _archived
    if known is not None and known.layout == resolved.layout:
        is_covered = resolved.slot <= known.latest or epoch <= known.epoch
        if is_covered and now < known.known_until:
            return known
    is_mainnet = store.chain_of_filters() == MAINNET_GENESIS_HASH
    wanted = known_features() - activation_slots().keys() if is_mainnet else known_features()
    at_the_end = replace(resolved, position=Position.end_of(resolved.latest))
    states, unknown = states_at([bytes(key) for key in wanted], at_the_end)
    activated = sorted(
        (at, key) for key, state in states.items() if (at := _activated_at(state)) is not None
    )
    slots, keys = [at for at, _ in activated], [Pubkey(key) for _, key in activated]
    mainnet = {} if is_mainnet else activation_slots()
    undecided = map(Pubkey, unknown)
    _archived = _Archived(
        slots=slots,
        keys=keys,
        # For all slots: of this chain mainnet's say nothing.
        assumed={key: 0 for key in undecided if key in mainnet},
        is_mainnet=is_mainnet,
        layout=resolved.layout,
        latest=resolved.latest,
        epoch=epoch,
        known_until=now + (_UNKNOWN_SECONDS if unknown else _REMEMBERED_SECONDS),
        sets={},
    )
    return _archived


def _activated_at(state: State) -> int | None:
    data = state.data
    if state.lamports == 0 or state.owner != _FEATURE or len(data) < 9 or data[0] != _ACTIVE:
        return None
    return int.from_bytes(data[1:9], "little")
