"""Feature sets: which of the runtime's rules are on."""

from bisect import bisect_right
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import NamedTuple

from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey
from solders.solders import LiteSVM

from chain.units import Slot

_MORE_LOCKS = Pubkey.from_string("9LZdXeKGeBV6hRLdxS1rHbHoEUsKqesCC2ZAPTPKJAbK")
_LOADING_IS_PAID = Pubkey.from_string("PaymEPK2oqwT9TXAVfadjztH2H6KfLEB9Hhd5Q5frvP")
_FEWER_INSTRUCTIONS = Pubkey.from_string("64ixypL1HPu8WtJhNSMb9mSgfFaJvsANuRkTbHyuLfnx")
_BUILTINS_TAKE_LESS = Pubkey.from_string("C9oAhLxDBm3ssWtJx1yBGzPY55r2rArHmN1pbQn6HogH")
_DEEPER_CALLS = Pubkey.from_string("6TkHkRmP7JZy1fdM6fg5uXn76wChQBWGokHBJzrLB3mj")
_FEES_ONLY_SIZE = Pubkey.from_string("LTDSzjZKFJMKHYpNycG1FrWwGGTaFFwqEFjB5GGLNVD")
_STATIC_NONCES = Pubkey.from_string("7VVhpg5oAjAmnmz1zCcSHb2Z9ecZB2FQqpnEwReka9Zm")


class Rules(NamedTuple):
    """Rules of features outside the VM. `most_locks`: the maximum of locked accounts;
    `loading_is_paid`: a transaction that cannot be loaded pays its fee; `fewer_instructions`: more
    than 64 instructions are malformed; `static_nonces`: a nonce account must be a static key;
    `builtins_take_less`: builtins get fewer default units than other programs; `deeper_calls`:
    programs call each other to a depth of 9 instead of 5; `fees_only_size`: the loaded size of a
    transaction that cannot be loaded is what was loaded, up to its limit.
    """

    most_locks: int
    loading_is_paid: bool
    fewer_instructions: bool
    static_nonces: bool
    builtins_take_less: bool
    deeper_calls: bool
    fees_only_size: bool


def rules_of(active: Container[Pubkey]) -> Rules:
    """The rules of these active features."""
    return Rules(
        most_locks=128 if _MORE_LOCKS in active else 64,
        loading_is_paid=_LOADING_IS_PAID in active,
        fewer_instructions=_FEWER_INSTRUCTIONS in active,
        static_nonces=_STATIC_NONCES in active,
        builtins_take_less=_BUILTINS_TAKE_LESS in active,
        deeper_calls=_DEEPER_CALLS in active,
        fees_only_size=_FEES_ONLY_SIZE in active,
    )


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
