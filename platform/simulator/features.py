"""Feature sets: which of the runtime's rules are on."""

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache

from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey
from solders.solders import LiteSVM

from chain.units import Slot

# SIMD-0339: 128 accounts a transaction instead of 64.
MORE_ACCOUNT_LOCKS = Pubkey.from_string("9LZdXeKGeBV6hRLdxS1rHbHoEUsKqesCC2ZAPTPKJAbK")


@lru_cache(maxsize=1)
def mainnet_features() -> FeatureSet:
    """Every feature that mainnet had when the engine was built; do not change it."""
    return LiteSVM.mainnet_feature_set()


@lru_cache(maxsize=1)
def activation_slots() -> dict[Pubkey, int]:
    """Each mainnet feature's first slot."""
    return dict(mainnet_features().active)


@lru_cache(maxsize=1)
def known_features() -> frozenset[Pubkey]:
    """Every feature that the engine can switch."""
    return frozenset(FeatureSet.all_enabled().active)


def feature_set_at(slot: Slot) -> FeatureSet:
    """The features that mainnet had in a slot; do not change it. Slots between the same two
    activations share one set.
    """
    return _set_of_first(bisect_right(_activations(), slot))


def feature_set_of(active: Mapping[Pubkey, int]) -> FeatureSet:
    """The set of these features, by the slot each was activated in; those that the engine does
    not know are left out.
    """
    known = known_features()
    on = {feature: slot for feature, slot in active.items() if feature in known}
    return FeatureSet(on, set(known - on.keys()))


@lru_cache(maxsize=1)
def _activations() -> list[int]:
    return sorted(activation_slots().values())


@lru_cache(maxsize=16)
def _set_of_first(count: int) -> FeatureSet:
    last = _activations()[count - 1] if count else -1
    return feature_set_of({f: slot for f, slot in activation_slots().items() if slot <= last})
