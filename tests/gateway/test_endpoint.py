"""One request's way in, through Django's whole handler."""

import gzip
import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import zstandard
from django.utils import timezone

from access import key_text, usage
from access.models import UsageMinute
from access.services import keys
from access.tasks import roll_up_usage

Issue = Callable[..., keys.IssuedKey]
pytestmark = pytest.mark.django_db

CALL = b'{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[]}'


def reason(response: Any) -> str:
    body = response.json()
    assert body["jsonrpc"] == "2.0" and body["id"] is None and "result" not in body
    assert isinstance(body["error"]["code"], int) and isinstance(body["error"]["message"], str)
    return str(body["error"]["data"]["reason"])


def test_a_key_opens_the_door_and_the_answer_tells_its_limits(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=10, requests_burst=10)
    response = door.call("getSlot", key=issued.secret)
    assert response.status_code == 200
    assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": 301_999_999}
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert int(response["Content-Length"]) == len(response.content)
    assert response["X-RateLimit-Limit"] == "10"
    assert response["X-RateLimit-Remaining"] == "9"
    assert response["X-RateLimit-Reset"] == "1"
    assert response["X-Request-Id"]
    assert response["Access-Control-Allow-Origin"] == "*"


def test_an_error_and_a_refusal_have_the_content_type_of_a_result(door: Any, issue: Issue) -> None:
    key = issue().secret
    for response in (
        door.call("nothing", key=key),
        door.call("getSlot"),
        door.post("/ledger", b"{"),
    ):
        assert response["Content-Type"] == "application/json; charset=utf-8", response.content


@pytest.mark.parametrize(
    "credentials",
    [
        lambda key: {"HTTP_AUTHORIZATION": key},
        lambda key: {"HTTP_AUTHORIZATION": f"Bearer {key}"},
        lambda key: {"HTTP_AUTHORIZATION": f"bearer  {key} "},
        lambda key: {"QUERY_STRING": f"api_key={key}"},
        lambda key: {"QUERY_STRING": f"x=1&api_key={key}&y=2"},
        lambda key: {"HTTP_AUTHORIZATION": key, "QUERY_STRING": "api_key=wrong"},
    ],
)
def test_the_key_may_come_in_the_header_or_the_query(
    door: Any, issue: Issue, credentials: Any
) -> None:
    response = door.call("whoCalls", **credentials(issue().secret))
    assert response.json()["result"]["tier"] == "basic"


def test_without_a_key_the_caller_is_anonymous_where_a_key_is_optional(
    door: Any, tier: Any
) -> None:
    tier("anonymous", 0, requests_per_second=5, requests_burst=5)
    response = door.call("whoCalls")
    assert response.json()["result"]["tier"] == "anonymous"
    assert response["X-RateLimit-Limit"] == "5"


def test_without_a_key_where_one_is_needed_is_401(door: Any) -> None:
    response = door.call("getSlot", path="/land")
    assert response.status_code == 401
    assert reason(response) == "key_required"
    assert response.json()["error"]["code"] == -32003
    assert response["WWW-Authenticate"]


def test_a_wrong_key_is_401_also_where_none_is_needed(door: Any, issue: Issue) -> None:
    revoked, expired = issue(), issue(expires_at=timezone.now() - timedelta(seconds=1))
    keys.revoke_key(revoked.key.pk, now=timezone.now())
    for key, word in [
        ("nonsense", "key_malformed"),
        ("Bearer ", "key_malformed"),
        ("é" * 43, "key_malformed"),
        (key_text.new_key().secret, "key_unknown"),
        (revoked.secret, "key_revoked"),
        (expired.secret, "key_expired"),
    ]:
        response = door.call("getSlot", key=key)
        assert (response.status_code, reason(response)) == (401, word), key
        assert response["WWW-Authenticate"]


