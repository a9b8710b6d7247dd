"""Pages of any account's changes over any history: they join to exactly the whole list."""

import base64
import json
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.positions import END_OF_SLOT
from tests.examples import examples
from tests.rewind.histories import (
    ACCOUNTS,
    TRANSACTIONS,
    Ask,
    History,
    asking,
    histories,
    signed,
    text,
)
from tests.rewind.samples import key

SETTINGS = settings(
    max_examples=examples(30),
)


@pytest.fixture
def ask(client: Any, api_key: str, empty_ledger: None) -> Ask:
    return asking(client, api_key)


def page(ask: Ask, account: int, config: dict[str, Any]) -> dict[str, Any]:
    (answer,) = ask([("getAccountChanges", text(key(account)), config)])
    result: dict[str, Any] = answer["result"]
    completeness = result["context"].pop("completeness")
    assert completeness["status"] == ("incomplete" if completeness["causes"] else "whole")
    assert result["context"] == {"apiVersion": "rewind-1.0.0", "slot": config["toSlot"]}
    value: dict[str, Any] = result["value"]
    return value


def cursor(slot: int, position: int) -> str:
    told = json.dumps({"slot": slot, "position": position}, separators=(",", ":"))
    return base64.b64encode(told.encode()).decode()


@SETTINGS
@given(histories(), st.data())
def test_pages_of_any_size_join_to_the_whole_list(
    ask: Ask, history: History, data: st.DataObject
) -> None:
    with transaction.atomic():
        history.archive()
        for account in ACCOUNTS:
            ends = st.integers(history.first, history.last)
            first, last = sorted((data.draw(ends), data.draw(ends)))
            window = {"fromSlot": first, "toSlot": last}
            whole = history.changes(account, first, last)
            found: list[dict[str, Any]] = []
            config: dict[str, Any] = {}
            while True:
                limit = data.draw(st.integers(1, 5))
                value = page(ask, account, window | config | {"limit": limit})
                found += value["changes"]
                assert value["gaps"] == history.gaps_between(first, last)
                assert value["truncatedByBytes"] is False
                assert 0 < len(value["changes"]) <= limit or not found
                if value["next"] is None:
                    break
                assert len(value["changes"]) == limit
                config = {"before": value["next"]}
            assert found == whole
        transaction.set_rollback(True)


@SETTINGS
@given(histories(), st.data())
def test_an_answer_that_is_full_leads_on_to_what_did_not_fit(
    ask: Ask, history: History, data: st.DataObject
) -> None:
    with transaction.atomic():
        history.archive()
        for account in ACCOUNTS:
            window = {"fromSlot": history.first, "toSlot": history.last}
            with_data = data.draw(st.booleans())
            if with_data:
                window |= {"includeData": True, "encoding": "base64"}
            found: list[dict[str, Any]] = []
            config: dict[str, Any] = {}
            while True:
                cap = data.draw(st.sampled_from([1, 2_000, 3_000, 14_000, 30_000]))
                with override_settings(ARCHIVE_ANSWER_BYTES=cap):
                    value = page(ask, account, window | config)
                found += value["changes"]
                size = len(json.dumps(value, separators=(",", ":")))
                assert size <= cap or len(value["changes"]) <= 1
                # No limit was reached: where it leads on, it was for want of room.
                assert value["truncatedByBytes"] is (value["next"] is not None)
                if value["next"] is None:
                    break
                assert value["changes"]
                config = {"before": value["next"]}
            for entry in found if with_data else ():
                written, encoding = entry.pop("data")
                assert encoding == "base64"
                assert len(base64.b64decode(written)) == entry["space"]
                if entry["transactionIndex"] is not None:
                    place = entry["slot"], entry["transactionIndex"]
                    same = [row for row in history.rows[account] if row.place == place]
                    assert base64.b64decode(written) == same[0].data
            assert found == history.changes(account, history.first, history.last)
        transaction.set_rollback(True)


@SETTINGS
@given(histories(), st.data())
def test_a_page_may_begin_anywhere(ask: Ask, history: History, data: st.DataObject) -> None:
    with transaction.atomic():
        history.archive()
        questions, expected = [], []
        ends = st.integers(history.first, history.last)
        for each in history.slots:
            account = data.draw(st.sampled_from(ACCOUNTS))
            first, last = sorted((data.draw(ends), data.draw(ends)))
            window = {"fromSlot": first, "toSlot": last, "limit": 1_000}
            for index in range(TRANSACTIONS):
                here, after = (each.slot, index), (each.slot, index + 1)
                by_place = {"slot": each.slot, "transactionIndex": index}
                by_signature = {"signature": signed(each.slot, index)}
                anchor = by_signature if each.in_ledger else by_place
                begins: list[tuple[dict[str, Any], tuple[int, int]]] = [
                    ({"anchor": anchor}, here),
                    ({"anchor": by_place | {"position": "before"}}, here),
                    ({"anchor": anchor | {"position": "after"}}, after),
                    ({"before": cursor(each.slot, index)}, here),
                    ({"before": cursor(each.slot, END_OF_SLOT)}, (each.slot, END_OF_SLOT)),
                ]
                for config, below in begins:
                    questions.append(("getAccountChanges", text(key(account)), window | config))
                    expected.append(history.changes(account, first, last, below))
        for question, answer, right in zip(questions, ask(questions), expected, strict=True):
            assert answer["result"]["value"]["changes"] == right, question
            assert answer["result"]["value"]["next"] is None
        transaction.set_rollback(True)
