"""All that a chain ran, run again on past state: each transaction ends as it ended there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.clients.chain_doors import of_service
from tests.clients.service import running_service
from tests.clients.test_every_write import SETTINGS, History, made
from tests.localnet.wallets import encoded

ROUNDS = 4


@pytest.fixture(scope="module")
def history() -> Iterator[History]:
    with running_service(**SETTINGS) as service:
        yield made(service, rounds=ROUNDS)


def simulated(history: History, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The values of simulations: transaction and config each."""
    questions = [("simulateHistoricalTransaction", *each) for each in asked]
    return [each["value"] for each in of_service(history.service, "/rewind", questions)]


def test_every_transaction_ends_as_on_the_chain(history: History) -> None:
    asked = [
        (encoded(each.transaction), {"anchor": {"signature": each.signature}})
        for each in history.taken
    ]
    values = simulated(history, asked)
    bad = [
        (each.kind, value["fidelity"], value["fidelityFields"], value["fidelityReason"])
        for each, value in zip(history.taken, values, strict=True)
        if value["fidelity"] != "verified"
    ]
    assert not bad, Counter(map(str, bad))
    assert len(values) >= 300
    for each, value in zip(history.taken, values, strict=True):
        assert value["err"] == each.err, each.kind