@pytest.mark.parametrize(
    "credentials",
    [
        {"HTTP_AUTHORIZATION": ""},  # what the server makes of a header that is not ASCII
        {"HTTP_AUTHORIZATION": "   "},
        {"HTTP_AUTHORIZATION": "tmk_a,"},
        {"HTTP_AUTHORIZATION": "", "QUERY_STRING": "api_key=wrong"},
        {"QUERY_STRING": "api_key=wrong"},
        {"QUERY_STRING": "api_key="},
        {"QUERY_STRING": "api_key"},
        {"QUERY_STRING": "api%5Fkey=wrong"},
        {"QUERY_STRING": "%61pi_key=%ff"},
        {"QUERY_STRING": "x=1&" * 200 + "api_key=wrong"},
    ],
)
def test_what_came_and_is_no_key_is_never_taken_for_none(
    door: Any, credentials: dict[str, str]
) -> None:
    response = door.call("getSlot", **credentials)
    assert (response.status_code, reason(response)) == (401, "key_malformed")


def test_a_query_without_a_key_is_a_caller_without_a_key(door: Any) -> None:
    for query in ("", "x=1", "x=%20&y", "&&", "%"):
        assert door.call("getSlot", QUERY_STRING=query).status_code == 200, query


def test_what_a_good_key_may_not_do_is_403_with_the_reason(door: Any, issue: Issue) -> None:
    scoped = issue(scopes=["rewind", "bundle"])
    bound = issue(networks=["10.0.0.0/8", "2001:db8::/32"])
    suspended = issue()
    keys.suspend_key(suspended.key.pk, now=timezone.now())
    response = door.call("getSlot", key=scoped.secret)
    assert (response.status_code, reason(response)) == (403, "scope_missing")
    assert response.json()["error"]["data"] == {
        "reason": "scope_missing",
        "required": "historical",
        "found": ["bundle", "rewind"],
    }
    response = door.call("getSlot", key=bound.secret, REMOTE_ADDR="192.0.2.1")
    assert (response.status_code, reason(response)) == (403, "address_not_allowed")
    assert response.json()["error"]["data"]["found"] == "192.0.2.1"
    for address in ("10.9.8.7", "::ffff:10.9.8.7", "2001:db8::1"):
        assert door.call("getSlot", key=bound.secret, REMOTE_ADDR=address).status_code == 200
    response = door.call("getSlot", key=suspended.secret)
    assert (response.status_code, reason(response)) == (403, "key_suspended")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://app.example", 200),
        ("https://a.b.pages.example", 200),
        ("http://localhost:3000", 200),
        ("", 403),
        ("null", 403),
        ("http://app.example", 403),
        ("https://app.example:8443", 403),
        ("https://app.example.evil.example", 403),
        ("https://pages.example", 403),
        ("https://evilpages.example", 403),
        ("https://evil.example/.pages.example", 403),
        ("http://localhost", 403),
    ],
)
def test_a_key_with_origins_is_for_their_pages_alone(
    door: Any, issue: Issue, origin: str, status: int
) -> None:
    origins = ["https://app.example", "https://*.pages.example", "http://localhost:3000"]
    secret = issue(origins=origins).secret
    sent = {"HTTP_ORIGIN": origin} if origin else {}
    response = door.call("getSlot", key=secret, **sent)
    assert response.status_code == status
    if status == 403:
        assert reason(response) == "origin_not_allowed"
        assert response.json()["error"]["data"]["found"] == (origin or None)
    assert door.call("getSlot", key=issue().secret, **sent).status_code == 200


