"""The npm clients at `/`: airdrop, transfer, confirm as with any node; then the ledger has it."""

import json
from typing import Any

import pytest

from .conftest import Node
from .service import Service


@pytest.fixture(params=["localnet-kit.mjs", "localnet-web3.mjs"], ids=["kit", "web3.js"])
def answers(request: pytest.FixtureRequest, node: Node, followed: Service) -> Any:
    given = {
        "rpcUrl": f"{followed.base_url}/",
        "ledgerUrl": followed.url,
        "websocketUrl": f"ws://{followed.host}:{followed.port}/?api_key={followed.key}",
        "key": followed.key,
    }
    if "web3" in request.param:
        # One URL with the key: web3.js finds the WebSocket itself, on the next port.
        given["rpcUrl"] += f"?api_key={followed.key}"
        del given["websocketUrl"]
    return json.loads(node(request.param, json.dumps(given)))


def test_what_was_sent_at_the_root_is_the_same_in_the_ledger(answers: Any) -> None:
    assert answers["stored"] is not None, "the ledger does not have it"
    assert answers["own"]["meta"]["err"] is None and answers["own"]["meta"]["fee"] == 5_000
    # The ledger tells the place in the block too.
    assert answers["stored"].pop("transactionIndex", 0) >= 0
    answers["own"].pop("transactionIndex", None)
    assert answers["stored"] == answers["own"]
    assert answers["balance"] == 2_000_000_000 - 1_000_000 - 5_000
