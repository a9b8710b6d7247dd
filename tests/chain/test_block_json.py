"""Blocks and transactions in the standard node's JSON."""

from pathlib import Path

import msgspec
import pytest

from chain.block_json import (
    binary_text,
    json_text,
    split,
    transaction_text,
    transactions_text,
    version_of,
)
from chain.blocks import CURRENT_FORM, SlotRecord, TransactionRecord
from chain.commitment import TransactionDetails, TransactionEncoding
from chain.encodings import b58encode
from tests.upstream import sample_blocks as sample
from upstream.archives.block_files import open_block_file

BINARY = [
    TransactionEncoding.BASE58,
    TransactionEncoding.BASE64,
    TransactionEncoding.BINARY,
]
SAMPLE = [
    TransactionRecord(wire, meta) for wire, meta in zip(sample.WIRES, sample.METAS, strict=True)
]


def as_json(record: TransactionRecord) -> bytes:
    wire = record.decoded
    keys = [b58encode(key) for key in wire.account_keys]
    signatures = [b58encode(each) for each in wire.signatures]
    return json_text(wire, keys, signatures, record.meta, CURRENT_FORM)


def check_binary(records: list[TransactionRecord], encoding: TransactionEncoding) -> None:
    """From the wire bytes and from the text of encoding `json` comes the same."""
    direct = [binary_text(each.wire, each.decoded.version, each.meta, encoding) for each in records]
    assert [
        transaction_text(as_json(each), CURRENT_FORM, encoding=encoding, versions=True)
        for each in records
    ] == direct
    for rewards in (True, False):
        rendered = [
            transactions_text(
                b",".join(texts),
                CURRENT_FORM,
                encoding=encoding,
                details=TransactionDetails.FULL,
                rewards=rewards,
                versions=False,
            )
            for texts in (direct, map(as_json, records))
        ]
        assert rendered[0] == rendered[1]
        assert len(split(rendered[0])) == len(records)
        legacy = sum(each.decoded.version == "legacy" for each in records)
        assert legacy == sum(b'"version":' not in text for text in split(rendered[0]))


@pytest.mark.parametrize("encoding", BINARY)
def test_a_binary_text_is_what_the_json_text_renders_to(encoding: TransactionEncoding) -> None:
    check_binary(SAMPLE, encoding)


@pytest.mark.parametrize("encoding", BINARY)
def test_a_binary_text_is_what_the_json_text_of_mainnet_renders_to(
    fixtures: Path, encoding: TransactionEncoding
) -> None:
    with open_block_file(fixtures / "blocks" / "mainnet-254170887.base64.json.gz") as blocks:
        (record,) = (each for each in blocks if isinstance(each, SlotRecord))
    check_binary(record.transactions[:200], encoding)


def test_a_text_has_its_version() -> None:
    assert [version_of(as_json(each)) for each in SAMPLE] == [-1, 0]


@pytest.mark.parametrize("rewards", [True, False])
def test_rewards_of_transactions_are_there_unless_declined(rewards: bool) -> None:
    """The standard node leaves them out of `accounts`, and writes null in `full`."""
    full, accounts = (
        msgspec.json.decode(
            transactions_text(
                as_json(SAMPLE[1]),
                CURRENT_FORM,
                encoding=TransactionEncoding.JSON,
                details=details,
                rewards=rewards,
                versions=True,
            )
        )
        for details in (TransactionDetails.FULL, TransactionDetails.ACCOUNTS)
    )
    assert full["meta"]["rewards"] == ([] if rewards else None)
    assert accounts["meta"].get("rewards", "absent") == ([] if rewards else "absent")