def test_a_keys_tier_opens_its_own_hosts_and_those_below(
    door: Any, issue: Issue, tier: Any
) -> None:
    ultra = issue(tier=tier("ultra", 20, requests_per_second=None))
    for host, status in [
        ("public.rpc.localhost", 200),
        ("basic.rpc.localhost", 200),
        ("ultra.rpc.localhost:8000", 200),
        ("ULTRA.rpc.LOCALHOST", 200),
        ("elite.rpc.localhost", 403),
        ("epic.rpc.localhost", 403),
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("rpc.mine.example", 200),
    ]:
        response = door.call("getSlot", key=ultra.secret, HTTP_HOST=host)
        assert response.status_code == status, host
    response = door.call("getSlot", key=ultra.secret, HTTP_HOST="elite.rpc.localhost")
    assert response.json()["error"]["data"] == {
        "reason": "tier_too_low",
        "required": "elite",
        "found": "ultra",
    }


@pytest.mark.parametrize(
    ("host", "path", "word"),
    [
        ("evil.example", "/ledger", "host_unknown"),
        ("", "/ledger", "host_unknown"),
        ("gold.rpc.localhost", "/ledger", "host_unknown"),
        ("basic.qos.localhost", "/ledger", "path_not_served"),
        ("lite.rpc.localhost", "/ledger", "path_not_served"),
        ("public.rpc.localhost", "/land", "path_not_served"),
        ("basic.rpc.localhost", "/nothing", "path_not_served"),
        ("basic.rpc.localhost", "/healthz", "path_not_served"),
        ("localhost", "/nothing", "path_not_served"),
    ],
)
def test_other_hosts_and_other_paths_are_404(door: Any, host: str, path: str, word: str) -> None:
    response = door.post(path, CALL, HTTP_HOST=host, SERVER_NAME="unnamed")
    assert (response.status_code, reason(response)) == (404, word)
    assert response["X-Request-Id"]
    if word == "path_not_served":
        assert response.json()["error"]["data"]["path"] == path


def test_a_path_of_calls_may_end_with_a_slash_and_others_may_not(door: Any, issue: Issue) -> None:
    key = issue().secret
    assert door.call("getSlot", path="/ledger/", key=key).json()["result"] == 301_999_999
    assert door.post("/land/", CALL).status_code == 401
    response = door.post("/land/", CALL, HTTP_HOST="public.rpc.localhost")
    assert (response.status_code, reason(response)) == (404, "path_not_served")
    for path in ("/ledger//", "//ledger/", "/tip/"):
        assert door.post(path, CALL).status_code == 404, path


def test_an_unknown_path_is_refused_in_json_and_the_admins_in_html(door: Any) -> None:
    for method in ("GET", "PUT", "OPTIONS"):
        response = door.get("/nothing", method=method)
        assert response.status_code == 404
        assert response.json()["error"] == "path_not_served"
        assert response.json()["path"] == "/nothing"
    for path in ("/admin/nothing", "/static/nothing"):
        assert door.get(path)["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(("path", "verb"), [("/ledger", "POST"), ("/tip", "GET")])
def test_options_and_405_allow_the_same(door: Any, path: str, verb: str) -> None:
    asked, refused = door.get(path, method="OPTIONS"), door.get(path, method="DELETE")
    assert (asked.status_code, refused.status_code) == (204, 405)
    assert asked["Allow"] == refused["Allow"] == f"{verb}, OPTIONS"
    assert asked["Access-Control-Allow-Methods"] == f"{verb}, OPTIONS"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_asked_for_not_posted(door: Any, path: str) -> None:
    response = door.post(path, b"{}")
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert response.json()["error"] == "http_method_not_allowed"
    assert door.get(path, method="HEAD").status_code == 200


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"a":"\xff"}', "not UTF-8 at byte 6"),
        (b'{"id":' + b"[" * 5000, "nested too deep"),
        (b"[" * 5000, "nested too deep"),
    ],
)
def test_what_is_no_json_is_told_in_plain_words(door: Any, body: bytes, found: str) -> None:
    error = door.post("/ledger", body).json()["error"]
    assert error["data"] == {"reason": "parse_error", "found": found}


