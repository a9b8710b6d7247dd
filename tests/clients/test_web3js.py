"""The npm client @solana/web3.js 1.x reads the ledger; its own checks accept every answer."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

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
    return json.loads(node("web3.mjs", given))


def value(answers: Any, name: str) -> Any:
    assert "error" not in answers[name], answers[name]
    return answers[name].get("value")


def as_read(entry: dict[str, Any]) -> dict[str, Any]:
    """A transaction of a block in base64, as web3.mjs prints it."""
    transaction = wire(entry)
    return {
        "message": base64.b64encode(_message_bytes(entry)).decode(),
        "signatures": [str(signature) for signature in transaction.signatures],
        "meta": entry["meta"],
        "version": entry["version"],
    }


def _message_bytes(entry: dict[str, Any]) -> bytes:
    raw = base64.b64decode(entry["transaction"][0])
    return raw[1 + 64 * raw[0] :]  # fewer than 128 signatures: their count is one byte


def test_the_bounds_of_the_ledger(answers: Any) -> None:
    assert value(answers, "slot") == MADE
    assert value(answers, "firstAvailable") == RANGE[0]
    between = value(answers, "blocks")
    assert len(between) == 88 and SKIPPED not in between


def test_a_block_with_versioned_transactions_is_its_source_to_the_byte(
    answers: Any, blocks: Path
) -> None:
    source = modern_block(blocks)
    answer = value(answers, "block")
    assert answer["transactions"] == [as_read(entry) for entry in source["transactions"]]
    header = {name: each for name, each in source.items() if name != "transactions"}
    assert {name: answer[name] for name in header} == header
    assert value(answers, "blockTime") == source["blockTime"]


def test_a_parsed_block_is_its_source(answers: Any, blocks: Path) -> None:
    source = legacy_block(blocks, "jsonParsed")
    answer = value(answers, "parsedBlock")
    assert len(answer["transactions"]) == len(source["transactions"])
    for read, expected in zip(answer["transactions"], source["transactions"], strict=True):
        assert read["transaction"] == expected["transaction"]
        assert read["meta"] == expected["meta"]


def test_blocks_of_less_detail(answers: Any, blocks: Path) -> None:
    source = legacy_block(blocks, "base64")
    signatures = first_signatures(source)
    bare = value(answers, "bareBlock")
    assert bare["blockhash"] == source["blockhash"]
    assert "transactions" not in bare and "rewards" not in bare
    assert value(answers, "blockSignatures")["signatures"] == signatures
    accounts = value(answers, "accountsBlock")["transactions"]
    assert [each["transaction"]["signatures"][0] for each in accounts] == signatures
    assert all(each["transaction"]["accountKeys"] for each in accounts)


def test_transactions_one_by_one_and_as_a_batch(answers: Any, blocks: Path) -> None:
    expected = [as_read(entry) for entry in modern_block(blocks)["transactions"][:50]]
    assert value(answers, "transactions") == expected
    assert value(answers, "transaction") == expected[0]
    assert value(answers, "absentTransaction") is None


def test_parsed_transactions_one_by_one_and_as_a_batch(answers: Any, blocks: Path) -> None:
    source = legacy_block(blocks, "jsonParsed")
    read = value(answers, "parsedTransactions")
    assert len(read) == len(source["transactions"])
    for answer, expected in zip(read, source["transactions"], strict=True):
        assert answer["transaction"] == expected["transaction"]
        assert answer["meta"] == expected["meta"]
        assert (answer["slot"], answer["blockTime"]) == (LEGACY, source["blockTime"])
    assert value(answers, "parsedTransaction") == read[0]


def test_an_addresss_signatures_page_by_page(answers: Any, blocks: Path) -> None:
    source = modern_block(blocks)
    expected = signatures_of(TOKEN_PROGRAM, source)
    read = value(answers, "signaturesForAddress")
    assert [each["signature"] for each in read] == expected
    errors = dict(
        zip(
            first_signatures(source),
            [entry["meta"]["err"] for entry in source["transactions"]],
            strict=True,
        )
    )
    assert [each["err"] for each in read] == [errors[signature] for signature in expected]


def test_statuses(answers: Any) -> None:
    statuses = value(answers, "statuses")
    assert statuses["context"]["slot"] == MADE
    assert statuses["value"][0]["slot"] == MODERN
    assert statuses["value"][0]["confirmationStatus"] == "finalized"
    assert statuses["value"][1] is None


@pytest.mark.parametrize(
    ("name", "code"),
    [("skipped", -32007), ("unsupportedVersion", -32015), ("blockTimeOfSkipped", -32007)],
)
def test_refusals_are_the_clients_own_errors(answers: Any, name: str, code: int) -> None:
    error = answers[name]["error"]
    assert (error["kind"], error["code"]) == ("SolanaJSONRPCError", code)


def test_the_key_may_stand_in_the_url_and_a_wrong_one_is_refused(answers: Any) -> None:
    assert value(answers, "slotByAddress") == MADE
    assert answers["wrongKey"]["error"]["message"].startswith("401 Unauthorized")
