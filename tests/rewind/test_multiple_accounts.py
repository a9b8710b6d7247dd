"""getMultipleAccounts: how many, and what happens when the answer is full."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.test import override_settings

from tests.conftest import Rpc
from tests.rewind.histories import text
from tests.rewind.samples import block, key, signature, write

REWIND, METHOD = "/rewind", "getMultipleAccounts"


def keys(*numbers: int) -> list[str]:
    return [text(key(number)) for number in numbers]


@pytest.mark.parametrize("cap", [1, 2_000, 3_000, 4_000, 20_000])
def test_a_full_answer_leaves_out_what_does_not_fit_and_all_behind_it(
    rpc: Rpc, record: Any, cap: int
) -> None:
    sizes = {1: 900, 2: 10, 4: 1_000, 5: 5_000, 6: 0}
    record(
        block(10, writes=[write(n, signature(10, n % 4), data=bytes(s)) for n, s in sizes.items()])
    )
    asked = keys(3, 1, 2, 2, 4, 5, 6, 3, 1)
    config = {"slot": 10}
    whole = rpc(REWIND, METHOD, asked, config)["result"]
    assert whole["truncatedByBytes"] is False
    with override_settings(ARCHIVE_ANSWER_BYTES=cap):
        result = rpc(REWIND, METHOD, asked, config)["result"]
    reasons = result["context"]["reason"]
    cut = reasons.index("truncated") if "truncated" in reasons else len(asked)
    assert result["truncatedByBytes"] is (cut < len(asked))
    assert result["value"] == whole["value"][:cut] + [None] * (len(asked) - cut)
    kept = whole["context"]["reason"][:cut]
    assert reasons == kept + ["truncated"] * (len(asked) - cut)
    # The first account comes whatever its size: who asks for the rest comes to an end.
    assert cut >= 2
    size = len(json.dumps(result, separators=(",", ":")))
    assert size <= cap or cut == 2
    if cut < len(asked):
        behind = rpc(REWIND, METHOD, asked[cut:], config)["result"]["value"]
        assert behind == whole["value"][cut:]


def test_large_accounts_come_too_and_only_those_that_fit(rpc: Rpc, record: Any) -> None:
    # Nothing packs them.
    data = {n: hashlib.shake_256(bytes([n])).digest(3_000_000) for n in range(1, 5)}
    record(block(10, writes=[write(n, signature(10, 0), data=each) for n, each in data.items()]))
    result = rpc(REWIND, METHOD, keys(1, 2, 3, 4), {"slot": 10})["result"]
    assert result["truncatedByBytes"] is True
    found = [None if each is None else each["data"][0] for each in result["value"]]
    texts = [base64.b64encode(data[n]).decode() for n in (1, 2)]
    assert found == [*texts, None, None]
    part = {"slot": 10, "dataSlice": {"offset": 2_999_999, "length": 9}}
    result = rpc(REWIND, METHOD, keys(1, 2, 3, 4), part)["result"]
    assert [base64.b64decode(each["data"][0]) for each in result["value"]] == [
        data[n][-1:] for n in (1, 2, 3, 4)
    ]


def test_the_number_of_accounts_has_an_end(rpc: Rpc, record: Any) -> None:
    record(block(10, writes=[write(1, signature(10, 1))]))
    result = rpc(REWIND, METHOD, keys(*range(100)), {"slot": 10})["result"]
    assert [each is None for each in result["value"]].count(False) == 1
    error = rpc(REWIND, METHOD, keys(*range(101)), {"slot": 10})["error"]
    assert (error["code"], error["message"]) == (-32602, "Too many inputs provided; max 100")
    assert error["data"] == {"reason": "too_many_accounts", "found": 101, "maximum": 100}
    error = rpc(REWIND, METHOD, [], {"slot": 10})["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, "no_accounts")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([[]], "`params` should have at least 2 argument(s)"),
        ([keys(1)[0], {"slot": 1}], "expected a sequence"),
        ([[7], {"slot": 1}], "invalid type: integer `7`, expected a string."),
        ([["abc"], {"slot": 1}], "Invalid param: WrongSize"),
        ([keys(1), {}], "found none of them"),
    ],
)
def test_bad_params_are_refused_in_words(rpc: Rpc, params: Any, words: str) -> None:
    error = rpc(REWIND, METHOD, *params)["error"]
    assert error["code"] == -32602
    assert words in error["message"]
