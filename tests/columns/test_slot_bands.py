"""Bands over a range, held against what each slot says of itself."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chain.slot_ranges import SlotRange
from columns.slot_bands import Band, Stretch, bands_of


@st.composite
def stretches(draw: st.DrawFn) -> list[Stretch]:
    """Some that do not overlap, in any order."""
    edges = sorted(draw(st.sets(st.integers(0, 60), max_size=12)))
    bands = st.sampled_from([Band.SEALED, Band.COLD])
    found = [Stretch(low, high - 1, draw(bands)) for low, high in list(pairwise(edges))]
    return draw(st.permutations([each for each in found if draw(st.booleans())]))


@given(st.integers(0, 60), st.integers(0, 60), stretches())
def test_every_slot_has_the_band_of_its_stretch_and_else_is_hot(
    one: int, other: int, given: list[Stretch]
) -> None:
    whole = SlotRange(min(one, other), max(one, other))
    found = bands_of(whole, given)
    told = [slot for each in found for slot in range(each.first, each.last + 1)]
    assert told == list(range(whole.first, whole.last + 1))
    for each in found:
        for slot in range(each.first, each.last + 1):
            named = [one.band for one in given if one.first <= slot <= one.last]
            assert named == ([] if each.band is Band.HOT else [each.band])
    assert all(low.band is not high.band for low, high in pairwise(found))
