"""Every call of the management API with every kind of key: who gets in, and who does not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern

from management.scopes import CUSTOMER_SCOPES, SCOPES, allows, scopes_of
from tests.management.conftest import Api

# The answers of a call that was let to its handler: done, or refused by what it asks for.
_IN = {200, 201, 204, 400, 404, 409, 428}


def calls() -> Iterator[tuple[str, str, Any]]:
    """(HTTP method, path below /manage/v1/, view class) of every call."""
    from management.urls import urlpatterns

    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        path = str(pattern.pattern).replace("<int:pk>", "1")
        assert "<" not in path, "say above what its variable part is"
        for method in pattern.callback.actions:  # type: ignore[attr-defined]
            if method != "head":
                yield method.upper(), path, pattern.callback.cls  # type: ignore[attr-defined]


CALLS = list(calls())


def needed(method: str, view: Any) -> str:
    return f"{view.resource}:{'read' if method == 'GET' else 'write'}"


def refusal(api: Api, method: str, path: str) -> str:
    """The reason, if it was refused before its handler; empty otherwise."""
    body = None if method in ("GET", "DELETE") else {}
    answer = api.call(method, path, body)
    if answer.status_code in _IN:
        return ""
    assert answer.status_code in (401, 403), (method, path, answer.status_code, answer.content)
    return str(answer.data["error"])


def test_there_are_calls_of_every_scope() -> None:
    assert {needed(method, view) for method, _path, view in CALLS} == set(SCOPES)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_root_key_of_one_scope_does_what_needs_it_and_nothing_else(
    root: Callable[..., Api], scope: str
) -> None:
    api = root(scope)
    for method, path, view in CALLS:
        wanted = "" if allows([scope], needed(method, view)) else "scope_missing"
        assert refusal(api, method, path) == wanted, f"{method} {path}"


def test_a_token_reaches_only_what_customers_have(
    token: Callable[..., Api], member: Callable[..., Any], ada: Any
) -> None:
    owner = member(ada)
    for scopes in (CUSTOMER_SCOPES, *((scope,) for scope in CUSTOMER_SCOPES)):
        api = token(ada, *scopes, member=owner)
        for method, path, view in CALLS:
            is_allowed = allows(list(scopes), needed(method, view))
            assert not (is_allowed and not view.owner), f"{path}: whose rows a token finds"
            wanted = "" if is_allowed else "scope_missing"
            assert refusal(api, method, path) == wanted, f"{method} {path} with {scopes}"


def test_a_token_reaches_what_its_members_role_may(
    token: Callable[..., Api], member: Callable[..., Any], ada: Any
) -> None:
    """Also a token that was made when the member had a higher role."""
    owner = member(ada)
    api = token(ada, member=owner)
    reads = {scope for scope in CUSTOMER_SCOPES if scope.endswith(":read")}
    assert set(scopes_of("developer")) == {*reads, "keys:write"}
    owner.role = "developer"
    owner.save()
    for method, path, view in CALLS:
        scope = needed(method, view)
        wanted = "" if scope in reads or scope == "keys:write" else "scope_missing"
        assert refusal(api, method, path) == wanted, f"{method} {path}"
    owner.role = "reader"
    owner.save()
    for method, path, _view in CALLS:
        assert refusal(api, method, path) == "key_revoked", f"{method} {path}"


def test_no_other_key_gets_in(root: Callable[..., Api], issue: Callable[..., Any]) -> None:
    """Nor a whole API key, nor a session."""
    secret = root().secret
    kinds = {
        "": "key_required",
        "nonsense": "key_malformed",
        issue().secret: "key_malformed",
        secret[:-1]: "key_malformed",
    }
    for method, path, _view in CALLS:
        for text, reason in kinds.items():
            answer = Client().generic(
                method, f"/manage/v1/{path}", headers={"Authorization": text} if text else {}
            )
            assert (answer.status_code, answer.json()["error"]) == (401, reason), (path, text)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert Client().get(f"/manage/v1/keys?api_key={secret}").status_code == 401


def test_a_key_ends(
    root: Callable[..., Api], token: Callable[..., Api], member: Callable[..., Any], ada: Any
) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from management.models import ManagementKey
    from management.services import management_keys

    now = timezone.now()
    api = root("keys:read", expires_at=now + timedelta(hours=1))
    key = ManagementKey.objects.latest("pk")
    assert api.get("keys").status_code == 200
    ManagementKey.objects.filter(pk=key.pk).update(expires_at=now)
    assert api.get("keys").data["error"] == "key_expired"
    api = root("keys:read")
    management_keys.revoke(ManagementKey.objects.latest("pk").pk, now=now)
    assert api.get("keys").data["error"] == "key_revoked"
    owner = member(ada)
    api = token(ada, member=owner)
    assert api.get("keys").status_code == 200
    owner.role = "reader"
    owner.save()
    assert api.get("keys").data["error"] == "key_revoked", "a demoted owner's token"
    owner.role, owner.user.is_active = "owner", False
    owner.save()
    owner.user.save()
    assert api.get("keys").data["error"] == "key_revoked", "a deactivated owner's token"


def test_a_key_is_bound_to_its_networks_and_its_limit(root: Callable[..., Api]) -> None:
    from access import windows
    from access.callers import Quota
    from management.models import ManagementKey

    assert root("keys:read", networks=["192.0.2.0/24"]).get("keys").data["error"] == (
        "address_not_allowed"
    )
    api = root("keys:read", networks=["127.0.0.1"])
    assert api.get("keys").status_code == 200
    # A busy machine makes 500 calls in more time than Redis keeps the window of 10 s.
    key, limit = ManagementKey.objects.latest("pk"), Quota(rate=50, burst=500)
    assert windows.take("management", f"management key {key.pk}", limit, 498).remaining == 1
    assert [api.get("keys").status_code for _ in range(2)] == [200, 429]
    refused = api.get("keys")
    assert refused.data["error"] == "rate_limited" and int(refused.headers["Retry-After"]) >= 1


def test_other_methods_and_paths_are_refused_in_the_same_form(root: Callable[..., Api]) -> None:
    api = root()
    answer = api.call("PUT", "keys", {})
    assert (answer.status_code, answer.data["error"]) == (405, "http_method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert api.post("nothing", {}).data["error"] == "path_not_served"
    assert api.get("keys/x").data["error"] == "path_not_served"
    plain = api._client.post(
        "/manage/v1/keys", "a=1", "text/plain", headers={"Authorization": api.secret}
    )
    assert (plain.status_code, plain.json()["error"]) == (415, "content_type_unsupported")
    torn = api._client.post(
        "/manage/v1/keys", "{", "application/json", headers={"Authorization": api.secret}
    )
    assert (torn.status_code, torn.json()["error"]) == (400, "body_malformed")
    assert "no-store" in torn.headers["Cache-Control"]


def test_the_page_names_every_call_and_scope() -> None:
    from django.conf import settings

    text = (settings.ROOT / "docs/management.md").read_text(encoding="utf-8")
    named = {path.partition("/1")[0] for _method, path, _view in CALLS}
    named |= {path.partition("/1/")[2] for _method, path, _view in CALLS if "/1/" in path}
    missing = [each for each in (*named, *SCOPES) if f"`{each}`" not in text]
    assert not missing, f"docs/management.md does not name {missing}"


def test_every_list_refuses_a_parameter_that_does_not_exist(root: Callable[..., Api]) -> None:
    lists = [path for method, path, view in CALLS if method == "GET" and "/" not in path]
    accepted = []
    for path in lists:
        answer = root().get(f"{path}?misspelled=1")
        if answer.status_code != 400 or answer.data.get("error") != "invalid_fields":
            accepted.append(f"{path}: {answer.status_code}")
    assert len(lists) > 10 and not accepted
