"""Params readers: the error for every kind of wrong param."""

import json
from typing import Annotated, Any

import pytest
from msgspec import Meta
from solders.pubkey import Pubkey

from chain.units import Slot
from jsonrpc.errors import InvalidParams
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64

from .tables import answer, request

KEY = "Vote111111111111111111111111111111111111111"


def refusal(method: str, *params: Any) -> dict[str, Any]:
    found = answer(request(method, *params))
    assert found["error"]["code"] == -32602, found
    error: dict[str, Any] = found["error"]
    return error


@pytest.mark.parametrize(
    ("method", "params", "message", "place"),
    [
        ("add", ["1"], 'invalid type: string "1", expected u64', "[0]"),
        ("add", [True], "invalid type: boolean `true`, expected u64", "[0]"),
        ("add", [None], "invalid type: null, expected u64", "[0]"),
        ("add", [1.5], "invalid type: floating point `1.5`, expected u64", "[0]"),
        ("add", [[1]], "invalid type: sequence, expected u64", "[0]"),
        ("add", [{}], "invalid type: map, expected u64", "[0]"),
        ("add", [-1], "invalid value: integer `-1`, expected u64", "[0]"),
        ("add", [1, "2"], 'invalid type: string "2", expected u64', "[1]"),
        ("add", [1, False], "invalid type: boolean `false`, expected u64", "[1]"),
        ("name", [5], "invalid type: integer `5`, expected a string", "[0]"),
        ("name", [None], "invalid type: null, expected a string", "[0]"),
        ("list", [5], "invalid type: integer `5`, expected a string", "[0]"),
        ("list", [KEY, []], "invalid type: sequence, expected an object", "[1]"),
        ("list", [KEY, "json"], 'invalid type: string "json", expected an object', "[1]"),
        ("list", [KEY, {"limit": "5"}], 'invalid type: string "5", expected u64', "[1].limit"),
        (
            "list",
            [KEY, {"limit": 0}],
            "invalid value: integer `0`, expected at least 1",
            "[1].limit",
        ),
        (
            "list",
            [KEY, {"limit": 1001}],
            "invalid value: integer `1001`, expected at most 1000",
            "[1].limit",
        ),
        (
            "list",
            [KEY, {"withRewards": 1}],
            "invalid type: integer `1`, expected a boolean",
            "[1].withRewards",
        ),
        (
            "list",
            [KEY, {"sortOrder": "up"}],
            "unknown variant `up`, expected one of `asc`, `desc`",
            "[1].sortOrder",
        ),
        (
            "list",
            [KEY, {"filters": 1}],
            "invalid type: integer `1`, expected a sequence",
            "[1].filters",
        ),
        ("range", [{}], "missing field `toSlot`", "[0]"),
        ("range", [{"to_slot": 5}], "missing field `toSlot`", "[0]"),
    ],
)
def test_a_wrong_param_gets_the_standard_nodes_error(
    method: str, params: list[Any], message: str, place: str
) -> None:
    error = refusal(method, *params)
    assert error["message"] == f"Invalid params: {message}."
    assert error["data"] == {"reason": "invalid_params", "at": place}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "WrongSize"),
        ("abc", "WrongSize"),
        (KEY + "1" * 40, "WrongSize"),
        ("0" * 44, "Invalid"),
        ("é" * 16, "Invalid"),
        ("\0" * 44, "Invalid"),
    ],
)
def test_a_bad_pubkey_is_the_nodes_invalid_param(text: str, word: str) -> None:
    assert refusal("list", text)["message"] == f"Invalid param: {word}"
    nested = refusal("list", KEY, {"before": text})
    assert nested["message"] == f"Invalid param: {word}"
    assert nested["data"]["at"] == "[1].before"


def test_too_few_and_too_many_params_are_counted() -> None:
    few = refusal("add")
    assert few["message"] == "`params` should have at least 1 argument(s)"
    assert few["data"] == {"reason": "invalid_params", "required": 1, "found": 0}
    many = refusal("add", 1, 2, 3)
    assert many["message"] == "Invalid parameters: Expected from 1 to 2 parameters."
    assert many["data"] == {"reason": "invalid_params", "maximum": 2, "found": 3}
    assert refusal("account", None)["data"]["maximum"] == 0


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ("{}", -32602, "Invalid params: expected an array"),
        ('"text"', -32600, "Invalid request"),
        ("5", -32600, "Invalid request"),
        ("true", -32600, "Invalid request"),
    ],
)
def test_params_must_be_an_array(params: str, code: int, message: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"add","params":{params}}}'
    error = answer(raw.encode())["error"]
    assert (error["code"], error["message"]) == (code, message)


