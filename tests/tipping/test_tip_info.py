"""GET /priority/tipinfo and /priority/tipaddress/{pubkey}."""

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from access.models import Tier
from columns.kept import forget_all
from shared_state.redis_client import client as redis_client
from tests.tipping.conftest import SEED
from tipping.models import TipAddress, TipBatch
from tipping.services import batches

pytestmark = pytest.mark.django_db


@pytest.fixture
def get(client):
    def ask(path, key="", method="GET", **meta):
        if key:
            meta["HTTP_AUTHORIZATION"] = key
        meta.setdefault("HTTP_HOST", "localhost")
        return client.generic(method, path, **meta)

    return ask


def test_the_classes_come_with_the_callers_quota(get, opened, issue, tier, settings):
    settings.EDGE_NAME, settings.TIP_MAX_COUNT = "edge-a1", 12
    opened(600, 7200, now=timezone.now())
    made = tier("basic", tip_fetches_per_second=4, tip_fetches_burst=16)
    response = get("/priority/tipinfo", issue(tier=made).secret)
    assert response.status_code == 200
    opens = {batch.ttl_seconds: batch for batch in TipBatch.objects.filter(state="open")}
    assert response.json() == {
        "ttl_classes": [
            {
                "ttl_seconds": ttl,
                "available": True,
                "expires_at_if_fetched_now": int(opens[ttl].expires_at.timestamp()),
            }
            for ttl in (600, 7200)
        ],
        "default_ttl_seconds": 600,
        "max_ttl_seconds": 7200,
        "max_count": 12,
        "min_lamports": 890_880,
        "quota": {
            "fetch_rate_per_second": 4.0,
            "fetch_burst": 16,
            "fetch_daily_cap": None,
        },
        "served_by": "edge-a1",
    }
    assert b'"fetch_rate_per_second":4.0' in response.content


def test_a_daily_cap_is_returned_and_no_limit_is_a_large_one(get, opened, issue, tier):
    opened(600, now=timezone.now())
    made = tier("basic", tip_fetches_per_second=None)
    Tier.objects.filter(pk=made.pk).update(tip_fetches_daily_cap=77)
    quota = get("/priority/tipinfo", issue(tier=made).secret).json()["quota"]
    assert quota["fetch_daily_cap"] == 77
    assert quota["fetch_rate_per_second"] == 1_000_000 and quota["fetch_burst"] == 1_000_000


def test_a_class_that_a_fetch_would_refuse_is_unavailable(get, opened, ttl_classes, issue):
    opened(600, 7200, now=timezone.now())
    TipBatch.objects.filter(ttl_seconds=7200, state="prepared").update(ttl_seconds=1)
    TipBatch.objects.filter(ttl_seconds=7200, state="open").update(window_ends_at=timezone.now())
    key = issue().secret
    classes = get("/priority/tipinfo", key).json()["ttl_classes"]
    assert [each["available"] for each in classes] == [True, False]
    assert classes[1]["expires_at_if_fetched_now"] is None
    batches.prepare_batches(seed=SEED, now=timezone.now())
    batches.rotate_due(now=timezone.now())
    forget_all()  # as half a second would
    assert all(each["available"] for each in get("/priority/tipinfo", key).json()["ttl_classes"])


def test_only_callers_without_a_key_pay_for_it(get, opened, issue, tier):
    opened(600, now=timezone.now())
    tier("anonymous", 0, tip_fetches_per_second=0.01, tip_fetches_burst=2)
    key = issue(tier=tier("basic", tip_fetches_per_second=0.01, tip_fetches_burst=2)).secret
    assert [get("/priority/tipinfo", key).status_code for _ in range(5)] == [200] * 5
    assert [get("/priority/tipinfo").status_code for _ in range(3)] == [200, 200, 429]
    response = get("/priority/tipinfo")
    assert isinstance(response.json()["error"], str)
    assert 1 <= int(response["Retry-After"]) <= 100
    # The bucket is that of the fetches.
    assert get("/priority/fetchtipaddress").status_code == 429
    assert get("/priority/fetchtipaddress", key).status_code == 200


