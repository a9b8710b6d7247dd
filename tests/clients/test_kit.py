"""The npm client @solana/kit reads the ledger; integers come exact, as the BigInts it makes."""

import json
from pathlib import Path
from typing import Any

import pytest
from solders.transaction import VersionedTransaction

from chain.encodings import b58decode

from .conftest import Node
from .sources import (
    LEGACY,
    MADE,
    MODERN,
    RANGE,
    SKIPPED,
    TOKEN_PROGRAM,
    first_signatures,
    legacy_block,
    modern_block,
    signatures_of,
    wire,
)


@pytest.fixture(scope="module")
def answers(node: Node, given: str) -> Any:
    return json.loads(node("kit.mjs", given))


def value(answers: Any, name: str) -> Any:
    assert "error" not in answers[name], answers[name]
    return answers[name]["value"]


def test_the_bounds_of_the_ledger(answers: Any, blocks: Path) -> None:
    assert value(answers, "slot") == MADE
    assert value(answers, "firstAvailable") == RANGE[0]
    between = value(answers, "blocks")
    assert len(between) == 88 and SKIPPED not in between
    assert value(answers, "blocksWithLimit") == [55065033, 55065034]
    assert value(answers, "blockTime") == modern_block(blocks)["blockTime"]


def test_a_block_is_its_source_in_every_encoding_the_source_has(answers: Any, blocks: Path) -> None:
    assert value(answers, "base64Block") == modern_block(blocks)
    assert value(answers, "jsonBlock") == legacy_block(blocks, "json")
    assert value(answers, "parsedBlock") == legacy_block(blocks, "jsonParsed")


def test_blocks_of_less_detail(answers: Any, blocks: Path) -> None:
    source = legacy_block(blocks, "base64")
    rewards = source.pop("rewards")
    transactions = source.pop("transactions")
    signatures = first_signatures({"transactions": transactions})
    assert value(answers, "bareBlock") == source
    listed = {**source, "rewards": rewards, "signatures": signatures}
    assert value(answers, "blockSignatures") == listed
    accounts = value(answers, "accountsBlock")["transactions"]
    assert [each["transaction"]["signatures"][0] for each in accounts] == signatures
    assert all(each["transaction"]["accountKeys"] for each in accounts)


@pytest.mark.parametrize("encoding", ["json", "jsonParsed"])
def test_a_transaction_is_as_in_its_source(answers: Any, blocks: Path, encoding: str) -> None:
    source = legacy_block(blocks, encoding)
    assert value(answers, encoding) == [
        {**entry, "slot": LEGACY, "blockTime": source["blockTime"], "transactionIndex": index}
        for index, entry in enumerate(source["transactions"])
    ]


def test_a_transaction_in_the_binary_encodings(answers: Any, blocks: Path) -> None:
    source = modern_block(blocks)
    expected = {
        **source["transactions"][0],
        "slot": MODERN,
        "blockTime": source["blockTime"],
        "transactionIndex": 0,
    }
    assert value(answers, "base64") == expected
    base58 = value(answers, "base58")
    text, word = base58.pop("transaction")
    assert word == "base58"
    assert VersionedTransaction.from_bytes(b58decode(text)) == wire(source["transactions"][0])
    assert base58 == {name: each for name, each in expected.items() if name != "transaction"}
    assert value(answers, "absentTransaction") is None


def test_an_addresss_signatures_page_by_page(answers: Any, blocks: Path) -> None:
    read = value(answers, "signaturesForAddress")
    assert [each["signature"] for each in read] == signatures_of(
        TOKEN_PROGRAM, modern_block(blocks)
    )


def test_statuses(answers: Any) -> None:
    statuses = value(answers, "statuses")
    assert statuses["context"]["slot"] == MADE
    assert statuses["value"][0]["slot"] == MODERN
    assert statuses["value"][0]["confirmationStatus"] == "finalized"
    assert statuses["value"][1] is None


@pytest.mark.parametrize(("name", "code"), [("skipped", -32007), ("unsupportedVersion", -32015)])
def test_refusals_are_the_clients_own_errors(answers: Any, name: str, code: int) -> None:
    error = answers[name]["error"]
    assert (error["known"], error["code"]) == (True, code)


def test_the_key_may_stand_in_the_url_and_a_wrong_one_is_refused(answers: Any) -> None:
    assert value(answers, "slotByAddress") == MADE
    assert answers["wrongKey"]["error"]["context"]["statusCode"] == 401
