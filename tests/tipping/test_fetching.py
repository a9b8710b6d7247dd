"""GET /priority/fetchtipaddress: both response forms, every refusal, no address twice."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connections, transaction
from django.utils import timezone
from solders.pubkey import Pubkey

from access.models import Tier
from columns.kept import forget_all
from shared_state.redis_client import client as redis_client
from tests.databases import end_session
from tests.lock_waits import waiting_sessions
from tests.tipping.conftest import SEED
from tipping.addresses import KEPT_SECONDS, live_key
from tipping.errors import TipAddressesUnavailable
from tipping.models import Edge, TipAddress, TipBatch
from tipping.services import batches, expiries, fetching

pytestmark = pytest.mark.django_db

PATH = "/priority/fetchtipaddress"


@pytest.fixture
def fetch(client):
    """`fetch("ttl=5", key)`: the response."""

    def get(query="", key="", path=PATH, method="GET", **meta):
        if key:
            meta["HTTP_AUTHORIZATION"] = key
        meta.setdefault("HTTP_HOST", "localhost")
        return client.generic(method, f"{path}?{query}" if query else path, **meta)

    return get


@pytest.fixture
def many(issue, tier):
    """A key that may fetch as often as it likes."""
    made = tier("basic", tip_fetches_per_second=None)
    return issue(tier=made)


def open_batch(ttl):
    return TipBatch.objects.get(ttl_seconds=ttl, state="open")


def test_without_parameters_the_answer_is_that_of_the_first_hour(fetch, opened):
    opened(600, 7200, now=timezone.now())
    response = fetch()
    assert response.status_code == 200 and response["Content-Type"] == "application/json"
    answer = response.json()
    assert list(answer) == ["address", "validity_duration_seconds", "expires_at"]
    assert answer["validity_duration_seconds"] == 600
    assert answer["expires_at"] == int(open_batch(600).expires_at.timestamp())
    address = TipAddress.objects.get(pubkey=Pubkey.from_string(answer["address"]))
    assert address.issued_at is not None and address.edge.name == "edge-1"


def test_with_a_parameter_the_answer_is_of_many(fetch, opened, settings):
    settings.EDGE_NAME = "edge-b2"
    opened(600, 7200, now=timezone.now())
    answer = fetch("ttl=450&count=3").json()
    assert len(set(answer.pop("addresses"))) == 3
    assert answer == {
        "ttl_seconds": 600,
        "requested_ttl_seconds": 450,
        "expires_at": int(open_batch(600).expires_at.timestamp()),
        "min_lamports": 890_880,
        "issued_by": "edge-b2",
    }
    assert set(Edge.objects.values_list("name", flat=True)) == {"edge-b2"}


@pytest.mark.parametrize(
    ("query", "given", "requested"),
    [
        ("ttl=1", 600, 1),
        ("ttl=600", 600, 600),
        ("ttl=601", 7200, 601),
        ("ttl=7200", 7200, 7200),
        ("ttl=00601", 7200, 601),
        ("count=2", 600, 600),
        ("verbose", 600, 600),
        ("ttl=5&ttl=7000", 7200, 7000),
        ("verbose=1&api_key=", None, None),
        ("tt%6c=700", 7200, 700),
    ],
)
def test_the_ttl_snaps_up_and_any_name_selects_the_shape_of_many(
    fetch, opened, query, given, requested
):
    opened(600, 7200, now=timezone.now())
    response = fetch(query)
    if given is None:  # an empty key is a wrong one, never none
        assert response.status_code == 401
        return
    answer = response.json()
    assert (answer["ttl_seconds"], answer["requested_ttl_seconds"]) == (given, requested)
    assert len(answer["addresses"]) == (2 if "count" in query else 1)


def test_a_key_in_the_query_is_no_parameter(fetch, opened, many):
    opened(600, now=timezone.now())
    answer = fetch(f"api_key={many.secret}").json()
    assert set(answer) == {"address", "validity_duration_seconds", "expires_at"}
    address = TipAddress.objects.get(pubkey=Pubkey.from_string(answer["address"]))
    assert address.key_id == many.key.pk


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("ttl=7201", {"error": "ttl_too_long", "max_ttl_seconds": 7200}),
        (f"ttl={2**63}", {"error": "ttl_too_long", "max_ttl_seconds": 7200}),
        ("ttl=" + "9" * 5000, {"error": "ttl_too_long", "max_ttl_seconds": 7200}),
        ("count=0", {"error": "count must be at least 1, found 0", "max_count": 16}),
        ("count=17", {"error": "count_out_of_range", "max_count": 16}),
        ("count=-1", {"error": "count must be at least 1, found -1", "max_count": 16}),
        ("ttl=9000&count=99", {"error": "ttl_too_long", "max_ttl_seconds": 7200}),
        ("ttl=soon", None),
        ("ttl=", None),
        ("ttl=1.5", None),
        ("ttl=1e3", None),
        ("ttl=%2B5", None),
        ("ttl=%D9%A3", None),  # a digit, though not one of ours
        ("ttl=0", None),
        ("ttl=-5", None),
        ("count=many", None),
        ("count=1.0", None),
    ],
)
def test_an_invalid_query_is_refused_and_costs_nothing(fetch, opened, issue, tier, query, body):
    opened(600, 7200, now=timezone.now())
    key = issue(tier=tier("basic", tip_fetches_per_second=0.01, tip_fetches_burst=1)).secret
    for _ in range(2):
        response = fetch(query, key)
        assert response.status_code == 400, response.content
        answer = response.json()
        if body is None:
            assert list(answer) == ["error"] and " " in answer["error"]
        else:
            assert answer == body
    assert not TipAddress.objects.filter(issued_at__isnull=False).exists()
    assert fetch("", key).status_code == 200


def test_a_fetch_costs_one_token_whatever_its_count(fetch, opened, issue, tier):
    opened(600, now=timezone.now())
    key = issue(tier=tier("basic", tip_fetches_per_second=0.01, tip_fetches_burst=2)).secret
    began = time.monotonic()
    for remaining in ("1", "0"):
        response = fetch("count=5", key)
        assert response.status_code == 200
        assert response["X-RateLimit-Limit"] == "2"
        assert response["X-RateLimit-Remaining"] == remaining
    response = fetch("", key)
    assert response.status_code == 429
    answer = response.json()
    again = answer.pop("retry_after_seconds")
    assert again == int(response["Retry-After"])
    assert 100 - (time.monotonic() - began) <= again <= 100
    assert answer == {"error": "quota_exceeded", "reason": "rate limit"}


def test_the_daily_cap_has_its_own_reason(fetch, opened, issue, tier):
    opened(600, now=timezone.now())
    made = tier("basic", tip_fetches_per_second=100, tip_fetches_burst=100)
    Tier.objects.filter(pk=made.pk).update(tip_fetches_daily_cap=2)
    key = issue(tier=made).secret
    assert [fetch("", key).status_code for _ in range(3)] == [200, 200, 429]
    response = fetch("", key)
    answer = response.json()
    assert answer["error"] == "quota_exceeded" and answer["reason"] == "daily cap"
    now = timezone.now()
    left = 86_400 - int(now.timestamp()) % 86_400
    assert abs(answer["retry_after_seconds"] - left) <= 2
    assert int(response["Retry-After"]) == answer["retry_after_seconds"]


def test_callers_without_a_key_share_one_bucket(fetch, opened, tier):
    opened(600, now=timezone.now())
    tier("anonymous", 0, tip_fetches_per_second=0.01, tip_fetches_burst=3)
    addresses = ("192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.3")
    found = [fetch("", REMOTE_ADDR=address).status_code for address in addresses]
    assert found == [200, 200, 200, 429]


def test_a_class_without_a_batch_is_unavailable(fetch, opened, many):
    opened(600, 7200, now=timezone.now())
    TipBatch.objects.filter(ttl_seconds=7200, state="prepared").update(ttl_seconds=1)
    open_batch(7200).addresses.update(
        edge=Edge.objects.create(name="x", first_seen_at="2030-01-01T00:00Z")
    )
    response = fetch("ttl=7200", many.secret)
    assert response.status_code == 503
    assert int(response["Retry-After"]) >= 1
    answer = response.json()
    assert answer["error"] == "unavailable" and answer["ttl_seconds"] == 7200
    assert "details" in answer and set(answer) <= {"error", "details", "ttl_seconds"}
    assert fetch("ttl=600", many.secret).status_code == 200
    assert asked_for_batches() == 1  # without waiting for the clock


def asked_for_batches():
    """The number of queued messages that request batches."""
    messages = [json.loads(message) for message in redis_client().lrange("default", 0, -1)]
    names = [message["headers"]["task"] for message in messages]
    return names.count("tipping.tasks.prepare_tip_batches")


def test_a_wrong_key_is_never_treated_as_none(fetch, opened, issue):
    opened(600, now=timezone.now())
    response = fetch("", "nonsense")
    assert response.status_code == 401 and response.json()["error"] == "key_malformed"
    assert response["WWW-Authenticate"]
    response = fetch("", issue(scopes=["rewind"]).secret)
    assert response.status_code == 403 and response.json()["error"] == "scope_missing"


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "PATCH"])
def test_only_get_fetches(fetch, opened, method):
    opened(600, now=timezone.now())
    response = fetch("", method=method)
    assert response.status_code == 405 and "GET" in response["Allow"]
    assert not TipAddress.objects.filter(issued_at__isnull=False).exists()


def test_the_tier_hosts_serve_it_and_the_public_one_does_not(fetch, opened):
    opened(600, now=timezone.now())
    for host in ("basic.rpc", "epic.rpc", "ultra.qos"):
        assert fetch("", HTTP_HOST=f"{host}.localhost").status_code == 200
    for host in ("public.rpc", "lite.rpc", "epic.qos"):
        assert fetch("", HTTP_HOST=f"{host}.localhost").status_code == 404


def test_calls_are_counted_under_their_names(fetch, opened, many):
    from access import usage

    opened(600, now=timezone.now())
    fetch("", many.secret)
    fetch("count=17", many.secret)
    fetch("", many.secret, path="/priority/tipinfo")
    fetch("", many.secret, path="/priority/tipaddress/1111")
    usage.flush()
    counted = {
        tuple(field.decode().split("|")[2:]): int(calls)
        for field, calls in redis_client().hgetall(usage.LIVE_KEY).items()
        if field.startswith(b"calls|")
    }
    assert counted == {
        (str(many.key.pk), "fetchtipaddress", "ok"): 1,
        (str(many.key.pk), "fetchtipaddress", "count_out_of_range"): 1,
        (str(many.key.pk), "tipinfo", "ok"): 1,
        (str(many.key.pk), "tipaddress", "bad_tip_query"): 1,
    }


def test_an_issued_address_is_known_to_redis(fetch, opened, many):
    opened(600, now=timezone.now())
    answer = fetch("count=2", many.secret).json()
    for address in answer["addresses"]:
        key = live_key(bytes(Pubkey.from_string(address)))
        assert int(redis_client().get(key)) == answer["expires_at"]
        assert redis_client().expiretime(key) == answer["expires_at"] + KEPT_SECONDS


def test_the_next_batch_opens_when_the_last_address_is_gone(fetch, opened, many):
    opened(600, now=timezone.now(), size=20)
    seen = []
    for _ in range(5):
        seen.append(fetch("count=9", many.secret).json())
    assert [len(each["addresses"]) for each in seen] == [9, 9, 2, 9, 9]
    every = [address for each in seen for address in each["addresses"]]
    assert len(set(every)) == 38
    assert len({each["expires_at"] for each in seen}) <= 2
    assert asked_for_batches() == 1  # the prepared one was the last


@pytest.mark.django_db(transaction=True)
def test_a_fetch_that_waits_for_another_rotation_uses_its_batch(opened):
    start = datetime.fromisoformat("2030-01-01T00:00:00Z")
    (ttl_class,) = opened(600, now=start, size=16)

    def fetch_there():
        try:
            return fetched(now=start + timedelta(seconds=60), edge="there")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert batches.rotate(ttl_class.pk, now=start + timedelta(seconds=60))
            waiting = pool.submit(fetch_there)  # it still sees the old batch, and wants to rotate
            while not waiting_sessions():
                assert not waiting.done(), waiting.result()
        assert waiting.result().expires_at == int(start.timestamp()) + 720
    assert TipBatch.objects.count() == 2


def test_without_ttl_classes_fetching_is_unavailable(fetch, ttl_classes):
    ttl_classes()
    assert fetch().status_code == 503


def fetched(count=1, *, now, ttl=600, edge="e"):
    request = fetching.check_request(ttl=ttl, count=count, max_count=16, edge=edge, now=now)
    return fetching.fetch(request, edge=edge, key_id=None, now=now)


def test_a_fetch_makes_up_for_a_late_rotation(opened):
    start = datetime.fromisoformat("2030-01-01T00:00:00Z")
    opened(600, now=start)
    before = fetched(now=start + timedelta(seconds=59.9))
    after = fetched(now=start + timedelta(seconds=60))
    assert before.expires_at == int(start.timestamp()) + 660
    assert after.expires_at == int(start.timestamp()) + 720
    # Nothing is prepared any more: what ended is not issued from.
    with pytest.raises(TipAddressesUnavailable) as refused:
        fetched(now=start + timedelta(seconds=120))
    assert refused.value.retry_seconds > 1
    batches.prepare_batches(seed=SEED, now=start + timedelta(seconds=121))
    forget_all()
    assert fetched(now=start + timedelta(seconds=121)).expires_at == before.expires_at + 121


def test_an_address_expires_at_most_a_window_later_than_asked(opened):
    start = datetime.fromisoformat("2030-01-01T00:00:00Z")
    opened(600, now=start)
    for second in range(0, 60, 7):
        now = start + timedelta(seconds=second, microseconds=second * 1_000)
        issued = fetched(now=now)
        assert now.timestamp() + 600 <= issued.expires_at <= now.timestamp() + 660


def test_an_edge_takes_its_slice_and_others_have_the_rest(opened):
    start = datetime.fromisoformat("2030-01-01T00:00:00Z")
    opened(600, now=start, size=64)
    fetched(now=start, edge="a")
    fetched(now=start, edge="b")
    held = {edge.name: TipAddress.objects.filter(edge=edge).count() for edge in Edge.objects.all()}
    assert held == {"a": 16, "b": 16}
    assert len(fetched(16, now=start, edge="a").pubkeys) == 16
    assert TipAddress.objects.filter(edge__name="a").count() == 32


def test_what_redis_lost_the_database_knows(opened):
    start = timezone.now()
    opened(600, now=start)
    issued = fetched(3, now=start)
    redis_client().flushdb()
    unissued = bytes(TipAddress.objects.filter(issued_at__isnull=True).first().pubkey)
    found = expiries.expiries_of([*issued.pubkeys, unissued, bytes(32)])
    assert set(found) == set(issued.pubkeys)
    assert {int(at.timestamp()) for at in found.values()} == {issued.expires_at}
    assert redis_client().get(live_key(issued.pubkeys[0])) is not None
    assert redis_client().get(live_key(unissued)) is None
    assert expiries.expiries_of([]) == {}


def test_a_database_that_was_restored_issues_no_address_again(opened, caplog):
    start = timezone.now()
    opened(600, now=start, size=20)
    issued = set(fetched(9, now=start).pubkeys)
    # The copy was made before: it has them as free, and a batch waits that has been opened since.
    TipAddress.objects.update(issued_at=None, key=None)
    again = []
    for second in range(3):
        try:
            again += fetched(12, now=start + timedelta(seconds=second)).pubkeys
        except TipAddressesUnavailable:
            batches.prepare_batches(seed=SEED, now=start + timedelta(seconds=second))
            forget_all()
    assert again and len(set(again)) == len(again) and not issued & set(again)
    assert "had been issued before" in caplog.text
    numbers = list(TipBatch.objects.order_by("number").values_list("state", flat=True))
    assert numbers == ["closed", "open", "prepared"]


def test_an_operator_renews_all_batches(opened):
    from django.core.management import call_command

    opened(600, 7200, now=timezone.now())
    call_command("renew_tip_batches")
    assert set(TipBatch.objects.values_list("state", flat=True)) == {"closed"}
    assert not TipAddress.objects.exists()


def test_without_redis_the_database_issues_and_a_guard_holds(fetch, opened, issue, tier, settings):
    from access import local_buckets
    from shared_state import script_socket

    opened(600, now=timezone.now())
    key = issue(tier=tier("basic", tip_fetches_per_second=0.01, tip_fetches_burst=2)).secret
    local_buckets.forget()
    script_socket.forget()
    kept, settings.REDIS_URL = settings.REDIS_URL, "redis://127.0.0.1:1/0"
    try:
        responses = [fetch("count=2", key) for _ in range(3)]
    finally:
        settings.REDIS_URL = kept
        script_socket.forget()
    assert [response.status_code for response in responses] == [200, 200, 429]
    for address in responses[0].json()["addresses"]:
        assert redis_client().get(live_key(bytes(Pubkey.from_string(address)))) is None
        assert fetch(path=f"/priority/tipaddress/{address}").json()["valid"]


@pytest.mark.django_db(transaction=True)
def test_without_the_database_the_caller_gets_retry_after(fetch, opened, many):
    from django.db import connection

    opened(600, now=timezone.now())
    assert fetch("", many.secret).status_code == 200
    end_session()
    response = fetch("", many.secret)
    assert response.status_code == 503 and int(response["Retry-After"]) >= 1
    assert response.json()["error"] == "unavailable" and "details" in response.json()
    connection.close()  # as the server does between requests
    assert fetch("", many.secret).status_code == 200
