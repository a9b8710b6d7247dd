"""localnet against what a node of 4.4.0 answered about version 1 transactions.

The recording lies outside the repository, beside the checkout.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58decode
from tests.localnet.wallets import SOL, landed, latest_blockhash
from tests.localnet_process import Localnet

FILE = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "agave-4.4.0"
METHODS = ("sendTransaction", "simulateTransaction", "getFeeForMessage")
INVALID_PARAMS = -32602
BLOCKHASH = slice(8, 40)
# What the transactions did on the node, and can do on any chain. Balances were others there.
COMPARED = ("err", "fee", "unitsConsumed", "loadedAccountsDataSize", "returnData", "logs")
# The node's memo program is another build than localnet's.
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
# Its system program's account holds "solana_system_program", as in no older chain.
SYSTEM, LONGER_NAME = Pubkey.default(), len("solana_")
UNDERFUNDED = "Transfer: insufficient lamports"

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="no recording beside the checkout")


class Asked(NamedTuple):
    """What was tried, as it was asked of the node, and its answer."""

    what: str
    method: str
    params: list[Any]
    answer: dict[str, Any]

    @property
    def wire(self) -> bytes:
        encoding = (self.params[1:] or [{}])[0].get("encoding", "base58")
        is_base64 = encoding == "base64" or self.method == "getFeeForMessage"
        text: str = self.params[0]
        return base64.b64decode(text) if is_base64 else b58decode(text)

    @property
    def outcome(self) -> dict[str, Any]:
        """What the transaction would do, as far as the node told it."""
        if "error" in self.answer:
            data: dict[str, Any] = self.answer["error"]["data"]
            return data
        result = self.answer["result"]
        value: dict[str, Any] = {"err": None} if isinstance(result, str) else result["value"]
        return value


@cache
def recorded() -> list[Asked]:
    calls = json.loads(zstandard.decompress((FILE / "version-1.json.zst").read_bytes()))
    return [
        Asked(call["what"], request["method"], request["params"], call["answer"])
        for call in calls
        if (request := call["request"])["method"] in METHODS
    ]


def needs_no_chain(asked: Asked) -> bool:
    """It is refused for what it is, or accepted unseen."""
    if asked.params[1:] and asked.params[1].get("skipPreflight"):
        return True
    error = asked.answer.get("error")
    if error is None:
        return False
    return error["code"] == INVALID_PARAMS or asked.outcome["err"] in (
        "BlockhashNotFound",
        "SignatureFailure",
    )


def keys_of(asked: Asked) -> list[Pubkey]:
    return list(VersionedTransaction.from_bytes(asked.wire).message.account_keys)


def simulated() -> Iterator[Asked]:
    """Those whose outcome the node told, and that do not hang on what it had processed before."""
    for asked in recorded():
        is_fee = asked.method == "getFeeForMessage"
        if not is_fee and not needs_no_chain(asked) and asked.outcome["err"] != "AlreadyProcessed":
            yield asked


@pytest.fixture(scope="module")
def funded(localnet: Localnet) -> Localnet:
    """The recording's wallets are here, with about as much as they had."""
    wallets = {key for asked in simulated() for key in keys_of(asked)[:2] if key != MEMO}
    for key in wallets:
        landed(localnet, localnet.call("requestAirdrop", str(key), 99 * SOL), "confirmed")
    return localnet


def test_what_is_refused_or_sent_unseen_is_answered_as_by_the_node(localnet: Localnet) -> None:
    compared = [asked for asked in recorded() if needs_no_chain(asked)]
    assert len(compared) == 180
    for what, method, params, expected in compared:
        found = localnet.answer(method, *params)
        assert found.get("error") == expected.get("error"), what
        assert found.get("result") == expected.get("result"), what


def test_outcomes_are_those_of_the_node(funded: Localnet) -> None:
    compared = list(simulated())
    assert len(compared) == 26
    for asked in compared:
        text = base64.b64encode(asked.wire).decode()
        options = {"encoding": "base64", "replaceRecentBlockhash": True, "commitment": "processed"}
        found = funded.call("simulateTransaction", text, options)["value"]
        for name in ("fee",) if MEMO in keys_of(asked) else COMPARED:
            if name in asked.outcome:
                assert comparable(found[name]) == expected(asked, name), (asked.what, name)


def expected(asked: Asked, name: str) -> Any:
    value = comparable(asked.outcome[name])
    if name == "loadedAccountsDataSize" and value and SYSTEM in keys_of(asked):
        return value - LONGER_NAME
    return value


def comparable(value: Any) -> Any:
    """Log lines without the payer's balance; all else as it is."""
    if not isinstance(value, list):
        return value
    return [UNDERFUNDED if UNDERFUNDED in line else line for line in value]


def test_fees_are_those_of_the_node(localnet: Localnet) -> None:
    compared = [each for each in recorded() if each.method == "getFeeForMessage"]
    compared = [each for each in compared if not needs_no_chain(each)]
    assert len(compared) == 7
    newest = bytes(Hash.from_string(latest_blockhash(localnet)))
    for asked in compared:
        message = bytearray(asked.wire)
        message[BLOCKHASH] = newest
        text = base64.b64encode(message).decode()
        found = localnet.call("getFeeForMessage", text, {"commitment": "processed"})
        assert found["value"] == asked.answer["result"]["value"], asked.what
