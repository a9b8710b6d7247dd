"""All that a chain ran, run again on past state: each transaction ends as it ended there."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.clients.chain_endpoints import of_service
from tests.clients.mixed_history import History
from tests.clients.planned import Planned
from tests.localnet.wallets import encoded

pytestmark = pytest.mark.soak


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
    # At the end of its own slot it has happened already: the verdict is of its own place.
    ends = [(text, {"slot": config["anchor"]["slot"]}) for text, config in asked]
    elsewhere = simulated(history, ends)
    assert {value["fidelity"] for value in elsewhere} == {"not_applicable"}
    assert not unproved([value["ownPlace"] for value in elsewhere], sample)


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
        # What it emptied has no lamports left, and does not exist after it.
        left = [
            each if each is not None and each["lamports"] else None for each in value["accounts"]
        ]
        for account in archived["value"]:
            if account is not None:
                del account["rewindSlot"]
        assert left == archived["value"], each.kind
