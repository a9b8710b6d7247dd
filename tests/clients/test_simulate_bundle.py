"""jito-ts, unmodified: its simulateBundle at `/`."""

import json
from typing import Any

import pytest

from .conftest import Node
from .service import Service

SOL = 1_000_000_000


@pytest.fixture(scope="module")
def answers(node: Node, followed: Service) -> Any:
    given = {
        "rpcUrl": f"{followed.base_url}/",
        "websocketUrl": followed.websocket_url,
        "key": followed.key,
    }
    return json.loads(node("jito-ts.mjs", json.dumps(given)))


@pytest.mark.parametrize("bank", ["good", "tip", "replaced"])
def test_a_bundle_is_simulated(answers: Any, bank: str) -> None:
    value = answers[bank]["value"]
    assert answers[bank]["context"]["slot"] > 0
    assert value["summary"] == "succeeded"
    first, second = value["transactionResults"]
    assert (first["err"], second["err"]) == (None, None)
    assert first["unitsConsumed"] == second["unitsConsumed"] == 150
    # The client reads no null in these lists: what is not there has no lamports.
    assert [each["lamports"] for each in first["preExecutionAccounts"]] == [2 * SOL, 0]
    assert first["postExecutionAccounts"] == []
    assert [each["lamports"] for each in second["postExecutionAccounts"]] == [
        1_400_000_000 - 5_000,
        600_000_000 - 5_000,
    ]


def test_without_a_word_on_accounts_none_are_shown(answers: Any) -> None:
    value = answers["plain"]["value"]
    assert value["summary"] == "succeeded"
    assert [each["preExecutionAccounts"] for each in value["transactionResults"]] == [[], []]


def test_a_failure_is_told_in_its_words(answers: Any) -> None:
    value = answers["failing"]["value"]
    failed = value["summary"]["failed"]
    signature, text = failed["error"]["TransactionFailure"]
    assert failed["tx_signature"] == signature
    assert text == "Attempt to debit an account but found no record of a prior credit."
    assert [each["err"] for each in value["transactionResults"]] == ["AccountNotFound"]


def test_a_refusal_reaches_the_caller(answers: Any) -> None:
    assert "bundle size too large, max 4 transactions" in answers["refusal"]
