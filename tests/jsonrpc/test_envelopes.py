"""From a body's bytes to an answer's: envelopes, ids, batches, and what methods raise."""

import json
import logging
from typing import Any

import pytest

from jsonrpc import dispatch
from jsonrpc.errors import RpcError

from .tables import answer, answer_bytes, body, methods, request

GOOD = '{"jsonrpc":"2.0","id":1,"method":"account"'


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"nonsense", b'{"id":1,}', b"[", b"[1", b"[1,]", b'"', b"{} {}", b"[] []",
        b"\xff", b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}', b"\xef\xbb\xbf{}", b"NaN",
        "{}".encode("utf-16"), b'{"id": 01}', b'{"id":1e}', b"\0",
        b'{"jsonrpc":"2.0","id":1,"method":"account","params":[tru]}',
        # a lone surrogate: no text that UTF-8 can carry
        b'{"id":"\\ud800"}', b'{"jsonrpc":"2.0","id":7,"method":"\\udead"}',
        b'{"jsonrpc":"2.0","id":7,"method":"echo","params":["\\udc00\\ud800"]}',
    ],
)  # fmt: skip
def test_what_is_not_json_is_a_parse_error_without_an_id(raw: bytes) -> None:
    found = answer(raw)
    assert found["id"] is None
    assert found["error"]["code"] == -32700
    assert found["error"]["message"] == "Parse error"
    assert found["error"]["data"]["reason"] == "parse_error"


@pytest.mark.parametrize(
    ("raw", "identity", "message"),
    [
        (b"1", None, "expected an object"),
        (b"null", None, "expected an object"),
        (b'"text"', None, "expected an object"),
        (b"{}", None, "`id` is missing or null; expected a string or an integer"),
        (b'{"id":null}', None, "`id` is missing or null; expected a string or an integer"),
        (b'{"id":1.5}', None, "bad `id`; expected a string or an integer"),
        (b'{"id":1e3}', None, "bad `id`; expected a string or an integer"),
        (b'{"id":true}', None, "bad `id`; expected a string or an integer"),
        (b'{"id":[1]}', None, "bad `id`; expected a string or an integer"),
        (b'{"id":{}}', None, "bad `id`; expected a string or an integer"),
        (b'{"id":' + b"9" * 65 + b"}", None, "bad `id`; expected a string or an integer"),
        (b'{"id":7}', 7, '`jsonrpc` must be "2.0"'),
        (b'{"id":7,"jsonrpc":"1.0"}', 7, '`jsonrpc` must be "2.0"'),
        (b'{"id":7,"jsonrpc":2.0}', 7, '`jsonrpc` must be "2.0"'),
        (b'{"id":7,"jsonrpc":"2.0"}', 7, "`method` must be a string"),
        (b'{"id":7,"jsonrpc":"2.0","method":null}', 7, "`method` must be a string"),
        (b'{"id":7,"jsonrpc":"2.0","method":["getSlot"]}', 7, "`method` must be a string"),
    ],
)
def test_what_is_json_but_no_call_says_what_was_expected(
    raw: bytes, identity: int | None, message: str
) -> None:
    found = answer(raw)
    assert found["id"] == identity
    assert found["error"]["code"] == -32600
    assert found["error"]["message"] == "Invalid request"
    assert found["error"]["data"]["problem"] == message
    assert found["error"]["data"]["reason"] == "invalid_request"


@pytest.mark.parametrize(
    "identity",
    ["1", "-1", "0", "18446744073709551616", "9" * 64, '""', '"a b"', '"\\u00e9\\n"', '"é"', '"1"'],
)
def test_the_id_is_echoed_as_the_bytes_that_came(identity: str) -> None:
    raw = f'{{"jsonrpc":"2.0", "id" : {identity} ,"method":"stored"}}'.encode()
    assert answer_bytes(raw) == b'{"jsonrpc":"2.0","id":%s,"result":{"a":1}}' % identity.encode()
    refusal = answer_bytes(raw.replace(b"stored", b"refuse"))
    assert refusal.startswith(b'{"jsonrpc":"2.0","id":%s,"error":' % identity.encode())


def test_a_method_that_is_not_in_the_table_is_not_found() -> None:
    found = answer(request("getslot", id="x"))
    assert found == {
        "jsonrpc": "2.0",
        "id": "x",
        "error": {
            "code": -32601,
            "message": "Method not found",
            "data": {"reason": "method_not_found", "method": "getslot"},
        },
    }
    long = answer(request("x" * 5000))
    assert long["error"]["data"]["method"] == "x" * 100


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":[]', ',"params": [ ] '])
def test_params_may_be_absent_null_or_empty(params: str) -> None:
    found = answer(f"{GOOD}{params}}}".encode())
    assert found["result"]["rentEpoch"] == 18446744073709551615


