"""Objects of cold storage: what was written is read back, and no other bytes are."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_128

from rewind.sealed.packing.object_format import About, ObjectDamaged, Packed, Writer, parse

_slots = st.integers(0, 2**63 - 1)
_blocks = st.builds(
    Packed,
    st.binary(min_size=32, max_size=32),
    _slots,
    st.integers(-2, 2**31 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(min_size=1, max_size=200),
)


@st.composite
def objects(draw: Any) -> tuple[About, bytes | None, list[Packed]]:
    """Blocks of one bucket, in order."""
    bucket = draw(st.integers(0, 255))
    blocks = draw(st.lists(_blocks, max_size=8, unique_by=lambda block: block[:3]))
    same = [block._replace(pubkey=bytes([bucket]) + block.pubkey[1:]) for block in blocks]
    ordered = sorted({block[:3]: block for block in same}.values())
    dictionary = draw(st.none() | st.binary(min_size=1, max_size=60))
    return About(draw(_slots), draw(_slots), bucket), dictionary, ordered


def packed(about: About, dictionary: bytes | None, blocks: list[Packed]) -> bytes:
    file = BytesIO()
    writer = Writer(file, about, dictionary)
    places = [writer.add(block) for block in blocks]
    written = writer.end()
    data = file.getvalue()
    assert (written.size, written.changes) == (len(data), sum(each.changes for each in blocks))
    for place, block in zip(places, blocks, strict=True):
        assert data[place : place + len(block.body)] == block.body
    return data


@given(objects())
def test_what_was_written_is_read_back(made: Any) -> None:
    about, dictionary, blocks = made
    found = parse(packed(*made))
    assert (found.about, found.dictionary) == (about, dictionary)
    assert list(found.blocks()) == blocks
    assert found.changes == sum(each.changes for each in blocks)


@given(objects(), st.data())
def test_a_changed_bit_and_a_missing_end_are_found(made: Any, data: Any) -> None:
    whole = bytearray(packed(*made))
    if data.draw(st.booleans()):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del whole[data.draw(st.integers(0, len(whole) - 1)) :]
    with pytest.raises(ObjectDamaged):
        parse(bytes(whole))


@given(objects(), st.data())
def test_content_with_a_right_checksum_is_checked_too(made: Any, data: Any) -> None:
    """Whatever the bytes: the object that they are, written again, is the same bytes."""
    whole = bytearray(packed(*made))[:-16]
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(whole) + xxh3_128(bytes(whole)).digest()
    try:
        found = parse(changed)
    except ObjectDamaged:
        return
    assert packed(found.about, found.dictionary, list(found.blocks())) == changed


@given(st.binary(max_size=400))
def test_other_bytes_are_no_object(data: bytes) -> None:
    with pytest.raises(ObjectDamaged):
        parse(data)
