"""What customers do to their keys, and how far they may go."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.models import ApiKey
from access.services import keys
from portal.services import key_actions
from staff.models import AuditEntry
from tests.portal.conftest import Browser

pytestmark = pytest.mark.django_db

FORM = {"name": "a bot", "scopes": ["historical", "rewind"]}


@pytest.fixture
def client(owner: Any, browser: Browser) -> Client:
    return browser(owner)


def order(client: Client, name: str, key: ApiKey, **posted: Any) -> Any:
    answer = client.post(reverse(f"portal:key_{name}", args=[key.pk]), posted, follow=True)
    assert answer.status_code == 200
    key.refresh_from_db()
    return answer.content.decode()


def save(client: Client, key: ApiKey, **changes: Any) -> str:
    form: dict[str, Any] = {"name": key.name, "scopes": key.scopes, **changes}
    answer = client.post(reverse("portal:key", args=[key.pk]), form, follow=True)
    assert answer.status_code == 200
    key.refresh_from_db()
    return answer.content.decode()


def test_an_issued_key_works_and_its_secret_is_shown_once(
    client: Client, ada: Any, key: ApiKey
) -> None:
    posted = {**FORM, "like": key.pk, "networks": "203.0.113.7\n10.0.0.0/8", "environment": "test"}
    answer = client.post(reverse("portal:key_issue"), posted)
    assert answer.headers["Location"] == reverse("portal:issued")
    page = client.get(reverse("portal:issued"))
    (shown,) = page.context["shown"]
    new, secret, calls = shown
    assert [each.language for each in calls] == ["curl", "Python", "TypeScript"]
    assert all(secret in each.text for each in calls)
    assert secret in page.content.decode()
    for step in ("/docs/guides/first-transaction/", "/docs/console/"):
        assert f'href="{step}"' in page.content.decode()
        assert client.get(step).status_code == 200
    assert secret not in client.get(reverse("portal:issued")).content.decode()
    caller = keys.identify(secret, now=timezone.now())
    assert caller.key_id == new.pk and caller.tier == "elite"
    assert caller.scopes == {"historical", "rewind"}
    assert new.customer == ada and new.networks == ["203.0.113.7/32", "10.0.0.0/8"]
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.verb, entry.who, entry.subject_id) == ("issued", "owner@ada.example", str(new.pk))


def test_without_a_key_to_follow_none_is_issued(client: Client, ada: Any) -> None:
    page = client.get(reverse("portal:key_issue")).content.decode()
    assert "the first key comes from the operator of this service" in page
    answer = client.post(reverse("portal:key_issue"), {**FORM, "like": "1"})
    assert answer.status_code == 200 and not ada.keys.exists()


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"name": ""}, "This field is required"),
        ({"scopes": []}, "Choose at least one"),
        ({"scopes": ["proxy"]}, "not one of the available choices"),
        ({"networks": "10.0.0.0/33"}, "Neither a network nor an address: 10.0.0.0/33"),
        ({"expires_at": "soon"}, "Enter a valid date/time"),
        ({"expires_at": ""}, "It can be valid until"),
        ({"expires_at": "2100-01-01T00:00"}, "It can be valid until"),
        ({"like": "0"}, "Select a valid choice"),
    ],
)
def test_a_new_key_gets_no_more_than_the_key_that_it_follows(
    client: Client, ada: Any, key: ApiKey, wish: dict[str, Any], problem: str
) -> None:
    end = timezone.now() + timedelta(days=3)
    ApiKey.objects.update(scopes=["historical", "rewind"], expires_at=end)
    posted = {**FORM, "like": key.pk, "expires_at": f"{end:%Y-%m-%dT%H:%M}", **wish}
    answer = client.post(reverse("portal:key_issue"), posted)
    assert problem in answer.content.decode()
    assert ada.keys.count() == 1


def test_of_two_keys_each_lends_its_own_rights_only(
    client: Client, ada: Any, key: ApiKey, tiers: dict[str, Any]
) -> None:
    keys.issue_key(ada, tier=tiers["basic"], name="all", scopes=["proxy", "historical"])
    ApiKey.objects.filter(pk=key.pk).update(scopes=["historical"], methods=["getBlock"])
    posted = {"name": "x", "like": key.pk, "scopes": ["historical", "proxy"]}
    answer = client.post(reverse("portal:key_issue"), posted)
    assert "Not among your scopes: proxy" in answer.content.decode()
    client.post(reverse("portal:key_issue"), {**posted, "scopes": ["historical"]})
    new = ada.keys.get(name="x")
    assert new.tier == tiers["elite"] and new.methods == ["getBlock"]


def test_the_lowest_tier_is_suggested_and_each_says_what_it_gives(
    client: Client, ada: Any, key: ApiKey, tiers: dict[str, Any]
) -> None:
    low = keys.issue_key(ada, tier=tiers["basic"], name="low", calls_per_month=7_000).key
    page = client.get(reverse("portal:key_issue")).content.decode()
    assert re.findall(r'<option value="(\d+)" selected', page) == [str(low.pk)]
    assert "basic, as low (" in page and "all scopes; 7,000 calls a month" in page
    for tier, rate in (("basic", 10), ("elite", 30)):
        assert (
            f"<strong>{tier}</strong>: {rate} calls per second, {rate} at once after a pause;"
            in page
        )
    assert page.index("<strong>basic") < page.index("<strong>elite")


def test_staff_starts_with_the_lowest_tier_of_keys(
    admin_client: Client, tiers: dict[str, Any]
) -> None:
    page = admin_client.get("/admin/access/apikey/add/").content.decode()
    assert f'<option value="{tiers["basic"].pk}" selected' in page
    assert (
        "<strong>elite</strong>: 30 calls per second" in page and "calls a month: no limit" in page
    )


def test_scopes_that_were_narrowed_can_be_had_back_and_no_more(client: Client, key: ApiKey) -> None:
    ApiKey.objects.update(scopes=["historical", "rewind"])
    key.refresh_from_db()
    assert "Changed smaller" in save(client, key, scopes=["historical"], name="smaller")
    assert key.scopes == ["historical"] and key.name == "smaller"
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert entry.changes["scopes"] == [["historical", "rewind"], ["historical"]]
    assert "Changed smaller" in save(client, key, scopes=["historical", "rewind"])
    assert "not one of the available choices" in save(client, key, scopes=["proxy"])
    assert key.scopes == ["historical", "rewind"]


def test_what_staff_takes_away_stays_taken_away(client: Client, key: ApiKey) -> None:
    save(client, key, scopes=["historical", "rewind"])
    ApiKey.objects.update(scopes=["historical"])  # as the admin's page does
    assert "not one of the available choices" in save(client, key, scopes=["historical", "rewind"])
    assert key.scopes == ["historical"]


def test_an_expiry_can_be_brought_forward_and_never_put_off(client: Client, key: ApiKey) -> None:
    end = timezone.now().replace(second=41, microsecond=7) + timedelta(days=30)
    ApiKey.objects.update(expires_at=end)
    key.refresh_from_db()
    save(client, key, expires_at=f"{end:%Y-%m-%dT%H:%M}", name="renamed")
    assert key.expires_at == end, "a page without seconds has not moved it"
    sooner = (end - timedelta(days=9)).replace(second=0, microsecond=0)
    save(client, key, expires_at=f"{sooner:%Y-%m-%dT%H:%M}")
    assert key.expires_at == sooner
    for later in ("", f"{end + timedelta(minutes=1):%Y-%m-%dT%H:%M}"):
        assert "It can be valid until" in save(client, key, expires_at=later)
        assert key.expires_at == sooner
    back = end.replace(second=0, microsecond=0)
    save(client, key, expires_at=f"{back:%Y-%m-%dT%H:%M}")
    assert key.expires_at == back
    assert "The expiry is past" in save(client, key, expires_at="2020-01-01T00:00")


def test_a_rotated_key_goes_on_for_the_overlap_within_the_same_bounds(
    client: Client, ada: Any, key: ApiKey
) -> None:
    save(client, key, scopes=["historical"])
    page = order(client, "rotate", key, overlap_hours="2")
    new = ApiKey.objects.get(rotated_from=key)
    secret = ApiKey.objects.get(pk=new.pk).last_four
    assert secret in page and "works until" in page
    left = key.expires_at - timezone.now() if key.expires_at else timedelta(0)
    assert timedelta(hours=1, minutes=59) < left <= timedelta(hours=2)
    save(client, new, scopes=["historical", "rewind"])
    assert new.scopes == ["historical", "rewind"]
    assert [entry.verb for entry in AuditEntry.objects.all()[1:3]] == ["issued", "rotated"]
    # The old one is to end: nobody follows it, and nobody puts its end off.
    assert "It can be valid until" in save(client, key, expires_at="")
    assert "rotated before" in order(client, "rotate", key, overlap_hours="2")
    posted = {**FORM, "like": key.pk}
    assert "valid choice" in client.post(reverse("portal:key_issue"), posted).content.decode()


@pytest.mark.parametrize("hours", ["", "-1", "721", "x"])
def test_an_overlap_that_cannot_be(client: Client, key: ApiKey, hours: str) -> None:
    assert "Overlap in hours" in order(client, "rotate", key, overlap_hours=hours)
    assert ApiKey.objects.count() == 1


def test_suspend_resume_and_revoke(client: Client, key: ApiKey) -> None:
    assert "is suspended" in order(client, "suspend", key)
    assert key.suspended_at is not None
    assert "is resumed" in order(client, "resume", key)
    assert key.suspended_at is None
    assert "is revoked" in order(client, "revoke", key)
    assert key.revoked_at is not None
    assert "cannot be changed any more" in save(client, key, name="back again")
    verbs = [entry.verb for entry in AuditEntry.objects.all()[:3]]
    assert verbs == ["revoked", "resumed", "suspended"]


def test_what_staff_suspended_only_staff_resumes(client: Client, ada: Any, key: ApiKey) -> None:
    keys.suspend_key(key.pk, now=timezone.now())
    assert "alone can resume it" in order(client, "resume", key)
    assert key.suspended_at is not None
    # Neither suspending it once more, nor rotating, nor revoking it is a way around.
    order(client, "suspend", key)
    order(client, "resume", key)
    order(client, "rotate", key, overlap_hours="0")
    new = ApiKey.objects.get(rotated_from=key)
    assert "alone can resume it" in order(client, "resume", new)
    assert new.suspended_at is not None
    order(client, "revoke", new)
    posted = {**FORM, "like": new.pk}
    client.post(reverse("portal:key_issue"), posted)
    assert not ada.keys.filter(name=FORM["name"]).exists()


def test_who_revokes_the_last_key_can_replace_it_unless_staff_revoked_it(
    client: Client, ada: Any, key: ApiKey
) -> None:
    order(client, "revoke", key)
    client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk})
    new = ada.keys.get(name=FORM["name"])
    keys.revoke_key(new.pk, now=timezone.now())
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    assert "the first key comes from" in client.get(reverse("portal:key_issue")).content.decode()


def test_there_is_an_end_to_keys(
    client: Client, ada: Any, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_actions, "MOST_KEYS", 2)
    client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk})
    answer = client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk})
    assert "the most there may be" in answer.content.decode()
    assert ada.keys.count() == 2


def test_issuing_is_limited_by_the_hour(client: Client, ada: Any, key: ApiKey) -> None:
    answer = None
    for _ in range(31):
        answer = client.post(reverse("portal:key_rotate", args=[key.pk]), {"overlap_hours": "0"})
    assert answer is not None and answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0


def test_keys_in_place_of_revoked_ones_bring_no_further_month(
    client: Client, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_actions, "MOST_KEYS", 3)
    ApiKey.objects.filter(pk=key.pk).update(calls_per_month=1_000)

    def issue() -> int:
        client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk})
        return ApiKey.objects.count()

    for there in (2, 3):
        assert issue() == there
        order(client, "revoke", ApiKey.objects.latest("pk"))
    assert issue() == 3, "three worked this month, and each had its own"
    page = client.post(reverse("portal:key_issue"), {**FORM, "like": key.pk}).content.decode()
    assert "3 keys worked this month" in page
    order(client, "rotate", key, overlap_hours=0)
    successor = ApiKey.objects.get(rotated_from=key)
    assert successor.calls_per_month == 1_000, "a lost secret can be replaced nevertheless"
    ApiKey.objects.exclude(pk=successor.pk).update(revoked_at=timezone.now() - timedelta(days=32))
    client.post(reverse("portal:key_issue"), {**FORM, "like": successor.pk})
    assert ApiKey.objects.count() == 5
