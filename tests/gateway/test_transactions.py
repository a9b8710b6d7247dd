"""Transactions in text: read whole, or refused with a reason."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import SanitizeError, VersionedTransaction

from chain.encodings import b58encode
from chain.transactions import Instruction, Lookup, decode_wire, encode_wire
from gateway.transactions import (
    TransactionText,
    TransactionTooLarge,
    TransactionUndecodable,
    UnsupportedVersion,
    read_signed,
    read_transaction,
)
from jsonrpc.errors import InvalidParams

PAYER = Keypair.from_seed(bytes(32))
PAY = transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=Pubkey.default(), lamports=1))
GOOD = {
    "legacy": VersionedTransaction(Message([PAY], PAYER.pubkey()), [PAYER]),
    "v0": VersionedTransaction(
        MessageV0.try_compile(PAYER.pubkey(), [PAY], [], Hash.default()), [PAYER]
    ),
}
WRITTEN: dict[TransactionText, Callable[[bytes], str]] = {
    TransactionText.BASE58: b58encode,
    TransactionText.BASE64: lambda data: base64.b64encode(data).decode(),
}
BASE64 = TransactionText.BASE64


def refusal(text: str, encoding: TransactionText = BASE64) -> InvalidParams:
    with pytest.raises(InvalidParams) as caught:
        read_transaction(text, encoding, at="[0]")
    assert caught.value.code == -32602
    assert caught.value.data["at"] == "[0]"
    return caught.value


@pytest.mark.parametrize("encoding", WRITTEN)
@pytest.mark.parametrize("version", GOOD)
def test_a_transaction_is_read_in_both_encodings(version: str, encoding: TransactionText) -> None:
    transaction = GOOD[version]
    assert read_transaction(WRITTEN[encoding](bytes(transaction)), encoding, at="") == transaction


@pytest.mark.parametrize("encoding", WRITTEN)
@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (b"", TransactionUndecodable),
        (b"\1", TransactionUndecodable),
        (bytes(GOOD["v0"]) + b"\0", TransactionUndecodable),
        (bytes(GOOD["legacy"])[:-1], TransactionUndecodable),
        (b"\2" + bytes(GOOD["v0"])[1:], TransactionUndecodable),
        (b"\1" * 1_233, TransactionTooLarge),
        (b"\xff" * 1_233, TransactionTooLarge),
        (b"\1" * 20_000, TransactionTooLarge),
    ],
)
def test_what_is_no_transaction_is_refused(
    wire: bytes, kind: type[InvalidParams], encoding: TransactionText
) -> None:
    refused = refusal(WRITTEN[encoding](wire) if wire else "", encoding)
    assert type(refused) is kind
    if kind is TransactionTooLarge:
        assert refused.data["maximum"] == 1_232 < refused.data["found"]


def test_version_1_is_named() -> None:
    message = MessageV1.try_compile(PAYER.pubkey(), [PAY], Hash.default())
    refused = refusal(WRITTEN[BASE64](bytes(VersionedTransaction(message, [PAYER]))))
    assert type(refused) is UnsupportedVersion
    assert refused.data["reason"] == "unsupported_version"
    assert refused.data["found"] == 1


@pytest.mark.parametrize("text", ["!", "AQ", "A===", "Ä" * 10, "AA==\n"])
def test_bad_base64_is_refused(text: str) -> None:
    assert type(refusal(text)) is TransactionUndecodable


@given(st.text(max_size=2_000), st.sampled_from(TransactionText))
@example("0", TransactionText.BASE58)
def test_any_text_is_read_or_refused(text: str, encoding: TransactionText) -> None:
    try:
        read_transaction(text, encoding, at="")
    except InvalidParams as refused:
        assert str(refused.data["reason"]).startswith(("transaction_", "unsupported_"))


@pytest.mark.parametrize("encoding", WRITTEN)
@pytest.mark.parametrize("version", GOOD)
def test_a_signed_transaction_is_read_in_both_encodings(
    version: str, encoding: TransactionText
) -> None:
    wire = bytes(GOOD[version])
    read = read_signed(WRITTEN[encoding](wire), encoding, at="")
    assert read.data == wire
    assert read.wire.signatures == [bytes(each) for each in GOOD[version].signatures]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"instructions": [Instruction(0, b"\0\1", b"")]}, "message.instructions[0]"),
        ({"instructions": [Instruction(2, b"\0\1", b"")]}, "message.instructions[0]"),
        ({"lookups": [Lookup(bytes(32), b"\1", b""), Lookup(bytes(32), b"", b"")]}, "Lookups[1]"),
    ],
)
def test_what_no_node_takes_is_refused(change: dict[str, Any], place: str) -> None:
    wire = decode_wire(bytes(GOOD["v0"]))
    wire = replace(wire, **{"lookups": [Lookup(bytes(32), b"\1", b"")], **change})
    message = encode_wire(wire)[65:]
    signed = bytes([1]) + bytes(PAYER.sign_message(message)) + message
    with pytest.raises(TransactionUndecodable) as caught:
        read_signed(WRITTEN[BASE64](signed), BASE64, at="")
    assert place in caught.value.message
    with pytest.raises(SanitizeError):
        VersionedTransaction.from_bytes(signed).sanitize()


def test_a_key_that_is_loaded_twice_is_refused() -> None:
    wire = decode_wire(bytes(GOOD["v0"]))
    payer, *others = wire.account_keys
    message = encode_wire(replace(wire, account_keys=[payer, *others, payer]))[65:]
    signed = bytes([1]) + bytes(PAYER.sign_message(message)) + message
    with pytest.raises(TransactionUndecodable, match="twice"):
        read_signed(WRITTEN[BASE64](signed), BASE64, at="")


@given(st.sampled_from(list(GOOD)), st.integers(0, 10_000), st.integers(1, 255))
def test_whatever_is_changed_of_a_signed_transaction_is_noticed(
    version: str, place: int, change: int
) -> None:
    wire = bytearray(bytes(GOOD[version]))
    wire[place % len(wire)] ^= change
    with pytest.raises(InvalidParams) as caught:
        read_signed(WRITTEN[BASE64](bytes(wire)), BASE64, at="")
    assert str(caught.value.data["reason"]).startswith(
        ("transaction_", "unsupported_", "signature_invalid")
    )
