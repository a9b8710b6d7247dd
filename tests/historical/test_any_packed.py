"""What is packed is unpacked as it was, and a changed bit is found."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chain.encodings import b58encode
from historical.sealed import packed_index, packed_texts
from historical.sealed.dictionary import (
    DamagedDictionary,
    SegmentDictionary,
    common_keys,
    opened,
    sealed,
    train,
)
from historical.sealed.entries import (
    DamagedEntry,
    PackedEntries,
    SealedEntry,
    pack_entries,
    unpack_entries,
)
from historical.sealed.packed_index import (
    AddressIndex,
    DamagedBlock,
    SignatureIndex,
    packed_place,
    place_of,
    signature_key,
)
from historical.sealed.packed_texts import DamagedFrame, OpenFrame, pack_frame, rewritten_texts
from tests.examples import examples
from tests.historical.frames_of_before import pack_as_before

KEYS = [bytes(32), bytes(31) + b"\x01", b"\xff" * 32, bytes(range(32)), b"\x07" * 32]
PLACES = st.tuples(st.integers(0, 2**40 - 1), st.integers(0, 2**24 - 1))
NEAR_PLACES = st.tuples(st.integers(900, 905), st.integers(0, 300))
KEY_TEXTS = st.one_of(st.sampled_from(KEYS), st.binary(min_size=32, max_size=32)).map(b58encode)
BASE58 = st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=60)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """JSON as a transaction's text may be, and may not."""
    words = st.one_of(
        KEY_TEXTS, BASE58, st.text(max_size=30), st.binary(max_size=90).map(b58encode)
    )
    members = {"data": draw(words), "keys": draw(st.lists(words, max_size=5)), "log": draw(words)}
    members["nested"] = {"data": draw(words), "more": f"Program {draw(KEY_TEXTS)} invoke"}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


@settings(max_examples=examples(150))
@given(
    found=st.lists(st.one_of(texts(), st.binary(max_size=60)), min_size=1, max_size=12),
    others=st.lists(texts(), max_size=12),
    section=st.sampled_from([1, 300, 20_000]),
    as_before=st.booleans(),
    bit=st.integers(0),
)
@example([b"-" * 70_000, b"{}"], [], 300, False, 0)
@example([b"\3" * 70_000, b"{}"], [], 300, False, 0)
def test_texts_come_out_of_frames_as_they_went_in(
    found: list[bytes], others: list[bytes], section: int, as_before: bool, bit: int
) -> None:
    dictionary = dictionary_of([others, found])
    with pytest.MonkeyPatch.context() as small:
        small.setattr(packed_texts, "SECTION", section)
        frame = (pack_as_before if as_before else pack_frame)(found, dictionary)
    opened_frame = OpenFrame(frame, dictionary)
    assert opened_frame.count == len(found)
    assert opened_frame.each() == found
    for first in range(0, len(found), 3):
        assert opened_frame.texts(first, len(found)) == b",".join(found[first:])
        assert opened_frame.texts(0, first) == b",".join(found[:first])
    with pytest.raises(DamagedFrame):
        OpenFrame(flipped(frame, bit), dictionary).each()
    with pytest.raises(DamagedFrame):
        OpenFrame(frame[: bit % len(frame)], dictionary).each()


def dictionary_of(frames: list[list[bytes]]) -> SegmentDictionary:
    keys = common_keys(frames)
    trained = train(rewritten_texts(frames[0], SegmentDictionary(keys, b"")), 500_000)
    return SegmentDictionary(opened(sealed(keys)), opened(sealed(trained)))


def test_damage_in_a_section_leaves_the_others_readable() -> None:
    found = [json.dumps({"log": [f"{number}"] * 900}).encode() for number in range(40)]
    dictionary = dictionary_of([found, found])
    frame = pack_frame(found, dictionary)
    damaged = OpenFrame(flipped(frame, 8 * len(frame) - 1), dictionary)
    assert [damaged.texts(number, number + 1) for number in range(20)] == found[:20]
    for first in (0, 39):
        with pytest.raises(DamagedFrame, match="of a section"):
            damaged.texts(first, 40)


