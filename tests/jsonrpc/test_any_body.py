"""Any bytes get a valid JSON-RPC response, without an unexpected exception."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples

from .tables import answer_bytes, body, methods, request

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.just("Vote111111111111111111111111111111111111111"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["limit", "sortOrder", "filters", "before", "gte"])
            | st.text(max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)
_names = sorted({method.name for method in methods} - {"break"})  # it fails on purpose
_calls = st.builds(
    lambda name, params, identity: {**request(name, id=identity), "params": params},
    st.sampled_from(_names),
    st.lists(_json, max_size=4),
    st.integers() | st.text(max_size=10),
)
_envelopes = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params"]), _json, max_size=4
)
_unreadable = st.text(max_size=3).map(lambda text: f"{text}\ud800") | st.just(float("nan"))
_bodies = (
    _calls
    | _envelopes
    | _json
    | st.lists(_calls | _envelopes | _json | _unreadable, max_size=6)
    | st.dictionaries(st.sampled_from(["id", "method", "params"]), _unreadable)
).map(body)


def check(raw: bytes) -> Any:
    """The answer, which is valid: raw JSON, one of result and error, an id in each."""
    found = json.loads(answer_bytes(raw, max_batch=5))
    for one in found if isinstance(found, list) else [found]:
        assert set(one) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
        assert one["jsonrpc"] == "2.0"
        assert one["id"] is None or type(one["id"]) in (int, str)
        if "error" in one:
            error = one["error"]
            assert set(error) == {"code", "message", "data"}
            assert error["code"] != -32603 and error["data"]["reason"]
    return found


@given(st.binary(max_size=300))
@settings(max_examples=examples(500))
def test_any_bytes(raw: bytes) -> None:
    check(raw)


@given(_bodies)
@settings(max_examples=examples(500))
def test_any_json(raw: bytes) -> None:
    check(raw)


@given(_calls, st.data())
@settings(max_examples=examples(500))
def test_a_good_body_with_some_bytes_changed(call: dict[str, Any], data: st.DataObject) -> None:
    raw = bytearray(body(call))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check(bytes(raw))


@given(_calls)
@settings(max_examples=examples(300))
def test_the_id_of_every_readable_call_comes_back(call: dict[str, Any]) -> None:
    found = check(body(call))
    assert found["id"] == (call["id"] if len(str(call["id"])) <= 64 else None)


@given(st.lists(_calls, min_size=1, max_size=5))
@settings(max_examples=examples(100))
def test_a_batch_is_what_its_calls_are_alone(calls: list[dict[str, Any]]) -> None:
    alone = [answer_bytes(body(call)) for call in calls]
    assert answer_bytes(body(calls)) == b"[" + b",".join(alone) + b"]"


@given(st.integers(0, 3000), st.sampled_from(["[", '{"a":', '[{"id":']))
@settings(max_examples=examples(100))
def test_any_depth(depth: int, opening: str) -> None:
    check((opening * depth).encode())
    check(b'{"jsonrpc":"2.0","id":1,"method":"list","params":' + (opening * depth).encode())
