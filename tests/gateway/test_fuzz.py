"""Whatever comes, the answer is JSON that says what was wrong: never a 500, never a traceback."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples

pytestmark = pytest.mark.django_db

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
_envelope = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _json,
        "id": st.integers() | st.text(max_size=8) | _json,
        "method": st.sampled_from(["getSlot", "long", "whoCalls", "refuse"]) | _json,
        "params": st.lists(_json, max_size=3) | _json,
    },
)
_body = (
    st.binary(max_size=200)
    | (_envelope | st.lists(_envelope, max_size=4) | _json).map(lambda x: json.dumps(x).encode())
    | st.integers(1, 20_000).map(lambda depth: b"[" * depth)
    | st.integers(1, 20_000).map(lambda depth: b'{"id":' + b"[" * depth)
)
_header = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=120)


def sane(response: Any, *statuses: int) -> None:
    assert response.status_code in statuses, response.content
    assert b"Traceback" not in response.content and b'File "' not in response.content
    answer = json.loads(response.content)
    for one in answer if isinstance(answer, list) else [answer]:
        assert one["jsonrpc"] == "2.0" and ("result" in one) != ("error" in one)
        if "error" in one:
            assert one["error"]["code"] != -32603
            assert one["error"]["data"]["reason"]
    assert response["X-Request-Id"]


@given(body=_body)
@settings(max_examples=examples(300))
def test_any_body(door: Any, issue: Callable[..., Any], body: bytes) -> None:
    secret = issue(requests_per_second=None).secret
    sane(door.post("/ledger", body, key=secret), 200)


@given(key=_header, query=_header)
@settings(max_examples=examples(200))
def test_any_credentials(door: Any, key: str, query: str) -> None:
    response = door.call(
        "getSlot", path="/land", HTTP_AUTHORIZATION=key, QUERY_STRING=f"api_key={query}"
    )
    sane(response, 401)


_NAMES = [
    "HTTP_HOST", "HTTP_X_REQUEST_ID", "HTTP_ACCEPT_ENCODING", "HTTP_X_FORWARDED_FOR",
    "CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_CONTENT_ENCODING", "HTTP_TRANSFER_ENCODING",
    "QUERY_STRING", "REMOTE_ADDR",
]  # fmt: skip


@given(headers=st.dictionaries(st.sampled_from(_NAMES), _header, max_size=6))
@settings(max_examples=examples(300))
def test_any_headers(door: Any, headers: dict[str, str]) -> None:
    meta: dict[str, Any] = {**headers, "wsgi.input": io.BytesIO(b"{}")}
    response = door.call("long", 500, **meta)
    if "Content-Encoding" in response:
        assert response.status_code == 200
    else:
        sane(response, 200, 400, 401, 404, 413, 415, 429)