def flipped(content: bytes, bit: int) -> bytes:
    place, number = divmod(bit % (8 * len(content)), 8)
    return content[:place] + bytes([content[place] ^ 1 << number]) + content[place + 1 :]


@settings(max_examples=examples(100))
@given(
    signatures=st.lists(st.tuples(st.binary(min_size=3, max_size=3), PLACES), max_size=900),
    bit=st.integers(0),
)
def test_signatures_are_found_in_their_blocks(
    signatures: list[tuple[bytes, tuple[int, int]]], bit: int
) -> None:
    entries = sorted({signature_key(each) + packed_place(*place) for each, place in signatures})
    blocks = list(SignatureIndex.pack(entries))
    assert [entry for _, block in blocks for entry in SignatureIndex.unpack(block)] == entries
    assert [first for first, _ in blocks] == [SignatureIndex.unpack(each)[0] for _, each in blocks]
    for entry in entries[::50]:
        key = entry[:5]
        (block,) = [each for each in blocks if each[0] <= entry][-1:]
        wanted = [place_of(each) for each in entries if each.startswith(key)]
        assert SignatureIndex.places(block[1], key) == wanted
    for _, block in blocks[:3]:
        with pytest.raises(DamagedBlock):
            SignatureIndex.places(flipped(block, bit), b"12345")


@settings(max_examples=examples(100))
@given(
    addresses=st.lists(
        st.tuples(
            st.one_of(st.binary(min_size=16, max_size=16), st.sampled_from([b"a" * 16, b"b" * 16])),
            st.lists(NEAR_PLACES, max_size=400),
        ),
        max_size=30,
    ),
    bit=st.integers(0),
)
def test_addresses_are_found_in_their_blocks(
    addresses: list[tuple[bytes, list[tuple[int, int]]]], bit: int
) -> None:
    entries = sorted({key + packed_place(*place) for key, places in addresses for place in places})
    blocks = list(AddressIndex.pack(entries))
    assert unpacked(blocks) == entries
    assert all(len(block) <= 4_000 for _, block in blocks)
    for key in {key for key, _ in addresses} | {bytes(16)}:
        found = [place for _, block in blocks for place in AddressIndex.places(block, key)]
        assert found == [place_of(entry) for entry in entries if entry.startswith(key)]
    for _, block in blocks[:3]:
        with pytest.raises(DamagedBlock):
            AddressIndex.places(flipped(block, bit), bytes(16))


def unpacked(blocks: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    return [entry for _, block in blocks for entry in AddressIndex.unpack(block)]


def test_many_entries_fill_their_blocks() -> None:
    keys = [signature_key(b"%d" % number) * 4 for number in range(5_000)]
    entries = sorted(key[:16] + packed_place(10**9, number) for number, key in enumerate(keys))
    sizes = [len(block) for _, block in AddressIndex.pack(entries)]
    assert min(sizes[:-1]) > 0.9 * packed_index._LARGEST
    short = sorted(key[:5] + packed_place(10**9, number) for number, key in enumerate(keys))
    sizes = [len(block) for _, block in SignatureIndex.pack(short)]
    assert min(sizes[:-1]) > 0.85 * packed_index._LARGEST


ENTRIES = st.lists(
    st.builds(
        SealedEntry,
        st.binary(min_size=64, max_size=64),
        st.one_of(st.none(), st.text(min_size=1, max_size=20), st.sampled_from(["a", "b"])),
        st.one_of(st.none(), st.text(min_size=1, max_size=20)),
    ),
    max_size=20,
)


@settings(max_examples=examples(100))
@given(entries=ENTRIES, bit=st.integers(0))
def test_entries_of_a_block_come_out_as_they_went_in(entries: list[SealedEntry], bit: int) -> None:
    packed = pack_entries(entries)
    assert unpack_entries(packed) == entries
    if entries:
        with pytest.raises(DamagedEntry):
            unpack_entries(PackedEntries(flipped(packed.entries, bit), *packed[1:]))


@given(content=st.binary(max_size=200), bit=st.integers(0))
def test_a_damaged_dictionary_is_found(content: bytes, bit: int) -> None:
    stored = sealed(content)
    assert opened(stored) == content
    with pytest.raises(DamagedDictionary):
        opened(flipped(stored, bit))
