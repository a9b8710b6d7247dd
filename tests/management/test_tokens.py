"""Tokens of customers: made and revoked by owners in their portal; root keys in the admin."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.management.conftest import Api

SENT = {"name": "billing", "scopes": ["keys:read", "usage:read"], "networks": ""}


@pytest.fixture
def browser() -> Callable[[Any], Client]:
    def start(member: Any) -> Client:
        client = Client()
        client.force_login(member.user)
        return client

    return start


def secret_in(answer: Any) -> str:
    found = re.search(r'<code id="secret"[^>]*>([^<]*)</code>', answer.content.decode())
    return found[1] if found else ""


def test_an_owner_makes_and_revokes_a_token(
    member: Callable[..., Any], browser: Callable[..., Client], ada: Any
) -> None:
    from management.models import ManagementKey
    from staff.models import AuditEntry

    owner = member(ada)
    portal = browser(owner)
    assert "None yet" in portal.get("/portal/tokens/").content.decode()
    secret = secret_in(portal.post("/portal/tokens/", SENT, follow=True))
    assert secret.startswith("tmt_")
    page = portal.get("/portal/tokens/").content.decode()
    assert "billing" in page and secret not in page
    api = Api(secret)
    assert api.get("keys").status_code == 200
    assert api.post("keys", {"name": "x"}).data["error"] == "scope_missing"
    key = ManagementKey.objects.get()
    assert portal.post(f"/portal/tokens/{key.pk}/revoke/").status_code == 302
    assert api.get("keys").data["error"] == "key_revoked"
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs[-2:] == ["issued", "revoked"]


def test_tokens_are_for_owners_and_their_own_customer(
    member: Callable[..., Any], browser: Callable[..., Client], ada: Any, eve: Any
) -> None:
    from management.models import ManagementKey

    reader, stranger = browser(member(ada, "reader")), browser(member(eve))
    browser(member(ada)).post("/portal/tokens/", SENT)
    key = ManagementKey.objects.get()
    assert reader.get("/portal/tokens/").status_code == 403
    assert reader.post("/portal/tokens/", SENT).status_code == 403
    assert stranger.post(f"/portal/tokens/{key.pk}/revoke/").status_code == 404
    assert "billing" not in stranger.get("/portal/tokens/").content.decode()
    assert Client().get("/portal/tokens/").status_code == 302
    assert ManagementKey.objects.filter(revoked_at__isnull=True).count() == 1


def test_a_token_takes_no_scope_of_the_staff(
    member: Callable[..., Any], browser: Callable[..., Client], ada: Any
) -> None:
    from management.models import ManagementKey

    portal = browser(member(ada))
    for scopes in (["tiers:write"], ["audit:read", "keys:read"], []):
        answer = portal.post("/portal/tokens/", {**SENT, "scopes": scopes})
        assert answer.status_code == 200 and not secret_in(answer)
    assert not ManagementKey.objects.exists()


def test_a_developer_has_tokens_of_its_own_with_scopes_of_its_role(
    member: Callable[..., Any], browser: Callable[..., Client], ada: Any
) -> None:
    from management.models import ManagementKey

    owner, developer = browser(member(ada)), browser(member(ada, "developer"))
    owner.post("/portal/tokens/", {**SENT, "name": "of the owner"})
    page = developer.get("/portal/tokens/").content.decode()
    assert 'value="keys:write"' in page and "of the owner" not in page
    for scope in ("members:write", "webhooks:write"):
        assert f'value="{scope}"' not in page
        assert not secret_in(developer.post("/portal/tokens/", {**SENT, "scopes": [scope]}))
    theirs = ManagementKey.objects.get()
    assert developer.post(f"/portal/tokens/{theirs.pk}/revoke/").status_code == 404
    secret = secret_in(developer.post("/portal/tokens/", SENT, follow=True))
    assert Api(secret).get("keys").status_code == 200
    assert "billing" in owner.get("/portal/tokens/").content.decode()
    own = ManagementKey.objects.exclude(pk=theirs.pk).get()
    developer.post(f"/portal/tokens/{own.pk}/revoke/")
    assert Api(secret).get("keys").data["error"] == "key_revoked"


def test_an_administrator_issues_a_root_key(admin_client: Client) -> None:
    from management.models import ManagementKey

    add = "/admin/management/managementkey/add/"
    assert admin_client.get(add).status_code == 200
    sent = {"name": "robot", "scopes": ["keys:write"], "networks": ""}
    sent |= {"expires_at_0": "", "expires_at_1": ""}
    answer = admin_client.post(add, sent, follow=True)
    secret = secret_in(answer)
    assert secret.startswith("tmr_"), answer.content.decode()[:3000]
    assert secret_in(admin_client.get(answer.request["PATH_INFO"])) == ""
    api, key = Api(secret), ManagementKey.objects.get()
    assert (key.created_by, key.scopes) == ("admin", ["keys:write"])
    assert api.get("keys").status_code == 200
    page = f"/admin/management/managementkey/{key.pk}/change/"
    assert "any address" in admin_client.get(page).content.decode()
    order = f"/admin/management/managementkey/{key.pk}/order/revoke/"
    assert admin_client.post(order, {"post": "yes"}).status_code == 302
    assert api.get("keys").data["error"] == "key_revoked"
