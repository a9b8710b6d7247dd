"""Owners invite, change and remove colleagues; staff does so in the admin."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from portal.models import Member
from portal.services import members
from staff import second_factor
from staff.models import AuditEntry
from staff.roles import Role, give_role
from tests.portal.conftest import PASSWORD, Browser, People

pytestmark = pytest.mark.django_db

TEAM = "/portal/team/"


def test_an_owner_invites_a_colleague(owner: Any, ada: Any, browser: Browser) -> None:
    client = browser(owner)
    answer = client.post(TEAM, {"email": "New@Ada.example", "role": "reader"}, follow=True)
    page = answer.content.decode()
    assert "a link is being mailed" in page and "/portal/invitation/" not in page
    new = Member.objects.get(user__username="new@ada.example")
    assert new.customer == ada and new.role == "reader" and not new.user.is_staff
    assert members.is_invited(new.user)
    entry = AuditEntry.objects.get(verb="invited")
    assert entry.who == owner.user.username and entry.subject == "new@ada.example"
    client.post(reverse("portal:invite_again", args=[new.pk]))
    assert AuditEntry.objects.filter(verb="invited again").exists()


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"email": "OWNER@ada.example", "role": "reader"}, "has an account already"),
        ({"email": "boss", "role": "reader"}, "valid email address"),
        ({"email": f"{'x' * 150}@ada.example", "role": "reader"}, "at most 150 characters"),
        ({"email": "new@ada.example", "role": "king"}, "Select a valid choice"),
    ],
)
def test_who_cannot_be_invited(
    owner: Any, browser: Browser, form: dict[str, str], problem: str
) -> None:
    assert problem in browser(owner).post(TEAM, form).content.decode()
    assert Member.objects.count() == 1


def test_a_team_has_an_end(owner: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_MEMBERS", 1)
    client = browser(owner)
    form = {"email": "new@ada.example", "role": "reader"}
    client.post(TEAM, form)
    assert Member.objects.count() == 1
    assert "The maximum of 1 users is reached" in client.get(TEAM).content.decode()


def test_roles_change_and_people_go(owner: Any, reader: Any, browser: Browser) -> None:
    client, other = browser(owner), browser(reader)
    client.post(reverse("portal:change_role", args=[reader.pk]), {"role": "owner"})
    assert other.get("/portal/webhooks/add/").status_code == 200
    answer = other.post(reverse("portal:change_role", args=[owner.pk]), {"role": "reader"})
    assert answer.status_code == 302
    answer = client.post(reverse("portal:remove", args=[reader.pk]))
    assert answer.status_code == 403, "no owner any more"
    other.post(reverse("portal:remove", args=[owner.pk]))
    assert not User.objects.filter(pk=owner.user_id).exists()
    assert client.get("/portal/").status_code == 302
    verbs = list(AuditEntry.objects.values_list("verb", flat=True)[:3])
    assert verbs == ["removed", "changed", "changed"]


def test_nobody_changes_or_removes_themselves(owner: Any, browser: Browser) -> None:
    client = browser(owner)
    for name, posted in (("remove", {}), ("change_role", {"role": "reader"})):
        path = reverse(f"portal:{name}", args=[owner.pk])
        page = client.post(path, posted, follow=True).content.decode()
        assert "Only another owner can change or remove you" in page
    owner.refresh_from_db()
    assert owner.is_owner


# --- the admin's pages ---


@pytest.fixture
def viewer(db: None) -> Client:
    user = User.objects.create_user("viewer", password="x", is_staff=True)
    give_role(user, Role.VIEWER, by=None)
    client = Client()
    client.force_login(user)
    return client


def test_staff_invites_and_the_link_is_shown_once(admin_client: Client, ada: Any) -> None:
    add = reverse("admin:portal_member_add")
    page = admin_client.get(f"{add}?customer={ada.pk}").content.decode()
    assert re.search(rf'<option value="{ada.pk}" selected', page)
    form = {"customer": ada.pk, "email": "New@Ada.example", "role": "owner"}
    page = admin_client.post(add, form).content.decode()
    found = re.search(r"/portal/invitation/[^<\s]+", page)
    assert found is not None
    visitor = Client()
    chosen = {"password": PASSWORD, "again": PASSWORD}
    assert "The password is set" in visitor.post(found[0], chosen).content.decode()
    new = Member.objects.get(user__username="new@ada.example")
    assert new.is_owner and new.customer == ada
    assert AuditEntry.objects.filter(verb="added", subject="new@ada.example").exists()
    again = {**form, "email": "new@ada.example"}
    assert "has an account already" in admin_client.post(add, again, follow=True).content.decode()


def test_the_list_can_be_narrowed_to_a_customer(
    admin_client: Client, ada: Any, eve: Any, person: People
) -> None:
    person(ada, "owner")
    person(eve, "owner")
    path = reverse("admin:portal_member_changelist")
    for query, seen in (
        ("", (True, True)),
        (f"?customer={ada.pk}", (True, False)),
        ("?customer=999999", (False, False)),
        ("?customer=x", (False, False)),
        ("?q=eve", (False, True)),
    ):
        page = admin_client.get(path + query).content.decode()
        assert ("owner@ada.example" in page, "owner@eve.example" in page) == seen, query


def test_orders_of_staff(admin_client: Client, owner: Any, browser: Browser) -> None:
    client = browser(owner)
    device = second_factor.new_device(owner.user)

    def order(name: str) -> str:
        path = reverse("admin:portal_member_order", args=[owner.pk, name])
        assert admin_client.get(path).status_code == 200
        page = admin_client.post(path, follow=True).content.decode()
        owner.user.refresh_from_db()
        return page

    order("sign_out")
    assert client.get("/portal/").status_code == 302
    order("deactivate")
    assert not owner.user.is_active
    order("activate")
    assert owner.user.is_active
    device.confirmed = True
    device.save()
    order("reset_second_factor")
    assert not second_factor.has_device(owner.user)
    assert "Has a password" in order("invite_again")
    verbs = list(AuditEntry.objects.filter(subject=str(owner)).values_list("verb", flat=True))
    assert [verb for verb in verbs if not verb.startswith(("signed in", "signed out of"))] == [
        "reset the second factor",
        "activated",
        "deactivated",
        "signed out everywhere",
    ]
    page = admin_client.get(reverse("admin:portal_member_change", args=[owner.pk])).content.decode()
    assert "Deactivate" in page and "Invite again" not in page


def test_deleting_a_member_takes_the_sign_in_away(admin_client: Client, owner: Any) -> None:
    path = reverse("admin:portal_member_delete", args=[owner.pk])
    admin_client.post(path, {"post": "yes"})
    assert not User.objects.filter(pk=owner.user_id).exists()


def test_a_viewer_changes_nothing(viewer: Client, owner: Any) -> None:
    assert viewer.get(reverse("admin:portal_member_changelist")).status_code == 200
    assert viewer.post(reverse("admin:portal_member_add"), {}).status_code == 403
    for name in ("deactivate", "reset_second_factor", "sign_out", "invite_again"):
        path = reverse("admin:portal_member_order", args=[owner.pk, name])
        assert viewer.post(path).status_code == 403
    owner.user.refresh_from_db()
    assert owner.user.is_active
