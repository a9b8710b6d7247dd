"""A block with one flipped bit is restored, and no other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.sealed.packing.bit_repair import MOST_BYTES, with_bit_restored
from rewind.sealed.packing.block_codec import Change, encode
from tests.examples import examples
from tests.rewind.sealed_changes import sorted_changes


@given(sorted_changes.filter(bool), st.sampled_from([None, b"a dictionary" * 20]), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_any_flipped_bit_is_restored(
    changes: list[Change], dictionary: bytes | None, data: st.DataObject
) -> None:
    body = next(iter(encode(changes, dictionary))).body
    if len(body) > MOST_BYTES:
        assert with_bit_restored(body, dictionary) is None
        return
    damaged = bytearray(body)
    place = data.draw(st.integers(0, 8 * len(body) - 1))
    damaged[place // 8] ^= 1 << place % 8
    assert with_bit_restored(bytes(damaged), dictionary) == body
    other = data.draw(st.integers(0, 8 * len(body) - 1).filter(lambda each: each != place))
    damaged[other // 8] ^= 1 << other % 8
    assert with_bit_restored(bytes(damaged), dictionary) is None


@given(st.binary(max_size=300), st.one_of(st.none(), st.binary(min_size=1, max_size=50)))
@settings(max_examples=examples(200), deadline=None)
def test_other_bytes_are_not(body: bytes, dictionary: bytes | None) -> None:
    assert with_bit_restored(body, dictionary) is None
