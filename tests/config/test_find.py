"""The search of the admin and the portal: one hit leads to its page, several are listed, and nobody
finds what they may not see.
"""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from solders.signature import Signature

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


@pytest.mark.parametrize("shown", ["{0:.6}", "{0:.8}…", "{0:.8}...", "{0:.8}…{1}", "{0:.87}"])
def test_the_beginning_of_a_name_finds_it(
    admin_client: Client, key: Any, submission: Any, shown: str
) -> None:
    from portal.services.find import kinds_of
    from priority.models import Bundle
    from staff.find import groups, only_hit

    name = str(submission.signature)
    text = shown.format(name, name[-4:])
    page = f"/admin/priority/submission/{submission.pk}/change/"
    assert find(admin_client, text).headers["Location"] == page
    listed = admin_client.get("/admin/priority/submission/", {"q": text}, HTTP_HOST="localhost")
    assert page in listed.content.decode()
    hit = only_hit(groups(kinds_of(key.customer_id), text))
    assert hit is not None and hit.link == f"/portal/fates/{name}/"
    assert groups(kinds_of(key.customer_id + 1), text) == []

    bundle_id = "0c1d2e3f" + "ab" * 28
    bundle = Bundle.objects.create(bundle_id=bundle_id, key=key, accepted_at=submission.accepted_at)
    text = shown.format(bundle_id, bundle_id[-4:]).upper()[:63]
    page = f"/admin/priority/bundle/{bundle.pk}/change/"
    assert find(admin_client, text).headers["Location"] == page
    hit = only_hit(groups(kinds_of(key.customer_id), text))
    assert hit is not None and hit.link == f"/portal/bundles/{bundle_id}/"


def test_another_ending_finds_nothing(key: Any, submission: Any) -> None:
    from portal.services.find import kinds_of
    from staff.find import groups

    name = str(submission.signature)
    other = "zzzz" if name[-4:] != "zzzz" else "1111"
    for text in (f"{name[:8]}…{other}", name[:5], f"{name[:5]}…"):
        assert groups(kinds_of(key.customer_id), text) == []


def test_a_customer_who_submitted_later_finds_by_the_beginning(key: Any) -> None:
    from django.utils import timezone

    from portal.services.find import kinds_of
    from priority.models import CoSubmitter
    from staff.find import groups, only_hit

    signature = Signature(bytes([0, 7, *range(62)]))
    digest = bytes(range(7, 39))
    for raw in (bytes(signature), digest):
        CoSubmitter.objects.create(name=raw, key=key, accepted_at=timezone.now())
    for text, link in (
        (str(signature)[:8], f"/portal/fates/{signature}/"),
        (digest.hex()[:8], f"/portal/bundles/{digest.hex()}/"),
    ):
        hit = only_hit(groups(kinds_of(key.customer_id), text))
        assert hit is not None and hit.link == link


def test_ranges_are_the_signatures_that_begin_so() -> None:
    """Also of zeros in front, which base58 writes as `1`."""
    from staff.beginnings import signature_ranges

    heads = [b"", b"\0", b"\0\0\1", b"\xff" * 3, bytes(63), b"\1" + bytes(62)]
    values = [
        head + bytes((7 * at + len(head)) % 256 for at in range(64 - len(head))) for head in heads
    ]
    values += [bytes(64), b"\xff" * 64]
    for value in values:
        name = str(Signature(value))
        for length in (1, 6, 8, 43, len(name)):
            ranges = signature_ranges(name[:length])
            assert any(first <= value <= last for first, last in ranges)
            for first, last in ranges:
                assert str(Signature(first)).startswith(name[:length])
                assert str(Signature(last)).startswith(name[:length])
                for beyond in (int.from_bytes(first) - 1, int.from_bytes(last) + 1):
                    if 0 <= beyond < 256**64:
                        raw = beyond.to_bytes(64)
                        inside = any(a <= raw <= b for a, b in ranges)
                        assert str(Signature(raw)).startswith(name[:length]) == inside
    assert signature_ranges("0OIl00") == [] and signature_ranges("1" * 65) == []


def test_look_ups_are_by_index(admin_client: Client, key: Any, submission: Any) -> None:
    """With sequential scans forbidden where an index can serve, none is left."""
    from django.test.utils import CaptureQueriesContext

    with connection.cursor() as cursor:
        access_rows.fill(cursor, customers=10, keys=20, days=1)
        cursor.execute("SET LOCAL enable_seqscan = off")
    beginning = f"{str(submission.signature)[:8]}…"
    pubkey = "Vote111111111111111111111111111111111111111"
    whole = str(submission.signature)
    for text in ("northern", key.shown_prefix, whole, beginning, pubkey, "a" * 64, "abcd12", "77"):
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
