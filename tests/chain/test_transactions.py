"""Wire transactions decoded and encoded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta
from solders.instruction import Instruction as Call
from solders.keypair import Keypair
from solders.message import Message, MessageAddressTableLookup, MessageHeader, MessageV0, MessageV1
from solders.message import TransactionConfig as Settings
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58encode
from chain.transaction_json import wire_from_json
from chain.transactions import (
    BadTransaction,
    Config,
    Header,
    Instruction,
    Lookup,
    Wire,
    decode_wire,
    encode_wire,
    sanitize,
)
from tests.examples import examples

PAYER = Keypair.from_seed(bytes(32))
PROGRAM = Pubkey(bytes([7]) * 32)
OTHER = Pubkey(bytes([9]) * 32)
BLOCKHASH = Hash(bytes([3]) * 32)
CALLS = [
    Call(PROGRAM, b"abc", [AccountMeta(OTHER, False, True)]),
    Call(PROGRAM, bytes(200), []),
]


def legacy() -> bytes:
    message = Message.new_with_blockhash(CALLS, PAYER.pubkey(), BLOCKHASH)
    return bytes(VersionedTransaction(message, [PAYER]))


def v0() -> bytes:
    plain = MessageV0.try_compile(PAYER.pubkey(), CALLS, [], BLOCKHASH)
    message = MessageV0(
        MessageHeader(1, 0, 1),
        plain.account_keys,
        BLOCKHASH,
        plain.instructions,
        [MessageAddressTableLookup(OTHER, b"\1\2", b"\3")],
    )
    return bytes(VersionedTransaction(message, [PAYER]))


def v1(config: Settings) -> bytes:
    message = MessageV1.try_compile(PAYER.pubkey(), CALLS, BLOCKHASH, config)
    return bytes(VersionedTransaction(message, [PAYER]))


def test_the_parts_are_what_was_put_in() -> None:
    signature = bytes(VersionedTransaction.from_bytes(v0()).signatures[0])
    assert decode_wire(v0()) == Wire(
        signatures=[signature],
        version=0,
        header=Header(1, 0, 1),
        account_keys=[bytes(PAYER.pubkey()), bytes(OTHER), bytes(PROGRAM)],
        recent_blockhash=bytes(BLOCKHASH),
        instructions=[Instruction(2, b"\1", b"abc"), Instruction(2, b"", bytes(200))],
        lookups=[Lookup(bytes(OTHER), b"\1\2", b"\3")],
    )
    assert decode_wire(v0()).key_count == 6
    assert decode_wire(legacy()).version == "legacy"


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(priority_fee=5),
        Config(compute_unit_limit=6, heap_size=32768),
        Config(2**64 - 1, 2**32 - 1, 7, 1024),
    ],
)
def test_a_version_1_transaction_keeps_its_settings(config: Config) -> None:
    data = v1(Settings(*config))
    facts = decode_wire(data)
    sanitize(facts)
    assert (facts.version, facts.config, facts.lookups) == (1, config, [])
    assert facts.signatures == [bytes(VersionedTransaction.from_bytes(data).signatures[0])]
    assert facts.instructions[0] == Instruction(2, b"\1", b"abc")
    assert encode_wire(facts) == data


@pytest.mark.parametrize("data", [legacy(), v0(), v1(Settings(priority_fee=1))])
def test_every_truncation_and_any_trailing_byte_is_refused(data: bytes) -> None:
    assert encode_wire(decode_wire(data)) == data
    for end in range(len(data)):
        with pytest.raises(BadTransaction):
            decode_wire(data[:end])
    with pytest.raises(BadTransaction, match="bytes follow"):
        decode_wire(data + b"\0")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "ends too early"),
        (b"\0" + legacy()[65:], "no signatures"),
        (b"\2" + legacy()[1:65] + bytes(64) + legacy()[65:], "2 signatures where .* wants 1"),
        (legacy()[:65] + b"\x82" + legacy()[65:], "unsupported version 2"),
        (b"\x81\0" + legacy()[1:], "unknown settings|ends too early|bytes follow"),
        (legacy()[:68] + b"\x83\0" + legacy()[69:], "shortest form"),
        (legacy()[:68] + b"\xff\xff\x04" + legacy()[69:], "no compact-u16"),
    ],
)
def test_bytes_that_are_no_transaction_are_refused_with_the_reason(
    data: bytes, reason: str
) -> None:
    with pytest.raises(BadTransaction, match=reason):
        decode_wire(data)


@settings(max_examples=examples(300))
@given(start=st.sampled_from([legacy(), v0(), v1(Settings())]), data=st.data())
def test_what_decodes_encodes_to_the_same_bytes_and_solders_agrees(
    start: bytes, data: st.DataObject
) -> None:
    content = bytearray(start)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    changed = bytes(content)
    try:
        facts = decode_wire(changed)
    except BadTransaction:
        return
    assert encode_wire(facts) == changed
    assert bytes(VersionedTransaction.from_bytes(changed)) == changed


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        assert encode_wire(decode_wire(data)) == data
    except BadTransaction as refused:
        assert refused.reason


compact_lengths = st.sampled_from([0, 1, 127, 128, 255, 16383, 16384, 65535])


@settings(max_examples=examples(30))
@given(compact_lengths, compact_lengths)
def test_lengths_of_one_to_three_bytes_come_back(accounts: int, data: int) -> None:
    facts = decode_wire(legacy())
    longer = Wire(
        facts.signatures,
        "legacy",
        facts.header,
        facts.account_keys,
        facts.recent_blockhash,
        [Instruction(2, bytes(accounts), bytes(data))],
        [],
    )
    assert decode_wire(encode_wire(longer)) == longer


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"signatures": []}, "signatures"),
        ({"signatures": [bytes(63)]}, "signatures[0]"),
        ({"header": Header(1, 1, 1)}, "message.header"),
        ({"header": Header(1, 0, 3)}, "message.header"),
        ({"account_keys": [bytes(32), bytes(31), bytes(32)]}, "message.accountKeys[1]"),
        ({"recent_blockhash": b""}, "message.recentBlockhash"),
        ({"instructions": [Instruction(6, b"", b"")]}, "message.instructions[0]"),
        ({"instructions": [Instruction(2, b"\0\6", b"")]}, "message.instructions[0]"),
        ({"lookups": [Lookup(b"", bytes(3), b"")]}, "message.addressTableLookups[0].accountKey"),
        ({"lookups": [Lookup(bytes(32), bytes(254), b"")]}, "message.accountKeys"),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_their_place(
    change: dict[str, object], place: str
) -> None:
    facts = decode_wire(v0())
    parts = {name: getattr(facts, name) for name in Wire.__slots__}
    sanitize(facts)
    with pytest.raises(BadTransaction) as caught:
        sanitize(Wire(**{**parts, **change}))
    assert caught.value.place == place


def test_json_of_version_1_is_read_with_its_settings() -> None:
    facts = decode_wire(v1(Settings(compute_unit_limit=6)))
    message = {
        "header": {
            "numRequiredSignatures": 1,
            "numReadonlySignedAccounts": 0,
            "numReadonlyUnsignedAccounts": 1,
        },
        "accountKeys": [b58encode(key) for key in facts.account_keys],
        "recentBlockhash": str(BLOCKHASH),
        "instructions": [
            {
                "programIdIndex": each.program_index,
                "accounts": list(each.accounts),
                "data": b58encode(each.data),
            }
            for each in facts.instructions
        ],
        "transactionConfig": {"priorityFee": None, "computeUnitLimit": 6},
    }
    message_json = {"signatures": [b58encode(facts.signatures[0])], "message": message}
    assert wire_from_json(message_json, 1) == facts
    with pytest.raises(BadTransaction) as caught:
        wire_from_json(
            {**message_json, "message": {**message, "transactionConfig": {"heapSize": 2**32}}}, 1
        )
    assert caught.value.place == "message.transactionConfig.heapSize"
