"""A key's origins, methods and rate: how far customers narrow them, and who created a key."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.models import ApiKey
from access.services import keys
from access.services.key_edits import edit_key
from portal.models import KeyTerms
from tests.portal.conftest import Browser
from tests.portal.test_keys import FORM, save

pytestmark = pytest.mark.django_db

NARROW = {
    "methods": "getSlot\ngetBlock",
    "origins": "https://App.ada.example:443/\nhttp://localhost:3000",
    "requests_per_second": "7.5",
}


@pytest.fixture
def client(developer: Any, browser: Browser) -> Client:
    return browser(developer)


def test_a_key_is_narrowed_and_widened_again(client: Client, key: ApiKey) -> None:
    text = save(client, key, **NARROW)
    assert key.methods == ["getBlock", "getSlot"] and key.requests_per_second == 7.5
    assert key.origins == ["https://app.ada.example", "http://localhost:3000"]
    for shown in ("getBlock, getSlot", "https://app.ada.example, http://localhost:3000", "7.5"):
        assert f"<dd>{shown}</dd>" in text
    caller = keys.caller_of(key)
    assert (caller.quotas["requests"].rate, caller.quotas["requests"].burst) == (7.5, 8)
    limits = client.get(reverse("portal:key_limits", args=[key.pk])).content.decode()
    assert "7.5 a second" in limits
    save(client, key)
    assert (key.methods, key.origins, key.requests_per_second) == ([], [], None)
    assert keys.caller_of(key).quotas["requests"].rate == 30


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"methods": "no method!"}, "&#x27;method!&#x27; is not a method of this service"),
        ({"methods": "getslot"}, "not a method of this service: did you mean getSlot"),
        ({"origins": "app.ada.example"}, "is not an origin such as https://app.example"),
        ({"origins": "https://app.ada.example/page"}, "is not an origin"),
        ({"origins": "https://*.*.example"}, "is not an origin"),
        ({"requests_per_second": "0"}, "greater than or equal to 0.01"),
        ({"requests_per_second": "nan"}, "Enter a number"),
        ({"requests_per_second": "30.5"}, "At most 30 calls a second"),
    ],
)
def test_what_is_none_or_too_much_is_refused(
    client: Client, key: ApiKey, wish: dict[str, str], problem: str
) -> None:
    assert problem in save(client, key, **wish)
    assert (key.methods, key.origins, key.requests_per_second) == ([], [], None)


def test_what_staff_gave_is_the_most(client: Client, ada: Any, key: ApiKey) -> None:
    given = {"methods": ["getBlock", "getSlot"], "requests_per_second": 5.0}
    edit_key(key.pk, now=timezone.now(), **given)  # type: ignore[arg-type]
    assert "Not among your methods: getBlocks" in save(client, key, methods="getBlocks")
    assert "At most 5 calls a second" in save(client, key, requests_per_second="6")
    save(client, key, methods="getSlot", requests_per_second="2")
    assert (key.methods, key.requests_per_second) == (["getSlot"], 2)
    posted = {**FORM, "name": "second", "like": key.pk, "methods": "getBlock"}
    client.post(reverse("portal:key_issue"), posted)
    new = ada.keys.get(name="second")
    assert (new.methods, new.requests_per_second) == (["getBlock"], 5), "what was given, not left"
    text = save(client, key)
    assert (key.methods, key.requests_per_second) == (["getBlock", "getSlot"], 5)
    assert "at most getBlock, getSlot" in text and "at most 5 calls a second" in text
    # What staff changes from then on is the grant.
    edit_key(key.pk, now=timezone.now(), methods=["getSlot"], requests_per_second=3.0)
    assert "Not among your methods: getBlock" in save(client, key, methods="getBlock")
    assert "At most 3 calls a second" in save(client, key, requests_per_second="5")


def test_terms_of_before_give_what_the_key_has(client: Client, key: ApiKey) -> None:
    """Rows that were noted before methods and rates were."""
    ApiKey.objects.filter(pk=key.pk).update(methods=["getSlot"])
    KeyTerms.objects.create(key=key, given_scopes=key.scopes, set_scopes=key.scopes)
    key.refresh_from_db()
    assert "Not among your methods: getBlock" in save(client, key, methods="getBlock")


def test_a_rotation_carries_all_of_it_along(client: Client, ada: Any, key: ApiKey) -> None:
    save(client, key, **NARROW)
    client.post(reverse("portal:key_rotate", args=[key.pk]), {"overlap_hours": "1"})
    new = ada.keys.get(rotated_from=key)
    assert (new.methods, new.origins) == (key.methods, key.origins)
    assert new.requests_per_second == 7.5
    save(client, new)
    assert new.methods == [] and new.requests_per_second is None


def test_a_keys_page_names_who_created_it(
    client: Client, ada: Any, key: ApiKey, admin_client: Client
) -> None:
    def creator(found: ApiKey) -> str:
        page = client.get(reverse("portal:key", args=[found.pk])).content.decode()
        return page.partition("<dt>Issued</dt><dd>")[2].partition("</dd>")[0].partition(", by ")[2]

    assert creator(key) == "the operator"
    client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk})
    new = ada.keys.latest("pk")
    assert creator(new) == "developer@ada.example"
    client.post(reverse("portal:key_rotate", args=[new.pk]), {"overlap_hours": "0"})
    assert creator(ada.keys.get(rotated_from=new)) == "developer@ada.example"
    form = {"customer": ada.pk, "name": "by staff", "tier": key.tier.pk, "scopes": ["historical"]}
    form |= {"expires_at_0": "", "expires_at_1": ""}
    admin_client.post("/admin/access/apikey/add/", form)
    by_staff = ada.keys.get(name="by staff")
    assert creator(by_staff) == "the operator", "customers are not told staff's names"
    page = admin_client.get(f"/admin/access/apikey/{by_staff.pk}/change/").content.decode()
    assert "by admin" in page


def test_a_rotation_keeps_a_method_that_is_no_longer_served(
    client: Client, ada: Any, key: ApiKey
) -> None:
    ApiKey.objects.filter(pk=key.pk).update(methods=["getGone", "getSlot"])
    client.post(reverse("portal:key_rotate", args=[key.pk]), {"overlap_hours": "1"})
    assert ada.keys.get(rotated_from=key).methods == ["getGone", "getSlot"]
    assert "&#x27;getGone&#x27; is not a method" in save(client, key, methods="getGone")
