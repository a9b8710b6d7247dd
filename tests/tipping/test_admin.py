"""The admin's pages on tip addresses, as a browser's requests."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from staff.models import AuditEntry
from tests.rewind.test_audit_admin import text_of
from tests.tipping.tipped_samples import fill_tipping
from tipping.models import TipAddress, TipBatch, TipEntry, TtlClass
from tipping.store import tip_days

CLASSES = "/admin/tipping/ttlclass/"
BATCHES = "/admin/tipping/tipbatch/"
ADDRESSES = "/admin/tipping/tipaddress/"
ENTRIES = "/admin/tipping/tipentry/"
SWEEPS = "/admin/tipping/tipsweep/"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def ids(issue: Callable[..., Any]) -> dict[str, Any]:
    return fill_tipping(timezone.now(), key=issue().key)


def order(client: Any, path: str, action: str, *pks: int) -> str:
    data = {"action": action, "_selected_action": pks}
    content: bytes = client.post(path, data, follow=True).content
    return content.decode()


def give(client: Any, pk: int, name: str) -> str:
    """The page after confirming the action."""
    asked = text_of(client, f"{CLASSES}order/{pk}/{name}/")
    assert 'method="post"' in asked
    content: bytes = client.post(f"{CLASSES}order/{pk}/{name}/", follow=True).content
    return content.decode()


def test_a_class_is_deleted_with_prepared_batches_but_not_with_opened_ones(
    admin_client: Any,
) -> None:
    ttl_class = TtlClass.objects.get(ttl_seconds=900)
    TtlClass.objects.filter(pk=ttl_class.pk).update(batch_size=16)
    give(admin_client, ttl_class.pk, "prepare")
    give(admin_client, ttl_class.pk, "rotate")
    path = f"{CLASSES}{ttl_class.pk}/delete/"
    text = admin_client.post(path, {"post": "yes"}, follow=True).content.decode()
    assert "The class of 15 min has issued addresses and cannot be deleted." in text
    assert TtlClass.objects.filter(pk=ttl_class.pk).exists()
    other = TtlClass.objects.get(ttl_seconds=86_400)
    TtlClass.objects.filter(pk=other.pk).update(batch_size=16)
    give(admin_client, other.pk, "prepare")
    assert "with its prepared batches" in text_of(admin_client, f"{CLASSES}{other.pk}/delete/")
    admin_client.post(f"{CLASSES}{other.pk}/delete/", {"post": "yes"})
    assert not TtlClass.objects.filter(pk=other.pk).exists()


def test_batches_show_what_was_issued_and_swept(
    admin_client: Any, ids: dict[str, Any], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(15):
        text = text_of(admin_client, BATCHES)
    for shown in ("9 of 24", "0 of 24", ">waiting<", "wait for a richer one", ">prepared<"):
        assert shown in text
    page = text_of(admin_client, f"{BATCHES}{ids['batch']}/change/")
    assert "1 sweep with 9 of its addresses" in page
    number = str(TipBatch.objects.get(pk=ids["batch"]).number)
    assert text_of(admin_client, BATCHES, q=number).count(f">{number}<") == 1
    for swept in ("waiting", "swept", "noted"):
        assert "of 24" in text_of(admin_client, BATCHES, swept=swept)


def test_a_batch_is_swept_on_order_and_only_once_it_is_closed(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    every = list(TipBatch.objects.values_list("pk", flat=True))
    TipBatch.objects.update(balances_read_at=timezone.now())
    assert "The balances of 4 closed batches will be read" in order(
        admin_client, BATCHES, "sweep_now", *every
    )
    assert AuditEntry.objects.filter(verb="ordered the sweep of").count() == 4
    assert TipBatch.objects.filter(swept_at=None, balances_read_at=None).count() == 4


def test_an_address_shows_its_holder_and_its_tips(
    admin_client: Any, ids: dict[str, Any], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(12):
        text = text_of(admin_client, ADDRESSES, issued="yes")
    assert "a caller without a key" in text
    assert "test (tmk_" in text
    found = text_of(admin_client, ADDRESSES, q=ids["address"])
    assert f"{ADDRESSES}{ids['address']}/change/" in found
    assert "Nothing found" in text_of(admin_client, ADDRESSES, q="nobody")
    assert "Nothing found" in text_of(admin_client, ADDRESSES, batch="999999999")
    page = text_of(admin_client, f"{ADDRESSES}{ids['address']}/change/")
    for shown in (ids["address"], "Transfers", "+", ">failed<", "edge-1"):
        assert shown in page


def test_the_ledger_shows_sums_by_day_and_class(admin_client: Any, ids: dict[str, Any]) -> None:
    tip_days.count_days()
    text = text_of(admin_client, ENTRIES)
    for shown in ("Tips by day", "Class 15 min", "Class 1 h", "(static)", "-1,000,000"):
        assert shown in text
    assert "What it received" not in text
    assert ids["address"][:8] in text_of(admin_client, ENTRIES, q=ids["address"])
    assert text_of(admin_client, ENTRIES, kind="sweep").count(">sweep<") >= 1
    page = f"{ENTRIES}{ids['entry']}/change/"
    entry = TipEntry.objects.get(pk=ids["entry"])
    assert f"/admin/priority/submission/?q={entry.signature}" in text_of(admin_client, page)
    TipEntry.objects.filter(pk=entry.pk).update(key=None, kind="tip")
    assert "not sent with a key of this service" in text_of(admin_client, page)


def test_sweeps_are_listed_with_their_addresses(admin_client: Any, ids: dict[str, Any]) -> None:
    text = text_of(admin_client, SWEEPS)
    assert "InsufficientFundsForRent" in text
    assert "45,000" in text
    page = text_of(admin_client, f"{SWEEPS}{ids['sweep']}/change/")
    assert "pays the fee" in page
    assert page.count(f'href="{ADDRESSES}') == 10  # nine of them, and the sidebar's


def test_home_shows_classes_without_addresses_and_todays_tips(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    TipBatch.objects.filter(pk=ids["batch"]).update(expires_at=timezone.now() - timedelta(hours=1))
    home = text_of(admin_client, "/admin/")
    for shown in ("2 of 4 classes", "Class of 1 d", "Expired batches not swept", "Treasury"):
        assert shown in home


def test_read_only_staff_cannot_run_actions(
    client: Any, django_user_model: Any, ids: dict[str, Any]
) -> None:
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    for codename in ("view_tipbatch", "view_ttlclass", "view_tipaddress"):
        user.user_permissions.add(Permission.objects.get(codename=codename))
    client.force_login(user)
    open_batches = set(TipBatch.objects.filter(state="open").values_list("pk", flat=True))
    for path, action in ((BATCHES, "sweep_now"), (CLASSES, "/order/")):
        assert action not in text_of(client, path)
    assert "Treasury" not in text_of(client, CLASSES)
    pk = TtlClass.objects.values_list("pk", flat=True)[0]
    for name in ("rotate", "prepare", "sweep"):
        for answer in (client.get, client.post):
            assert answer(f"{CLASSES}order/{pk}/{name}/").status_code == 403
    assert set(TipBatch.objects.filter(state="open").values_list("pk", flat=True)) == open_batches
    assert TipAddress.objects.exists()