def test_tipinfo_spends_nothing_of_the_days_cap(get, opened, tier):
    opened(600, now=timezone.now())
    made = tier("anonymous", 0, tip_fetches_per_second=100, tip_fetches_burst=100)
    Tier.objects.filter(pk=made.pk).update(tip_fetches_daily_cap=1)
    assert [get("/priority/tipinfo").status_code for _ in range(3)] == [200] * 3
    paths = ["/priority/fetchtipaddress"] * 2
    assert [get(path).status_code for path in paths] == [200, 429]


def test_a_wrong_key_a_wrong_method_a_wrong_host(get, opened):
    opened(600, now=timezone.now())
    assert get("/priority/tipinfo", "nonsense").status_code == 401
    assert get("/priority/tipinfo?api_key=nonsense").status_code == 401
    for method in ("HEAD", "POST"):
        assert get("/priority/tipinfo", method=method).status_code == 405
    response = get("/priority/tipinfo", HTTP_HOST="public.rpc.localhost")
    assert response.status_code == 404 and response.json()["error"] == "path_not_served"
    response = get("/priority/tipinfo", method="OPTIONS")
    assert response.status_code == 204 and "GET" in response["Access-Control-Allow-Methods"]


def test_an_issued_address_is_valid_and_any_other_is_not(get, opened):
    opened(600, now=timezone.now())
    fetched = get("/priority/fetchtipaddress").json()
    path = f"/priority/tipaddress/{fetched['address']}"
    valid = {
        "address": fetched["address"],
        "valid": True,
        "is_static": False,
        "expires_at": fetched["expires_at"],
    }
    assert get(path).json() == valid
    redis_client().flushdb()
    assert get(path).json() == valid
    unissued = TipAddress.objects.filter(issued_at__isnull=True).first().pubkey
    for stranger in (unissued, Keypair().pubkey()):
        answer = get(f"/priority/tipaddress/{stranger}").json()
        assert answer == {"address": str(stranger), "valid": False}


def test_an_expired_address_is_like_an_unknown_one(get, opened):
    opened(600, now=timezone.now())
    address = get("/priority/fetchtipaddress").json()["address"]
    now = timezone.now().replace(microsecond=0)
    TipBatch.objects.filter(state="open").update(expires_at=now)
    redis_client().flushdb()
    for _ in range(2):  # by the database, and by Redis
        answer = get(f"/priority/tipaddress/{address}").json()
        assert answer == {"address": address, "valid": False}


def test_a_static_address_is_valid_for_ever(get, opened, settings):
    opened(600, now=timezone.now())
    static = settings.TIP_ADDRESSES[0]
    assert get(f"/priority/tipaddress/{static}").json() == {
        "address": str(static),
        "valid": True,
        "is_static": True,
        "expires_at": None,
    }


@pytest.mark.parametrize(
    "text",
    ["1111", "0" * 40, "l" * 43, "1" * 45, "z" * 44, "%C3%A9" * 32, "a b", "1" * 31, "%00" * 32],
)
def test_a_malformed_address_is_refused_with_a_message(get, opened, text):
    response = get(f"/priority/tipaddress/{text}")
    assert response.status_code == 400
    assert list(response.json()) == ["error"] and " " in response.json()["error"]


def test_looking_at_addresses_spends_nothing(get, opened, tier):
    opened(600, now=timezone.now())
    tier("anonymous", 0, requests_per_second=0.1, requests_burst=1, tip_fetches_burst=1)
    path = f"/priority/tipaddress/{Keypair().pubkey()}"
    responses = [get(path) for _ in range(5)]
    assert {response.status_code for response in responses} == {200}
    assert not responses[0].has_header("X-RateLimit-Limit")


def test_without_any_class_tip_info_is_unavailable(get, ttl_classes, issue):
    ttl_classes()
    response = get("/priority/tipinfo", issue(requests_per_second=None).secret)
    assert response.status_code == 503 and response["Retry-After"] == "5"
    assert response.json() == {"error": "unavailable", "details": "there is no TTL class"}