def test_above_the_limit_is_429_and_says_when_to_come_back(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=0.001, requests_burst=2)
    assert [door.call("getSlot", key=issued.secret).status_code for _ in range(2)] == [200, 200]
    response = door.call("getSlot", key=issued.secret)
    assert (response.status_code, reason(response)) == (429, "rate_limited")
    assert response.json()["error"]["code"] == -32005
    assert int(response["Retry-After"]) >= 1
    assert response["X-RateLimit-Remaining"] == "0"
    assert response.json()["error"]["data"]["quota"] == "requests"


def test_a_keyless_address_has_a_limit_of_its_own(door: Any, tier: Any) -> None:
    tier("anonymous", 0, requests_per_second=0.1, requests_burst=3)
    statuses = [door.call("getSlot", REMOTE_ADDR="192.0.2.1").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert door.call("getSlot", REMOTE_ADDR="192.0.2.2").status_code == 200
    same = [door.call("getSlot", REMOTE_ADDR=f"2001:db8::{n}").status_code for n in range(4)]
    assert same == [200, 200, 200, 429], "one /64 is one subscriber"
    refused = door.call("getSlot", REMOTE_ADDR="192.0.2.1")
    assert int(refused["Retry-After"]) >= 1


@pytest.mark.parametrize(("rate", "burst"), [(3, 20), (0.3, 7), (50, 4)])
def test_a_keyless_window_holds_exactly_the_burst(
    door: Any, tier: Any, rate: float, burst: int
) -> None:
    tier("anonymous", 0, requests_per_second=rate, requests_burst=burst)
    response = door.call("getSlot")
    assert response["X-RateLimit-Limit"] == str(burst)
    assert int(response["X-RateLimit-Reset"]) <= max(1, round(burst / rate))
    assert door.post("/ledger", b"[" + b",".join([CALL] * (burst + 1)) + b"]").status_code == 429


def test_a_refused_batch_leaves_the_window_as_it_was(door: Any, tier: Any) -> None:
    tier("anonymous", 0, requests_per_second=0.001, requests_burst=5)
    assert door.call("getSlot")["X-RateLimit-Remaining"] == "4"
    for size, word in ((5, "rate_limited"), (6, "batch_above_limit")):
        refused = door.post("/ledger", b"[" + b",".join([CALL] * size) + b"]")
        assert (refused.status_code, reason(refused)) == (429, word)
        assert int(refused["Retry-After"]) >= 1
        data = refused.json()["error"]["data"]
        assert (data["required"], data["found"], data["limit"]) == (size, 4, 5)
    statuses = [door.call("getSlot").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]


def test_a_batch_costs_one_token_for_each_of_its_calls(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=0.1, requests_burst=10)
    batch = b"[" + b",".join([CALL] * 7) + b"]"
    response = door.post("/ledger", batch, key=issued.secret)
    assert len(response.json()) == 7 and response["X-RateLimit-Remaining"] == "3"
    response = door.post("/ledger", batch, key=issued.secret)
    assert (response.status_code, reason(response)) == (429, "rate_limited")
    assert response.json()["error"]["data"]["required"] == 7


def test_a_batch_above_the_burst_is_served_once_and_paid_for(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=0.1, requests_burst=10)
    batch = b"[" + b",".join([CALL] * 100) + b"]"
    assert len(door.post("/ledger", batch, key=issued.secret).json()) == 100
    refused = door.call("getSlot", key=issued.secret)
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 800


def test_a_keyless_batch_above_the_window_is_told_to_be_split(door: Any, tier: Any) -> None:
    tier("anonymous", 0, requests_per_second=5, requests_burst=5)
    batch = b"[" + b",".join([CALL] * 6) + b"]"
    response = door.post("/ledger", batch)
    assert (response.status_code, reason(response)) == (429, "batch_above_limit")
    assert response.json()["error"]["data"]["limit"] == 5
    assert "split the batch" in response.json()["error"]["message"]


def test_two_quotas_of_one_request_are_both_taken_from(door: Any, issue: Issue, tier: Any) -> None:
    made = tier(requests_per_second=0.1, requests_burst=10, bundles_per_second=0.1, bundles_burst=1)
    issued = issue(tier=made)
    assert door.call("getSlot", path="/bundle", key=issued.secret).status_code == 200
    refused = door.call("getSlot", path="/bundle", key=issued.secret)
    assert refused.status_code == 429
    assert refused["Content-Type"].startswith("text/plain")
    assert refused.content == b"Too many requests\n"
    assert door.call("getSlot", key=issued.secret)["X-RateLimit-Remaining"] == "8"


def test_what_is_no_post_of_json_is_refused_in_json(door: Any, settings: Any) -> None:
    response = door.get("/ledger")
    assert (response.status_code, reason(response)) == (405, "http_method_not_allowed")
    assert "POST" in response["Allow"]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data"):
        response = door.post("/ledger", CALL, content_type=kind)
        assert (response.status_code, reason(response)) == (415, "content_type_unsupported")
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/rpc+json"):
        assert door.post("/ledger", CALL, content_type=kind).status_code == 200, kind
    response = door.post("/ledger", CALL, HTTP_CONTENT_ENCODING="gzip")
    assert (response.status_code, reason(response)) == (415, "content_type_unsupported")
    assert response["Accept-Encoding"] == "identity" and response["Accept"] == "application/json"
    response = door.post("/ledger", b" " * (settings.MAX_BODY + 1))
    assert (response.status_code, reason(response)) == (413, "body_too_large")
    assert response.json()["error"]["data"]["maximum"] == settings.MAX_BODY
    chunked = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    response = door.post("/ledger", b" " * (settings.MAX_BODY + 1), **chunked)
    assert (response.status_code, reason(response)) == (413, "body_too_large")


def test_a_body_that_announces_too_much_is_refused_unread(door: Any) -> None:
    response = door.post("/ledger", CALL, CONTENT_LENGTH=str(10**15))
    assert (response.status_code, reason(response)) == (413, "body_too_large")


def test_a_chunked_body_is_read_although_no_length_is_told(door: Any) -> None:
    chunked = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    response = door.post("/ledger", b"", **chunked, **{"wsgi.input": io.BytesIO(CALL)})
    assert response.json()["result"] == 301_999_999


def test_a_body_shorter_than_announced_is_refused(door: Any) -> None:
    for length in ("500", "abc", "-1", "1.5"):
        body = {"wsgi.input": io.BytesIO(CALL), "CONTENT_LENGTH": length}
        response = door.post("/ledger", b"", **body)
        assert (response.status_code, reason(response)) == (400, "body_unreadable"), length


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"long"}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"refuse"}', -32602),
    ],
)
def test_errors_of_the_call_travel_with_200_and_cost_a_token(
    door: Any, issue: Issue, body: bytes, code: int
) -> None:
    response = door.post("/ledger", body, key=issue().secret)
    assert response.status_code == 200
    assert response.json()["error"]["code"] == code
    assert response["X-RateLimit-Remaining"] == "9"