def test_null_means_absent_where_a_param_may_be_absent() -> None:
    assert answer(request("add", 1, None))["result"] == 11
    assert answer(request("list", KEY, None))["result"] == [KEY, 1000]
    assert answer(request("list", KEY, {"before": None, "filters": None}))["result"][1] == 1000


def test_unknown_fields_of_a_config_are_ignored() -> None:
    assert answer(request("list", KEY, {"limit": 5, "speed": "high"}))["result"] == [KEY, 5]


def test_a_wrong_length_is_counted() -> None:
    table = MethodTable()

    @table.add("name")
    def name(call: Any, text: Annotated[str, Meta(min_length=1, max_length=3)]) -> None: ...

    @table.add("pair")
    def pair(call: Any, data: tuple[str, str]) -> None: ...

    for name_of, given, expected in (
        ("name", "", "invalid length 0, expected a string of at least 1"),
        ("name", "four", "invalid length 4, expected a string of at most 3"),
        ("pair", ["a"], "invalid length 1, expected a sequence of 2"),
        ("pair", ["a", "b", "c"], "invalid length 3, expected a sequence of 2"),
    ):
        method = table.get(name_of)
        assert method is not None
        with pytest.raises(InvalidParams, match=f"^Invalid params: {expected}.$"):
            method.params.read(json.dumps([given]).encode())


def test_the_member_of_a_map_that_cannot_be_read_is_named() -> None:
    table = MethodTable()

    @table.add("weigh")
    def weigh(call: Any, weights: dict[str, U64]) -> None: ...

    method = table.get("weigh")
    assert method is not None
    for raw, at in (
        (b'[{"one":1,"two":-2}]', "[0].two"),
        (b'[{"' + b"x" * 999 + b'":-2}]', "[0]." + "x" * 64),
    ):
        with pytest.raises(InvalidParams) as refused:
            method.params.read(raw)
        assert refused.value.data["at"] == at
        assert str(refused.value) == "Invalid params: invalid value: integer `-2`, expected u64."
    with pytest.raises(InvalidParams):
        method.params.read(b'[{"":-2}]')


def test_a_limit_outside_its_range_is_refused() -> None:
    for limit in (0, 1001, -5):
        error = refusal("list", KEY, {"limit": limit})
        assert f"integer `{limit}`" in error["message"]
        assert error["data"]["at"] == "[1].limit"


def test_a_position_may_be_a_string_or_a_config() -> None:
    assert answer(request("name", "a", "asc"))["result"] == "a"
    assert answer(request("name", "a", {"limit": 5}))["result"] == "a"
    refusal("name", "a", "sideways")
    refusal("name", "a", 5)


def test_integers_are_exact_to_the_last_digit() -> None:
    assert answer(request("echo", 18446744073709551615))["result"] == 18446744073709551615
    assert answer(request("add", 18446744073709551615, 0))["result"] == 18446744073709551615


def test_an_unreadable_annotation_is_an_error_at_import() -> None:
    table = MethodTable()
    with pytest.raises(TypeError):

        @table.add("bad")
        def bad(call: Any, one: list[int] | set[int]) -> None: ...


def test_a_number_that_may_be_negative_is_an_error_at_import() -> None:
    table = MethodTable()
    with pytest.raises(TypeError, match="bad: `slot` may be negative: U64 is a slot"):

        @table.add("bad")
        def bad(call: Any, slot: Slot) -> None: ...


def test_keys_are_read_as_solders_types() -> None:
    table = MethodTable()

    @table.add("read")
    def read(call: Any, address: Pubkey, slots: list[U64] = []) -> None: ...  # noqa: B006

    method = table.get("read")
    assert method is not None
    raw = f'["{KEY}",[1,2]]'.encode()
    assert method.params.read(raw) == [Pubkey.from_string(KEY), [1, 2]]
