"""The search of the admin and the portal: one hit leads to its page, several are listed, and nobody
finds what they may not see.
"""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests.scale import access_rows, landing_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(db: None, empty_redis: None) -> Any:
    from access.models import Customer, Tier
    from access.services.keys import issue_key

    customer = Customer.objects.create(name="Northern Lights", email="ops@northern.example")
    tier = Tier.objects.get_or_create(name="elite", defaults={"rank": 30})[0]
    return issue_key(customer, tier=tier, name="indexer").key


@pytest.fixture
def submission(key: Any) -> Any:
    from priority.models import Submission

    with connection.cursor() as cursor:
        landing_rows.fill(cursor, 20, [key.pk])
    return Submission.objects.order_by("pk")[0]


def find(client: Client, text: str, path: str = "/admin/find/", **more: str) -> Any:
    return client.get(path, {"q": text, **more}, HTTP_HOST="localhost")


def test_one_hit_is_its_page(admin_client: Client, key: Any, submission: Any) -> None:
    customer = f"/admin/access/customer/{key.customer_id}/change/"
    page = f"/admin/access/apikey/{key.pk}/change/"
    assert find(admin_client, "northern l").headers["Location"] == customer
    assert find(admin_client, "OPS@NORTHERN").headers["Location"] == customer
    assert find(admin_client, f"{key.shown_prefix}…{key.last_four}").headers["Location"] == page
    sent = find(admin_client, str(submission.signature)).headers["Location"]
    assert sent == f"/admin/priority/submission/{submission.pk}/change/"


def test_several_hits_are_listed_by_kind(admin_client: Client, key: Any) -> None:
    from access.models import Customer

    Customer.objects.create(name="Northern Star")
    text = find(admin_client, "northern").content.decode()
    assert "Northern Lights" in text and "Northern Star" in text
    assert "<h2>Customers</h2>" in text and "<h2>API keys</h2>" not in text


@pytest.mark.parametrize("text", ["", "no such thing", "x" * 5_000, "a\x00b", "%", "_____"])
def test_nothing_found_says_what_can_be(admin_client: Client, key: Any, text: str) -> None:
    answer = find(admin_client, text)
    assert answer.status_code == 200
    assert "a slot, blockhash or signature" in answer.content.decode()


def test_staff_finds_what_it_may_see(client: Client, key: Any, django_user_model: Any) -> None:
    from staff.find import STAFF_KINDS, groups, kinds_for

    user = django_user_model.objects.create_user("clerk", is_staff=True)
    assert groups(kinds_for(user), "northern") == []
    assert groups(STAFF_KINDS, "northern")


def test_the_part_is_a_list_alone(admin_client: Client, key: Any) -> None:
    answer = find(admin_client, "northern", part="1")
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()


def test_strangers_are_sent_to_the_sign_in(client: Client) -> None:
    assert "/login/" in find(client, "x").headers["Location"]
    assert "/sign-in/" in find(client, "x", "/portal/find/").headers["Location"]


def test_members_find_their_own(key: Any, submission: Any) -> None:
    from access.models import Customer
    from portal.services.find import kinds_of
    from staff.find import groups, only_hit

    stranger = Customer.objects.create(name="Eve")
    texts: dict[str, str] = {
        "index": f"/portal/keys/{key.pk}/",
        key.shown_prefix: f"/portal/keys/{key.pk}/",
        str(submission.signature): f"/portal/fates/{submission.signature}/",
    }
    for text, page in texts.items():
        hit = only_hit(groups(kinds_of(key.customer_id), text))
        assert hit is not None and hit.link == page
        assert groups(kinds_of(stranger.pk), text) == []


def test_look_ups_are_by_index(admin_client: Client, key: Any, submission: Any) -> None:
    """With sequential scans forbidden where an index can serve, none is left."""
    from django.test.utils import CaptureQueriesContext

    with connection.cursor() as cursor:
        access_rows.fill(cursor, customers=10, keys=20, days=1)
        cursor.execute("SET LOCAL enable_seqscan = off")
    pubkey = "Vote111111111111111111111111111111111111111"
    for text in ("northern", key.shown_prefix, str(submission.signature), pubkey, "a" * 64, "77"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            find(admin_client, text)
        assert len(queries) <= 30
        for query in queries:
            sql = query["sql"]
            if not sql.startswith("SELECT") or "django_" in sql or "otp_" in sql:
                continue
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN " + sql)
                plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on access_" not in plan and "Seq Scan on priority_" not in plan, plan