def test_our_own_fault_is_told_without_detail_and_logged_with_its_request(
    door: Any, issue: Issue, caplog: Any
) -> None:
    issued = issue()
    response = door.call("break", key=issued.secret, HTTP_X_REQUEST_ID="mine-2")
    line = f"request mine-2 failed: method 'break', key {issued.key.pk}"
    assert line in caplog.text and issued.secret not in caplog.text
    assert response.status_code == 200
    assert response.json()["error"] == {
        "code": -32603,
        "message": "Internal error",
        "data": {"reason": "internal_error"},
    }
    response = door.get("/broken")
    assert response.status_code == 500 and b"secret" not in response.content
    assert response.json()["error"] == "internal_error"


def test_a_database_that_is_away_is_named_without_detail_and_with_its_id_in_the_log(
    door: Any, caplog: Any, monkeypatch: Any
) -> None:
    from django.db import connection

    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")
    secret = key_text.new_key().secret
    response = door.call("getSlot", key=secret, HTTP_X_REQUEST_ID="mine-1")
    monkeypatch.undo()
    assert response.status_code == 503 and reason(response) == "database_unavailable"
    assert response["Retry-After"] == "2" and b"nonexistent" not in response.content
    (told,) = [each for each in caplog.records if each.name == "gateway.endpoint"]
    assert told.request_id == "mine-1" and told.exc_info is None
    assert secret not in caplog.text


