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
from rewind.services.placing import Placed
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
_ACTIVE = 1
_FEATURE = bytes(addresses.FEATURE)


class _Archived(NamedTuple):
    """The features that the archive tells of, ascending by activation slot: up to a latest slot and
    an epoch. Of mainnet's only those that the engine's own table does not know.
    """

    slots: list[int]
    keys: list[Pubkey]
    is_mainnet: bool
    layout: int
    latest: int
    epoch: int
    read_at: float
    sets: dict[tuple[int, int], FeatureSet]


_archived: _Archived | None = None


def features_at(placed: Placed, *, epoch: int) -> FeatureSet:
    """The features that were on in the position's slot, which is of that epoch; do not change the
    set.
    """
    slot = placed.slot
    archived = _read(placed, epoch)
    count = bisect_right(archived.slots, slot)
    if archived.is_mainnet:
        if not count:
            return feature_set_at(slot)
        active = dict(feature_set_at(slot).active)
    elif archived.slots:
        active = {}
    else:
        return mainnet_features()
    key = len(active), count
    known = archived.sets.get(key)
    if known is None:
        active.update(zip(archived.keys[:count], archived.slots[:count], strict=True))
        known = archived.sets[key] = feature_set_of(active)
    return known


def forget() -> None:
    """The next caller reads the archive's features anew."""
    global _archived
    _archived = None


def _read(placed: Placed, epoch: int) -> _Archived:
    """What is remembered, unless it is old or from before the epoch: features come with epochs."""
    global _archived
    now, known = time.monotonic(), _archived
    if known is not None and known.layout == placed.layout:
        is_told = placed.slot <= known.latest or epoch <= known.epoch
        if is_told and now < known.read_at + _REMEMBERED_SECONDS:
            return known
    is_mainnet = store.chain_of_filters() == MAINNET_GENESIS_HASH
    wanted = known_features() - activation_slots().keys() if is_mainnet else known_features()
    at_the_end = replace(placed, position=Position.end_of(placed.latest))
    states, _ = states_at([bytes(key) for key in wanted], at_the_end)
    told = sorted(
        (at, key) for key, state in states.items() if (at := _activated_at(state)) is not None
    )
    slots, keys = [at for at, _ in told], [Pubkey(key) for _, key in told]
    _archived = _Archived(slots, keys, is_mainnet, placed.layout, placed.latest, epoch, now, {})
    return _archived


def _activated_at(state: State) -> int | None:
    data = state.data
    if state.lamports == 0 or state.owner != _FEATURE or len(data) < 9 or data[0] != _ACTIVE:
        return None
    return int.from_bytes(data[1:9], "little")
