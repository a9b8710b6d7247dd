"""Feature sets by slot."""

from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.units import Slot
from simulator.features import (
    activation_slots,
    feature_set_at,
    feature_set_of,
    known_features,
    mainnet_features,
)


def test_the_engine_knows_what_it_was_built_with() -> None:
    assert len(activation_slots()) == 241
    assert len(known_features()) == 280
    assert set(mainnet_features().active) == activation_slots().keys()


@given(st.integers(0, 2**64 - 1))
def test_a_slot_has_the_features_that_were_activated_up_to_it(slot: int) -> None:
    active = feature_set_at(Slot(slot)).active
    assert active == {key: at for key, at in activation_slots().items() if at <= slot}
    assert feature_set_at(Slot(slot)).inactive == set(known_features()) - active.keys()


def test_slots_between_the_same_activations_share_a_set() -> None:
    assert feature_set_at(Slot(330_912_000)) is feature_set_at(Slot(330_912_001))
    assert feature_set_at(Slot(330_912_000)) is not feature_set_at(Slot(330_911_999))


def test_features_that_the_engine_does_not_know_are_left_out() -> None:
    one = next(iter(activation_slots()))
    features = feature_set_of({one: 5, Pubkey.default(): 6})
    assert features.active == {one: 5}
    assert len(features.inactive) == 279