def test_results_are_camel_case_with_keys_as_base58_and_integers_exact() -> None:
    assert answer_bytes(body(request("account"))) == (
        b'{"jsonrpc":"2.0","id":1,"result":{"owner":"11111111111111111111111111111111",'
        b'"rentEpoch":18446744073709551615}}'
    )


def test_unknown_members_and_repeated_ones_do_not_disturb() -> None:
    assert answer(f'{GOOD},"extra":{{"id":5}}}}'.encode())["id"] == 1
    assert answer(f'{GOOD},"id":2}}'.encode())["id"] == 2


def test_an_area_error_carries_its_code_reason_and_data() -> None:
    error = answer(request("refuse"))["error"]
    assert error == {"code": -32007, "message": "no", "data": {"reason": "refused", "slot": 5}}


def test_an_unexpected_error_is_logged_whole_and_answered_without_detail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, logger="jsonrpc.dispatch"):
        raw = answer_bytes(body(request("break", id=3)))
    assert b"secret" not in raw and b"KeyError" not in raw
    found = json.loads(raw)
    assert (found["id"], found["error"]["code"]) == (3, -32603)
    assert found["error"]["data"] == {"reason": "internal_error"}
    assert "secret detail" in caplog.text


def test_a_batch_is_answered_in_order_each_call_for_itself() -> None:
    found = answer(
        [
            request("add", 1, 2, id="a"),
            5,
            request("none", id=2),
            request("refuse", id=3),
            {},
            [],
            request("add", 5, id="b"),
        ]
    )
    assert [each["id"] for each in found] == ["a", None, 2, 3, None, None, "b"]
    assert found[0]["result"] == 3 and found[-1]["result"] == 15
    codes = [each["error"]["code"] for each in found[1:-1]]
    assert codes == [-32600, -32601, -32007, -32600, -32600]


def test_calls_of_a_batch_may_share_an_id() -> None:
    found = answer([request("add", 1), request("add", 2)])
    assert [(each["id"], each["result"]) for each in found] == [(1, 11), (1, 12)]


def test_a_batch_of_one_is_answered_as_an_array() -> None:
    assert answer([request("add", 1)]) == [{"jsonrpc": "2.0", "id": 1, "result": 11}]


@pytest.mark.parametrize("raw", [b"[]", b" [ ] ", b"\r\n[\t]"])
def test_an_empty_batch_is_one_invalid_request(raw: bytes) -> None:
    found = answer(raw)
    assert (found["id"], found["error"]["code"]) == (None, -32600)
    assert found["error"]["message"] == "Invalid request"
    assert found["error"]["data"]["problem"] == "an empty batch"


def test_a_batch_up_to_the_cap_is_served_and_one_above_it_refused_whole() -> None:
    assert len(answer([request("add", 1)] * 3, max_batch=3)) == 3
    found = answer([request("add", 1)] * 4, max_batch=3)
    assert found["error"]["code"] == -32600
    assert found["error"]["data"] == {
        "reason": "invalid_request",
        "problem": "a batch of 4 calls is above the maximum of 3",
        "maximum": 3,
        "found": 4,
    }


def test_a_call_of_a_batch_that_is_no_json_spoils_the_whole() -> None:
    assert answer(b"[" + body(request("add", 1)) + b", {]")["error"]["code"] == -32700


@pytest.mark.parametrize("depth", [100, 1_000, 100_000])
@pytest.mark.parametrize(
    "form", ["[%s]", '{"id":%s}', '{"jsonrpc":"2.0","id":1,"method":"echo","params":[%s]}']
)
def test_deep_nesting_is_an_answer_and_not_a_crash(form: str, depth: int) -> None:
    raw = answer_bytes((form % ("[" * depth + "]" * depth)).encode())
    assert raw.startswith((b'{"jsonrpc":"2.0","id":', b'[{"jsonrpc":"2.0","id":'))
    if b'"result"' not in raw:
        found = json.loads(raw)
        error = (found[0] if isinstance(found, list) else found)["error"]
        assert error["code"] in (-32700, -32600, -32602)


def test_the_observer_is_called_once_for_every_call() -> None:
    heard: list[tuple[str, int | None]] = []

    def observe(method: str, error: RpcError | None) -> None:
        heard.append((method, None if error is None else error.code))

    raw = body([request("add", 1), request("none"), 5, request("refuse"), request("break")])
    requests = dispatch.read(raw, max_batch=10)
    dispatch.answer(requests, methods, None, observe)
    assert heard == [
        ("add", None), ("none", -32601), ("", -32600), ("refuse", -32007), ("break", -32603),
    ]  # fmt: skip


def test_the_same_method_twice_in_a_table_is_a_mistake_at_import() -> None:
    with pytest.raises(AssertionError, match="add is there already"):

        @methods.add("add")
        def again(call: Any) -> None: ...
