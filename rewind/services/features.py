"""Which of the runtime's rules held in a slot of the archived chain."""

import time
from bisect import bisect_right
from typing import NamedTuple

from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey

from chain.units import Slot
from rewind.positions import Position
from rewind.services.filters import MAINNET_GENESIS_HASH
from rewind.store import replaying as store
from rewind.store.states import State, newest_states
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
    """The features that the archive tells of, ascending by activation slot, as of a slot and an
    epoch. Of mainnet's only those that the engine's own table does not know.
    """

    slots: list[int]
    keys: list[Pubkey]
    is_mainnet: bool
    layout: int
    slot: int
    epoch: int
    read_at: float
    sets: dict[tuple[int, int], FeatureSet]


_archived: _Archived | None = None


def features_at(slot: Slot, *, epoch: int, layout: int) -> FeatureSet:
    """The features that were on in a slot of that epoch; do not change the set. `layout` is the
    archive's.
    """
    archived = _read(slot, epoch, layout)
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


def _read(slot: int, epoch: int, layout: int) -> _Archived:
    """What is remembered, unless it is old or of an earlier epoch: features come with epochs."""
    global _archived
    now, known = time.monotonic(), _archived
    if known is not None and known.layout == layout:
        if epoch <= known.epoch and now < known.read_at + _REMEMBERED_SECONDS:
            return known
        slot, epoch = max((slot, epoch), (known.slot, known.epoch))
    is_mainnet = store.chain_of_filters() == MAINNET_GENESIS_HASH
    wanted = known_features() - activation_slots().keys() if is_mainnet else known_features()
    states = newest_states([bytes(key) for key in wanted], Position.end_of(slot), layout)
    told = sorted(
        (at, key) for key, state in states.items() if (at := _activated_at(state)) is not None
    )
    slots, keys = [at for at, _ in told], [Pubkey(key) for _, key in told]
    _archived = _Archived(slots, keys, is_mainnet, layout, slot, epoch, now, {})
    return _archived


def _activated_at(state: State) -> int | None:
    data = state.data
    if state.lamports == 0 or state.owner != _FEATURE or len(data) < 9 or data[0] != _ACTIVE:
        return None
    return int.from_bytes(data[1:9], "little")
