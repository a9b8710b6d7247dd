"""A stream that loses a slot: who waits for a transaction of it is answered all the same."""

from collections.abc import Iterator

import pytest

from tests.localnet.wallets import landed, on_a_nonce, send, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.subscriptions.conftest import Served


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    """A chain of its own: its stream loses messages."""
    with running_localnet() as running:
        yield running


def test_a_signature_of_a_lost_slot_is_notified_once_the_ledger_has_it(served: Served) -> None:
    localnet = served.localnet
    payer = wallet(localnet)
    transaction = on_a_nonce(localnet, payer)
    signature = str(transaction.signatures[0])
    with served.socket() as socket:
        numbers = [
            socket.call("signatureSubscribe", signature, {"commitment": commitment})
            for commitment in ("confirmed", "finalized")
        ]
        localnet.call("setFaults", {"losePercent": 100})
        send(localnet, transaction)
        slot = landed(localnet, signature, "confirmed")["slot"]
        localnet.call("setFaults", {"losePercent": 0})
        for number in numbers:
            result = socket.result(number)
            assert result == {"context": {"slot": slot}, "value": {"err": None}}
        error = socket.error("signatureUnsubscribe", numbers[0])
        assert error["data"]["reason"] == "subscription_unknown"
