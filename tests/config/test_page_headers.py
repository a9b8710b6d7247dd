"""No redirect hands a key on, and no response is sniffed."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import given
from hypothesis import strategies as st

from config.pages.page_headers import without_secrets

SECRET = "tmk_0123456789abcdefghijABCDEFGHIJ012345678"
NESTED = quote(f"/admin/access/?q=1&api_key={SECRET}", safe="")
TWICE = quote(f"/portal/?next={NESTED}", safe="")
QUERY = f"api_key={SECRET}&uuid={SECRET}&next={NESTED}&other={TWICE}&plain=kept"

# Something for each part of a path.
SAMPLES = {"int": "1", "str": "x", "slug": "x", "uuid": "0" * 8 + "-0000" * 3 + "-" + "0" * 12}


def paths(resolver: URLResolver | None = None, before: str = "/") -> Iterator[str]:
    """A path for each pattern that a page or an endpoint has."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = str(pattern.pattern)
        route = re.sub(r"<(?:(\w+):)?\w+>", lambda m: SAMPLES.get(m[1] or "str", "x"), route)
        if route.startswith(("^", "(")) or "(?P" in route or "\\" in route:
            route = re.sub(r"\(\?P<\w+>[^()]*(?:\([^()]*\)[^()]*)*\)", "x", route)
            route = route.strip("^$").replace("\\Z", "").replace("\\", "")
        if isinstance(pattern, URLResolver):
            yield from paths(pattern, before + route)
        else:
            assert isinstance(pattern, URLPattern)
            yield before + route


def test_the_walk_finds_every_kind_of_path() -> None:
    found = set(paths())
    assert {"/admin", "/portal", "/docs", "/admin/login/", "/portal/sign-in/"} <= found
    assert {"/admin/access/apikey/", "/portal/keys/1/", "/docs/x/", "/historical"} <= found
    assert len(found) > 150


def redirects(client: Any, *, posts: bool = False, below: str = "/") -> dict[str, str]:
    """Path → where it leads, of all that redirect."""
    found = {}
    for path in sorted(set(paths())):
        if path in ("/admin/logout/", "/portal/sign-out/") or not path.startswith(below):
            continue
        for verb in ("get", "post") if posts else ("get",):
            response = getattr(client, verb)(f"{path}?{QUERY}")
            if "Location" in response:
                found[f"{verb} {path}"] = response["Location"]
    return found


def test_no_redirect_of_a_stranger_has_a_key_in_it(
    client: Any, db: None, empty_redis: None
) -> None:
    client.raise_request_exception = False
    found = redirects(client, posts=True)
    assert len(found) > 150
    assert {"get /admin", "get /portal", "get /docs", "get /admin/", "get /portal/"} <= found.keys()
    assert found["get /admin/access/apikey/"].startswith("/admin/login/?next=/admin/access/apikey/")
    assert "plain%3Dkept" in found["get /admin/access/apikey/"]
    assert [each for each in found.items() if SECRET in each[1]] == []


def test_no_redirect_of_staff_has_a_key_in_it(client: Any, django_user_model: Any) -> None:
    client.raise_request_exception = False
    client.force_login(django_user_model.objects.create_superuser("keeper", password="x"))
    found = redirects(client, below="/admin/")
    assert len(found) > 20
    assert [each for each in found.items() if SECRET in each[1]] == []


def test_no_redirect_of_a_customer_has_a_key_in_it(
    client: Any, db: None, empty_redis: None
) -> None:
    from access.models import Customer
    from portal.services import members

    owner = members.invite(Customer.objects.create(name="Ada"), email="a@b.example", role="owner")
    members.choose_password(owner.user, "high-water-at-seven")
    form = {"email": "a@b.example", "password": "high-water-at-seven"}
    answer = client.post(f"/portal/sign-in/?next=/portal/keys/%3Fapi_key%3D{SECRET}", form)
    assert (answer.status_code, SECRET in answer["Location"]) == (302, False)
    assert client.get("/portal/").status_code == 200
    client.raise_request_exception = False
    found = redirects(client, posts=True, below="/portal/")
    assert len(found) > 3
    assert [each for each in found.items() if SECRET in each[1]] == []