def test_every_request_has_an_id_the_clients_own_where_it_is_sane(door: Any) -> None:
    response = door.call("whoCalls", HTTP_X_REQUEST_ID="abc-123.x_y")
    assert response["X-Request-Id"] == "abc-123.x_y" == response.json()["result"]["id"]
    for odd in ("", "a b", "x" * 65, "é", "<script>"):
        made = door.call("whoCalls", HTTP_X_REQUEST_ID=odd)["X-Request-Id"]
        assert made != odd and made.isascii() and len(made) <= 64
    ids = {door.get("/healthz")["X-Request-Id"] for _ in range(20)}
    assert len(ids) == 20


def test_any_page_may_ask_first_and_then_call(door: Any) -> None:
    response = door.get(
        "/ledger",
        method="OPTIONS",
        HTTP_ORIGIN="https://app.example",
        HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST",
        HTTP_ACCESS_CONTROL_REQUEST_HEADERS="authorization,content-type,solana-client",
    )
    assert response.status_code == 204 and response.content == b""
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response["Access-Control-Allow-Methods"]
    assert "solana-client" in response["Access-Control-Allow-Headers"]
    response = door.get(
        "/ledger", method="OPTIONS", HTTP_ACCESS_CONTROL_REQUEST_HEADERS="a\r\nSet-Cookie: x"
    )
    assert response.status_code == 204
    assert "Cookie" not in str(response.headers)
    refused = door.call("getSlot", path="/land")
    assert refused["Access-Control-Allow-Origin"] == "*"
    assert "Retry-After" in refused["Access-Control-Expose-Headers"]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip", "gzip"),
        ("gzip;q=0, zstd;q=0", None),
        ("identity, gzip;q=0.5", None),
        ("*", "zstd"),
        ("br", None),
        ("gzip;q=nonsense", None),
    ],
)
def test_long_answers_are_compressed_as_the_client_likes(
    door: Any, accepted: str, encoding: str | None
) -> None:
    response = door.call("long", 50_000, HTTP_ACCEPT_ENCODING=accepted)
    assert response.get("Content-Encoding") == encoding
    assert response["Vary"] == "Accept-Encoding"
    body = response.content
    assert int(response["Content-Length"]) == len(body)
    if encoding == "gzip":
        body = gzip.decompress(body)
    elif encoding == "zstd":
        body = zstandard.ZstdDecompressor().decompress(body)
    assert json.loads(body)["result"] == "slot " * 50_000


def test_short_answers_are_left_alone(door: Any) -> None:
    assert "Content-Encoding" not in door.call("getSlot", HTTP_ACCEPT_ENCODING="gzip")


