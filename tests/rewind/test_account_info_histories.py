"""Reads at every slot and around every transaction of any history, against a plain model."""

import base64
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.positions import END_OF_SLOT
from tests.examples import examples
from tests.rewind.histories import (
    ACCOUNTS,
    TRANSACTIONS,
    Ask,
    History,
    Row,
    asking,
    histories,
    signed,
    text,
)
from tests.rewind.samples import key

# A config that names a position, and the position.
Named = tuple[dict[str, Any], int, int]

KEYS = [text(key(account)) for account in ACCOUNTS]
SETTINGS = settings(
    max_examples=examples(10),
)


@pytest.fixture
def ask(client: Any, api_key: str, empty_ledger: None) -> Ask:
    return asking(client, api_key)


def positions_of(history: History) -> list[Named]:
    """Every way to name every position of the history's slots."""
    named: list[Named] = [
        ({"slot": slot}, slot, END_OF_SLOT) for slot in range(history.first, history.last + 1)
    ]
    for each in history.slots:
        for index in range(TRANSACTIONS):
            by_place = {"slot": each.slot, "transactionIndex": index}
            by_signature = {"signature": signed(each.slot, index)}
            named.append((by_place, each.slot, index))
            anchors = [by_place] if not each.in_ledger else [by_place, by_signature]
            for anchor in anchors:
                named.append(({"anchor": anchor}, each.slot, index - 1))
                before, after = anchor | {"position": "before"}, anchor | {"position": "after"}
                named.append(({"anchor": before}, each.slot, index - 1))
                named.append(({"anchor": after}, each.slot, index))
    return named


def snapshot(row: Row) -> dict[str, Any]:
    return {
        "lamports": row.lamports,
        "owner": text(row.owner),
        "data": [base64.b64encode(row.data).decode(), "base64"],
        "executable": row.executable,
        "rentEpoch": row.rent_epoch,
        "space": len(row.data),
        "rewindSlot": row.slot,
    }


def wanted(
    history: History, account: int, slot: int, position: int, *, tolerant: bool
) -> dict[str, Any]:
    """The answer to getAccountInfo: an error's code and reason, or the result."""
    if slot in history.gaps and not tolerant:
        return {"code": -32018, "reason": "slot_in_archive_gap"}
    if history.is_uncertain(account, slot, position) and not tolerant:
        return {"code": -32018, "reason": "writes_incomplete"}
    row = history.at(account, slot, position)
    context: dict[str, Any] = {"apiVersion": "rewind-1.0.0", "slot": slot}
    context["completeness"] = history.completeness(account, slot, position)
    gap = history.gap_since(-1 if row is None else row.slot, slot)
    if gap is not None:
        context["gap"] = gap
    if row is None:
        return {"context": context | {"reason": "before_first_record"}, "value": None}
    if row.lamports == 0:
        return {"context": context | {"reason": "closed"}, "value": None}
    return {"context": context, "value": snapshot(row)}


