"""Every page that there is, found in the URL patterns, with a row where a page asks for one."""

import re
from collections.abc import Iterator
from typing import Any

# Not pages: what answers other pages' scripts, what ends a session, and the way by the provider.
_NOT_PAGES = re.compile(
    r"jsi18n|autocomplete|logout|/admin/search/|password_change_done|sign_out|/admin/r/<|provider|_rotate$|_suspend$"
)


def admin_pages() -> dict[str, str]:
    """Name → path of every page of the admin that a GET can open on the rows that are there."""
    from django.contrib import admin
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018  (registers every page)
    return dict(_pages(admin.site.urls[0], "/admin/", _first_row_of_model))


def portal_pages(arguments: dict[str, Any]) -> dict[str, str]:
    """Name → path of every page of the portal; `arguments` has a value for each name in a path."""
    from portal.urls import urlpatterns

    def found(name: str, wanted: list[str]) -> list[Any] | None:
        values = [arguments.get(each) for each in wanted]
        return None if None in values else values

    return dict(_pages(urlpatterns, "/portal/", found))


def _pages(patterns: Any, prefix: str, row: Any) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        route = prefix + _route(pattern)
        if hasattr(pattern, "url_patterns"):
            yield from _pages(pattern.url_patterns, route, row)
            continue
        name = pattern.name
        if name is None or _NOT_PAGES.search(route) or _NOT_PAGES.search(name) or "(?P" in route:
            continue
        wanted = re.findall(r"<(?:\w+:)?(\w+)>", route)
        if wanted:
            values = row(name, wanted)
            if values is None:
                continue
            for value in values:
                route = re.sub(r"<[^>]+>", lambda _match, v=value: _quoted(v), route, count=1)
        yield name, route


def _route(pattern: Any) -> str:
    return str(pattern.pattern).removeprefix("^").removesuffix("$")


def _quoted(value: Any) -> str:
    from django.contrib.admin.utils import quote

    return str(quote(value))


def _first_row_of_model(name: str, wanted: list[str]) -> list[Any] | None:
    """The first row of the model that the page's name begins with: `access_apikey_change`."""
    from django.apps import apps
    from django.contrib import admin

    parts = name.split("_")
    if wanted not in (["object_id"], ["pk"], ["id"]) or len(parts) < 3:
        return None
    try:
        model = apps.get_model(parts[0], parts[1])
    except LookupError:
        return None
    model_admin = admin.site._registry.get(model)
    if model_admin is None:
        return None
    from django.contrib.auth.models import User
    from django.test import RequestFactory

    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_staff=True, is_active=True)
    first = model_admin.get_queryset(request).first()
    return None if first is None else [first.pk]
