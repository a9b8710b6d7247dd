"""Account data in the table: compressed where it pays, and always returned unchanged."""

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from columns.packed_data import pack, unpack

MAGIC = b"\x28\xb5\x2f\xfd"
DATA = st.binary(max_size=300) | st.builds(
    lambda head, times: head * times, st.binary(min_size=1, max_size=8), st.integers(0, 200)
)


@given(DATA | DATA.map(lambda data: MAGIC + data))
def test_what_is_packed_comes_back(data):
    stored = pack(data)
    assert unpack(stored) == data
    assert stored == data or stored.startswith(MAGIC)


def test_an_account_that_holds_a_zstd_frame_is_still_what_it_was():
    data = zstandard.compress(b"a frame of its own")
    assert unpack(pack(data)) == data
    assert unpack(pack(MAGIC)) == MAGIC


def test_only_what_becomes_smaller_is_packed():
    assert pack(bytes(95)) == bytes(95)
    assert len(pack(bytes(10_000_000))) < 2_000
    noise = bytes(range(256))
    assert pack(noise) == noise
