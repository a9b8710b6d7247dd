"""Damaged blocks are found, and what cannot be sealed is refused."""

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_digest

from rewind.sealed.packing.block_codec import BlockDamaged, Change, decode, encode
from rewind.sealed.packing.frames import Compressor
from tests.examples import examples
from tests.rewind.sealed_changes import I32, I64, account, sorted_changes


def test_any_flipped_bit_is_found() -> None:
    (block,) = encode(account(versions=25, size=60), None)
    for place in range(8 * len(block.body)):
        damaged = bytearray(block.body)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(BlockDamaged):
            decode(bytes(damaged), None)
    for size in range(len(block.body)):
        with pytest.raises(BlockDamaged):
            decode(block.body[:size], None)
    with pytest.raises(BlockDamaged):
        decode(block.body + b"\0", None)


@given(st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_bytes_that_are_no_block_are_refused(body: bytes) -> None:
    with pytest.raises(BlockDamaged):
        decode(body, None)


@given(st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_a_right_checksum_over_anything_is_refused(packed: bytes) -> None:
    with pytest.raises(BlockDamaged):
        decode(xxh3_64_digest(packed) + packed, None)


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda each: b"\1\0" + each)))
@settings(max_examples=examples(300))
def test_rubbish_packed_as_a_block_is_refused(content: bytes) -> None:
    _reads_or_is_damaged(Compressor(None).pack(content))


@given(sorted_changes.filter(bool), st.data())
@settings(max_examples=examples(600))
def test_a_changed_content_is_read_or_refused(changes: list[Change], data: st.DataObject) -> None:
    """With a checksum that is right: nothing but BlockDamaged, and never much memory."""
    content = bytearray(_content(changes))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.one_of(st.integers(0, 60), st.integers(0, len(content))))
        place = min(place, len(content) - 1)
        match data.draw(st.integers(0, 2)):
            case 0:
                content[place] = data.draw(st.one_of(st.integers(0, 255), st.just(255)))
            case 1:
                del content[place : place + data.draw(st.integers(1, 9))]
            case _:
                content[place:place] = data.draw(st.binary(max_size=9))
        if not content:
            return
    _reads_or_is_damaged(Compressor(None).pack(content))


def _content(changes: list[Change]) -> bytes:
    block = next(encode(changes, None))
    return zstandard.ZstdDecompressor().decompress(block.body[8:])


def _reads_or_is_damaged(packed: bytes) -> None:
    try:
        body = decode(packed, None)
    except BlockDamaged:
        return
    try:
        assert body.last[0] >= body.first[0][:1]
        for number, _ in enumerate(body.all()):
            if number > 20:
                break
        pubkey, slot, position = body.first
        body.newest(pubkey, slot + 5, position)
        body.of_account(pubkey, (slot, position), (I64, I32))
        body.keys_of(pubkey)
    except BlockDamaged:
        return


_WHOLE = Change(bytes(32), 5, 3, 0, 1, 0, False, 1, b"")


@pytest.mark.parametrize(
    "changes",
    [
        [_WHOLE, _WHOLE],
        [_WHOLE, _WHOLE._replace(slot=4)],
        [_WHOLE, _WHOLE._replace(position=2)],
        [_WHOLE._replace(pubkey=b"\1" * 32), _WHOLE],
        [_WHOLE._replace(pubkey=b"\2" * 32), _WHOLE._replace(pubkey=b"\1" * 32), _WHOLE],
        [_WHOLE, _WHOLE._replace(pubkey=b"\2" * 32), _WHOLE._replace(pubkey=b"\1" * 32)],
        [_WHOLE._replace(pubkey=b"\1" * 31)],
        [_WHOLE, _WHOLE._replace(pubkey=b"\1" * 33)],
        [_WHOLE._replace(slot=-1)],
        [_WHOLE._replace(slot=2**63)],
        [_WHOLE._replace(position=-3)],
        [_WHOLE._replace(position=2**31)],
        [_WHOLE._replace(kind=2)],
        [_WHOLE._replace(lamports=-1)],
        [_WHOLE._replace(lamports=2**64)],
        [_WHOLE._replace(rent_epoch=2**64)],
        [_WHOLE._replace(owner_id=0)],
        [_WHOLE._replace(owner_id=2**31)],
    ],
    ids=range(18),
)
def test_changes_that_cannot_be_sealed_are_refused(changes: list[Change]) -> None:
    with pytest.raises(ValueError):
        list(encode(changes, None))


def test_a_change_with_too_much_data_is_refused() -> None:
    with pytest.raises(ValueError):
        list(encode([_WHOLE._replace(data=bytes((10 << 20) + 1))], None))


def test_a_wrong_dictionary_is_refused() -> None:
    with pytest.raises(ValueError):
        list(encode([_WHOLE], b"\x37\xa4\x30\xec" + b"\xff" * 40))