def test_signing_in_leads_on_without_the_key(
    client: Any, django_user_model: Any, empty_redis: None
) -> None:
    django_user_model.objects.create_superuser("keeper", password="high-water-at-seven")
    for way in ("query", "form"):
        client.logout()
        address = f"/admin/access/apikey/?api_key={SECRET}&q=1"
        form = {"username": "keeper", "password": "high-water-at-seven"}
        if way == "form":
            form["next"] = address
        query = f"?next={quote(address)}" if way == "query" else ""
        answer = client.post(f"/admin/login/{query}", form)
        assert (answer.status_code, answer["Location"]) == (302, "/admin/access/apikey/?q=1")


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("/x", "/x"),
        ("/x?", "/x"),
        ("/x?a=1&b=2", "/x?a=1&b=2"),
        ("/x?a=%3D%26&b", "/x?a=%3D%26&b"),
        ("/x?next=/y%3Fa%3D1#part", "/x?next=/y%3Fa%3D1#part"),
        (f"/x?api_key={SECRET}", "/x"),
        (f"/x?API_KEY={SECRET}&a=1#part", "/x?a=1#part"),
        (f"/x?api%5Fkey={SECRET}&a=1", "/x?a=1"),
        (f"/x?uuid={SECRET}&uuid={SECRET}", "/x"),
        (f"https://a.example/x?a=1&api_key={SECRET}", "https://a.example/x?a=1"),
        (f"/x?next=/y%3Fapi_key%3D{SECRET}%26a%3D1", "/x?next=/y%3Fa%3D1"),
        (f"/x?a={SECRET}", "/x"),
        (f"/x#{SECRET}", "/x"),
        (f"/x?next=api_key%3D{SECRET}", "/x"),
    ],
)
def test_what_is_left_of_an_address(location: str, kept: str) -> None:
    assert without_secrets(location, query=f"api_key={SECRET}") == kept


@given(st.text(), st.integers(0, 6), st.sampled_from(["api_key", "uuid", "Api_Key", "api%5fkey"]))
def test_a_key_is_found_however_deep_it_stands(text: str, depth: int, name: str) -> None:
    address = f"/x?a={quote(text)}&{name}={SECRET}"
    for _ in range(depth):
        address = f"/y?next={quote(address, safe='')}&b=1"
    for query in ("", urlsplit(address).query):
        assert SECRET not in without_secrets(address, query=query)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/docs/", 200),
        ("/docs", 302),
        ("/docs/none/", 404),
        ("/openrpc.json", 200),
        ("/openapi.json", 200),
        ("/healthz", 200),
        ("/readyz", None),
        ("/metrics", 401),
        ("/admin/", 302),
        ("/admin/login/", 200),
        ("/admin/none/", 302),
        ("/portal/sign-in/", 200),
        ("/portal/none/", 404),
        ("/static/tidemark/site.css", 200),
        ("/static/none.css", 404),
    ],
)
def test_no_response_is_sniffed(client: Any, db: None, path: str, status: int | None) -> None:
    for verb in ("get", "head", "post", "put"):
        answer = getattr(client, verb)(path)
        if verb == "get" and status is not None:
            assert answer.status_code == status
        if path == "/" and verb in ("post", "put"):
            continue  # a call
        assert answer["X-Content-Type-Options"] == "nosniff", (verb, path)


def test_an_error_of_ours_is_not_sniffed_either(client: Any, monkeypatch: Any) -> None:
    from gateway import health_views

    def broken() -> None:
        raise RuntimeError("tried")

    monkeypatch.setattr(health_views, "readiness", broken)
    client.raise_request_exception = False
    answer = client.get("/readyz")
    assert answer.status_code == 500
    assert answer["X-Content-Type-Options"] == "nosniff"
