"""Transactions in text: read whole, or refused with a reason."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta
from solders.instruction import Instruction as SolanaInstruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig
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
ASKED = TransactionConfig(compute_unit_limit=1_000, loaded_accounts_data_size_limit=65_536)
GOOD = {
    "legacy": VersionedTransaction(Message([PAY], PAYER.pubkey()), [PAYER]),
    "v0": VersionedTransaction(
        MessageV0.try_compile(PAYER.pubkey(), [PAY], [], Hash.default()), [PAYER]
    ),
    "v1": VersionedTransaction(
        MessageV1.try_compile(PAYER.pubkey(), [PAY], Hash.default(), ASKED), [PAYER]
    ),
}
WRITTEN: dict[TransactionText, Callable[[bytes], str]] = {
    TransactionText.BASE58: b58encode,
    TransactionText.BASE64: lambda data: base64.b64encode(data).decode(),
}
BASE64, BASE58 = TransactionText.BASE64, TransactionText.BASE58
TYPE = "solana_transaction::versioned::VersionedTransaction"


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


def version_1(*instructions: SolanaInstruction, **asked: int) -> bytes:
    message = MessageV1.try_compile(
        PAYER.pubkey(), list(instructions), Hash.default(), TransactionConfig(**asked)
    )
    return bytes(VersionedTransaction(message, [PAYER]))


def sized(size: int, *, version: int) -> bytes:
    """A signed transaction of so many bytes: version 1 with one, or legacy."""
    program = Pubkey.new_unique()

    def built(length: int) -> bytes:
        note = SolanaInstruction(program, b"x" * length, [])
        if version == 1:
            return version_1(note)
        return bytes(VersionedTransaction(Message([note], PAYER.pubkey()), [PAYER]))

    wire = built(size - len(built(600)) + 600)
    assert len(wire) == size
    return wire


OLDER = "legacy and version 0; version 1 has 4096 bytes"
# What a transaction of a version and a size is told in an encoding.
TOO_LARGE = [
    (0, 1_233, BASE64, 1_232, f"decoded {TYPE} too large: 1233 bytes (max: 1232 bytes)", OLDER),
    (
        0, 1_300, BASE64, 1_232,
        f"base64 encoded {TYPE} too large: 1736 bytes (max: encoded/raw 1644/1232)", OLDER,
    ),
    (1, 4_097, BASE64, 4_096, f"decoded {TYPE} too large: 4097 bytes (max: 4096 bytes)", "1"),
    (
        1, 4_200, BASE64, 4_096,
        f"base64 encoded {TYPE} too large: 5600 bytes (max: encoded/raw 5464/4096)", "version 1",
    ),
    (
        0, 1_300, BASE58, 1_232, f"base58 encoded {TYPE} too large: ",
        "(max: encoded/raw 1683/1232): the limit of base58 for any version; in base64 version 1"
        " has 4096 bytes",
    ),
    (1, 1_300, BASE58, 1_232, f"base58 encoded {TYPE} too large: ", "version 1 has 4096 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "size", "encoding", "maximum", "begins", "ends"), TOO_LARGE)
def test_the_limit_of_each_version_and_encoding_is_named(
    version: int, size: int, encoding: TransactionText, maximum: int, begins: str, ends: str
) -> None:
    refused = refusal(WRITTEN[encoding](sized(size, version=version)), encoding)
    assert type(refused) is TransactionTooLarge
    assert refused.message.startswith(begins)
    assert refused.message.endswith(ends)
    assert refused.data["maximum"] == maximum < refused.data["found"] <= size


@pytest.mark.parametrize(
    ("version", "size", "encoding"),
    [(0, 1_232, BASE64), (0, 1_232, BASE58), (1, 4_096, BASE64), (1, 1_232, BASE58)],
)
def test_the_largest_of_each_version_and_encoding_is_read(
    version: int, size: int, encoding: TransactionText
) -> None:
    wire = sized(size, version=version)
    assert read_signed(WRITTEN[encoding](wire), encoding, at="").data == wire


@pytest.mark.parametrize("first", [0x82, 0x83, 0xFF])
def test_a_later_version_is_named(first: int) -> None:
    wire = bytes([first]) + bytes(GOOD["v1"])[1:]
    refused = refusal(WRITTEN[BASE64](wire))
    assert type(refused) is UnsupportedVersion
    assert refused.message.startswith(
        f"failed to deserialize {TYPE}: Custom error: invalid transaction discriminator"
    )
    assert (refused.data["found"], refused.data["maximum"]) == (first - 0x80, 1)


PROGRAM = Pubkey.new_unique()
NOTES = [SolanaInstruction(PROGRAM, bytes([number]), []) for number in range(65)]
SIGNERS = [Keypair() for _ in range(12)]
UNRUNNABLE = {
    "heap too small": (version_1(PAY, heap_size=1), "transactionConfig.heapSize"),
    "heap of no whole KiB": (version_1(PAY, heap_size=33_000), "transactionConfig.heapSize"),
    "heap too large": (version_1(PAY, heap_size=1_048_576), "transactionConfig.heapSize"),
    "65 instructions": (version_1(*NOTES), "message.instructions: 65; version 1 has at most 64"),
    "65 keys": (
        version_1(
            SolanaInstruction(
                Pubkey.new_unique(),
                b"",
                [AccountMeta(Pubkey.new_unique(), False, False) for _ in range(63)],
            )
        ),
        "message.accountKeys: 65; version 1 has at most 64",
    ),
    "13 signatures": (
        bytes(
            VersionedTransaction(
                MessageV1.try_compile(
                    PAYER.pubkey(),
                    [
                        SolanaInstruction(
                            Pubkey.default(),
                            b"",
                            [AccountMeta(each.pubkey(), True, False) for each in SIGNERS],
                        )
                    ],
                    Hash.default(),
                ),
                [PAYER, *SIGNERS],
            )
        ),
        "signatures: 13; version 1 has at most 12",
    ),
    "unknown settings": (
        bytes(GOOD["v1"])[:4] + b"\x20" + bytes(GOOD["v1"])[5:],
        "unknown settings 0x20",
    ),
    "half a priority fee": (
        bytes(GOOD["v1"])[:4] + b"\x01" + bytes(GOOD["v1"])[5:], "unknown settings 0x1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNRUNNABLE)
def test_what_version_1_does_not_allow_is_named(case: str) -> None:
    wire, reason = UNRUNNABLE[case]
    with pytest.raises(TransactionUndecodable) as caught:
        read_signed(WRITTEN[BASE64](wire), BASE64, at="")
    assert reason in caught.value.message
    with pytest.raises((SanitizeError, ValueError)):
        VersionedTransaction.from_bytes(wire).sanitize()


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
