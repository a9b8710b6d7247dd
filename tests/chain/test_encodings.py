"""Base58 and base64 against the textbook definition."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.encodings import b58decode, b58encode, b64decode, b64encode

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

zeros_then_anything = st.builds(
    lambda zeros, rest: bytes(zeros) + rest, st.integers(0, 80), st.binary(max_size=1500)
)


def textbook_b58encode(data: bytes) -> str:
    value = int.from_bytes(data)
    text = ""
    while value:
        value, digit = divmod(value, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


@given(zeros_then_anything)
def test_base58_is_what_the_definition_says_and_reads_back(data: bytes) -> None:
    text = b58encode(data)
    assert text == textbook_b58encode(data)
    assert b58decode(text) == data


@given(st.text(alphabet=ALPHABET, max_size=600))
def test_any_base58_text_reads_and_writes_back(text: str) -> None:
    assert b58encode(b58decode(text)) == text


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 62, 63, 64, 65, 126, 127, 128, 1232, 10_240])
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_base58_holds_at_the_edges_of_its_leaves(size: int, byte: int) -> None:
    data = bytes([byte]) * size
    assert b58decode(b58encode(data)) == data
    assert b58encode(data) == textbook_b58encode(data)


def test_base58_of_a_pubkey_is_the_pubkeys_text() -> None:
    text = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
    assert b58decode(text) == bytes(Pubkey.from_string(text))
    assert b58encode(b58decode(text)) == text


@pytest.mark.parametrize(
    "text", ["0", "O", "I", "l", " ", "a b", "é", "2" * 200 + "0", "1" * 90 + "l"]
)
def test_text_outside_the_alphabet_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        b58decode(text)


@given(st.text(max_size=300))
def test_base58_decoding_raises_nothing_but_value_error(text: str) -> None:
    try:
        data = b58decode(text)
    except ValueError:
        return
    assert b58encode(data) == text


@given(st.binary(max_size=500))
def test_base64_is_the_standard_one_and_reads_back(data: bytes) -> None:
    assert b64encode(data) == base64.b64encode(data).decode()
    assert b64decode(b64encode(data)) == data


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A", "Invalid input length: 1"),
        ("AAAAA", "Invalid input length: 5"),
        ("AA", "Invalid padding"),
        ("AAA", "Invalid padding"),
        ("AA=A", "Invalid symbol 61, offset 2."),
        ("=", "Invalid symbol 61, offset 0."),
        ("AA==AAAA", "Invalid symbol 61, offset 2."),
        ("A===", "Invalid symbol 61, offset 1."),
        ("AB==", "Invalid last symbol 0x42 ('B') at offset 1, decoded as 0b00000001."),
        ("AAAAAAB=", "Invalid last symbol 0x42 ('B') at offset 6, decoded as 0b00000001."),
        ("AAA\n", "Invalid symbol 10, offset 3."),
        ("AAAA\n", "Invalid symbol 10, offset 4."),
        ("A A=", "Invalid symbol 32, offset 1."),
        ("-_==", "Invalid symbol 45, offset 0."),
        ("é", "Invalid symbol 195, offset 0."),
    ],
)
def test_base64_in_another_form_is_refused_in_the_nodes_words(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as refused:
        b64decode(text)
    assert str(refused.value) == reason


@given(st.text("AQg/+=_ \né", max_size=12))
def test_base64_is_read_or_refused(text: str) -> None:
    try:
        assert b64encode(b64decode(text)) == text
    except ValueError as refused:
        assert str(refused).startswith("Invalid")