def test_usage_tells_what_became_of_every_call(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=0.1, requests_burst=6)
    batch = b"[" + CALL + b',{"jsonrpc":"2.0","id":2,"method":"nonsense1"},1]'
    door.post("/ledger", batch, key=issued.secret)
    door.call("refuse", key=issued.secret)
    door.post("/ledger", b"{", key=issued.secret)
    door.call("nonsense2", key=issued.secret)
    door.call("getSlot", key=issued.secret)
    door.call("getSlot", key=issued.secret, path="/land")
    keys.suspend_key(issued.key.pk, now=timezone.now())
    from access import key_cache

    key_cache.forget()
    door.call("getSlot", key=issued.secret)
    keys.revoke_key(issued.key.pk, now=timezone.now())
    key_cache.forget()
    door.call("getSlot", key=issued.secret)
    usage.flush()
    roll_up_usage()
    found: dict[tuple[str, str], int] = {}
    for row in UsageMinute.objects.filter(key=issued.key):
        name = (row.method, row.status)
        found[name] = found.get(name, 0) + row.calls
        assert row.microseconds > 0
    assert found == {
        ("getSlot", "ok"): 1,
        ("unknown", "method_not_found"): 2,
        ("none", "invalid_request"): 1,
        ("refuse", "invalid_params"): 1,
        ("none", "parse_error"): 1,
        ("getSlot", "rate_limited"): 2,
        ("none", "key_suspended"): 1,
        ("none", "key_revoked"): 1,
    }
    issued.key.refresh_from_db()
    assert issued.key.last_used_at is not None


@pytest.mark.django_db(transaction=True)
def test_an_administrators_change_is_heard_by_the_next_request(door: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=10, requests_burst=10)
    assert door.call("getSlot", key=issued.secret).status_code == 200
    keys.suspend_key(issued.key.pk, now=timezone.now())
    assert door.call("getSlot", key=issued.secret).status_code == 403
    keys.resume_key(issued.key.pk, now=timezone.now())
    assert door.call("getSlot", key=issued.secret).status_code == 200
    made = issued.key.tier
    made.requests_burst = 77
    made.save()
    assert door.call("getSlot", key=issued.secret)["X-RateLimit-Limit"] == "77"


def test_without_redis_calls_are_still_served_and_limited(
    door: Any, issue: Issue, settings: Any
) -> None:
    from access import windows
    from shared_state import script_socket

    issued = issue(requests_per_second=0.1, requests_burst=3)
    url = settings.REDIS_URL
    script_socket.forget()
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": settings.REDIS_URL}}
    try:
        statuses = [door.call("getSlot", key=issued.secret).status_code for _ in range(5)]
        keyless = [door.call("getSlot").status_code for _ in range(12)]
    finally:
        settings.REDIS_URL = url
        script_socket.forget()
        windows.forget()
    assert statuses == [200, 200, 200, 429, 429]
    assert 200 in keyless and 429 in keyless


def test_a_method_may_ask_for_a_scope_of_its_own(door: Any, issue: Issue) -> None:
    proxy, simulate = issue(scopes=["proxy"]), issue(scopes=["simulate"])
    both, neither = issue(scopes=["proxy", "simulate"]), issue(scopes=["historical"])
    for issued, method, status in [
        (proxy, "getSlot", 200),
        (proxy, "whoCalls", 403),
        (simulate, "getSlot", 403),
        (simulate, "whoCalls", 200),
        (both, "getSlot", 200),
        (both, "whoCalls", 200),
        (neither, "whoCalls", 403),
    ]:
        response = door.call(method, path="/mixed", key=issued.secret)
        assert response.status_code == status, (issued.key.scopes, method)
    refused = door.call("getSlot", path="/mixed", key=simulate.secret).json()["error"]["data"]
    assert refused == {"reason": "scope_missing", "required": "proxy", "found": ["simulate"]}


def test_in_a_batch_only_the_calls_without_their_scope_are_refused(door: Any, issue: Issue) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "whoCalls"},
        {"jsonrpc": "2.0", "id": 2, "method": "getSlot"},
        {"jsonrpc": "2.0", "method": "getSlot"},
    ]
    response = door.post("/mixed", json.dumps(calls), key=issue(scopes=["simulate"]).secret)
    assert response.status_code == 200
    served, refused, bad = response.json()
    assert served["result"]["tier"] == "basic"
    assert (refused["id"], refused["error"]["code"]) == (2, -32003)
    assert refused["error"]["data"]["reason"] == "scope_missing"
    assert bad["error"]["data"]["reason"] == "invalid_request"