def told(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if error is None:
        return answer["result"]
    return {"code": error["code"], "reason": error["data"]["reason"]}


@SETTINGS
@given(histories())
def test_an_account_reads_as_the_model_has_it(ask: Ask, history: History) -> None:
    with transaction.atomic():
        history.archive()
        questions, expected = [], []
        for tolerant in (False, True):
            for config, slot, position in positions_of(history):
                for account, pubkey in zip(ACCOUNTS, KEYS, strict=True):
                    questions.append(
                        ("getAccountInfo", pubkey, config | {"tolerateGaps": tolerant})
                    )
                    expected.append(wanted(history, account, slot, position, tolerant=tolerant))
        for question, answer, right in zip(questions, ask(questions), expected, strict=True):
            assert told(answer) == right, question
        transaction.set_rollback(True)


@SETTINGS
@given(histories(), st.data())
def test_several_read_as_each_alone_and_a_diff_as_both(
    ask: Ask, history: History, data: st.DataObject
) -> None:
    with transaction.atomic():
        history.archive()
        named = positions_of(history)
        several: list[tuple[Any, ...]] = []
        singles: list[tuple[Any, ...]] = []
        for config, _, _ in named:
            chosen = data.draw(st.lists(st.sampled_from(KEYS), min_size=4, max_size=4))
            several.append(("getMultipleAccounts", chosen, config | {"tolerateGaps": True}))
            singles += [
                ("getAccountInfo", pubkey, config | {"tolerateGaps": True}) for pubkey in chosen
            ]
        alone = [answer["result"] for answer in ask(singles)]
        for number, answer in enumerate(ask(several)):
            result, each = answer["result"], alone[number * 4 : number * 4 + 4]
            assert result["value"] == [one["value"] for one in each]
            assert result["context"]["slot"] == each[0]["context"]["slot"]
            reasons = [one["context"].get("reason") for one in each]
            assert result["context"]["reason"] == reasons
            assert result["truncatedByBytes"] is False
        pairs = data.draw(st.lists(st.tuples(*[st.sampled_from(named)] * 2), max_size=30))
        for (a, b), answer in zip(pairs, ask([diff_of(a[0], b[0]) for a, b in pairs]), strict=True):
            sides = [
                told(each) for each in ask([("getAccountInfo", KEYS[0], c[0]) for c in (a, b)])
            ]
            check_diff(told(answer), *sides)
        transaction.set_rollback(True)


def diff_of(a: dict[str, Any], b: dict[str, Any]) -> tuple[Any, ...]:
    config = {f"{name}A": value for name, value in a.items()}
    config |= {f"{name}B": value for name, value in b.items()}
    return "getAccountDiff", KEYS[0], config


def check_diff(result: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> None:
    refused = next((side for side in (a, b) if "code" in side), None)
    if refused is not None:
        assert result == refused
        return
    found, left, right = result["value"], a["value"], b["value"]
    assert (found["a"], found["b"]) == (left, right)
    reasons = {"a": a["context"].get("reason"), "b": b["context"].get("reason")}
    assert result["context"].get("reason") == (reasons if any(reasons.values()) else None)
    if left is None or right is None:
        assert found["diff"] is None
        return
    assert found["diff"] == {
        "lamportsDelta": right["lamports"] - left["lamports"],
        "ownerChanged": right["owner"] != left["owner"],
        "executableChanged": right["executable"] != left["executable"],
        "rentEpochDelta": right["rentEpoch"] - left["rentEpoch"],
        "dataChanged": right["data"] != left["data"],
        "dataLenA": left["space"],
        "dataLenB": right["space"],
    }


@SETTINGS
@given(histories())
def test_what_lies_outside_is_refused(ask: Ask, history: History) -> None:
    with transaction.atomic():
        history.archive()
        beyond: list[tuple[dict[str, Any], str]] = [
            ({"slot": history.last + 1}, "slot_too_new"),
            ({"slot": 2**64 - 1, "transactionIndex": 2**64 - 1}, "slot_too_new"),
            ({"slot": history.first - 1}, "slot_too_old"),
            ({"slot": 0, "transactionIndex": 0}, "slot_too_old"),
            ({"anchor": {"signature": signed(history.last, TRANSACTIONS)}}, "unknown_signature"),
        ]
        there = {each.slot: each for each in history.slots}
        for slot in range(history.first, history.last + 1):
            index = {"slot": slot, "transactionIndex": TRANSACTIONS}
            if slot in there and there[slot].in_ledger:
                beyond.append((index, "transaction_index_out_of_range"))
            elif slot not in there and slot not in history.gaps:
                beyond.append((index | {"transactionIndex": 0}, "transaction_index_out_of_range"))
            elif slot in there:
                beyond.append(({"anchor": {"signature": signed(slot, 0)}}, "unknown_signature"))
        questions = [("getAccountInfo", KEYS[0], config) for config, _ in beyond]
        for (config, reason), answer in zip(beyond, ask(questions), strict=True):
            assert told(answer)["reason"] == reason, config
        transaction.set_rollback(True)
