"""All that a chain ran, run again on past state: each transaction ends as it ended there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from embedded.addresses import embedded_addresses
from tests.clients.chain_doors import of_service
from tests.clients.planned import Planned
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


def unproved(values: Sequence[dict[str, Any]], planned: Sequence[Planned]) -> Counter[str]:
    """What was not verified: kind, fidelity, fields and reason, each with how often."""
    told = ("fidelity", "fidelityFields", "fidelityReason")
    return Counter(
        str([each.kind, *(value[name] for name in told)])
        for each, value in zip(planned, values, strict=True)
        if value["fidelity"] != "verified"
    )


def test_every_transaction_ends_as_on_the_chain(history: History) -> None:
    asked = [
        (
            encoded(each.transaction),
            {"anchor": {"signature": each.signature}, "innerInstructions": True},
        )
        for each in history.taken
    ]
    values = simulated(history, asked)
    assert not unproved(values, history.taken)
    assert len(values) >= 300
    metas = {
        entry["transaction"]["signatures"][0]: entry["meta"]
        for block in history.blocks.values()
        for entry in block["transactions"]
    }
    for each, value in zip(history.taken, values, strict=True):
        meta = metas[each.signature]
        assert value["err"] == meta["err"] == each.err, each.kind
        assert value["logs"] == (meta["logMessages"] or []), each.kind
        assert value["unitsConsumed"] == meta["computeUnitsConsumed"], each.kind
        assert value["innerInstructions"] == (meta["innerInstructions"] or []), each.kind
        assert value["returnData"] == meta.get("returnData"), each.kind
        assert value["accounts"] is None


def test_a_place_is_named_by_slot_and_index_too(history: History) -> None:
    places = {
        entry["transaction"]["signatures"][0]: (slot, index)
        for slot, block in history.blocks.items()
        for index, entry in enumerate(block["transactions"])
    }
    sample = history.taken[:: len(history.taken) // 60]
    asked = []
    for each in sample:
        slot, index = places[each.signature]
        asked.append(
            (encoded(each.transaction), {"anchor": {"slot": slot, "transactionIndex": index}})
        )
    values = simulated(history, asked)
    assert not unproved(values, sample)
    assert [value["err"] for value in values] == [each.err for each in sample]
    # At the end of its own slot it has happened already, which its truth does not depend on.
    ends = [(text, {"slot": config["anchor"]["slot"]}) for text, config in asked]
    assert not unproved(simulated(history, ends), sample)


def test_what_transactions_leave_is_what_the_archive_has_after_them(history: History) -> None:
    sample = [each for each in history.taken if each.err is None][::9]
    for each in sample:
        keys = [str(key) for key in each.transaction.message.account_keys]
        place = {"signature": each.signature}
        (value,) = simulated(
            history,
            [
                (
                    encoded(each.transaction),
                    {"anchor": place, "accounts": {"encoding": "base64", "addresses": keys}},
                )
            ],
        )
        after = {"anchor": {**place, "position": "after"}, "encoding": "base64"}
        (archived,) = of_service(history.service, "/rewind", [("getMultipleAccounts", keys, after)])
        for account in archived["value"]:
            if account is not None:
                del account["rewindSlot"]
        assert value["accounts"] == archived["value"], each.kind


def test_an_archive_without_its_beginning_asks_the_node(history: History) -> None:
    """The last test, for it takes the chain's first slots out of the archive."""
    first = sorted(history.blocks)[len(history.blocks) // 3]
    database = embedded_addresses(history.service.run_dir).database_url
    with psycopg.connect(database, autocommit=True) as connection:
        for table in ("archivedslot", "accountchange", "slottally"):
            column = "run" if table == "slottally" else "slot"
            connection.execute(f"DELETE FROM rewind_{table} WHERE {column} < %s", [first])
    places = {
        entry["transaction"]["signatures"][0]: slot
        for slot, block in history.blocks.items()
        for entry in block["transactions"]
    }
    sample = [each for each in history.taken if places[each.signature] >= first]
    asked = [
        (encoded(each.transaction), {"anchor": {"signature": each.signature}, "tolerateGaps": True})
        for each in sample
    ]
    values = simulated(history, asked)
    fidelities = Counter((value["fidelity"], value["fidelityReason"]) for value in values)
    # Accounts that were written before and after cannot be told; of those that can all is true.
    assert fidelities.keys() <= {("verified", None), ("unverified", "state_not_recorded")}
    assert fidelities["verified", None] > len(sample) // 3, fidelities
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT slot, position, count(*) FROM rewind_accountchange WHERE kind = 1"
            " GROUP BY slot, position"
        ).fetchall()
    assert [row[:2] for row in rows] == [(first, -2)]
    assert rows[0][2] >= 5
