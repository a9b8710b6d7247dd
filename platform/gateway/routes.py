"""Path → endpoint, without Django's resolver: dictionaries of paths and of their prefixes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.urls import ResolverMatch, URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

# The longest variable part of a path.
_LONGEST_VALUE = 1_000


def endpoint_at(path: str) -> ResolverMatch | None:
    """The endpoint of the path with its variable part; None if there is none, or if only Django's
    resolver can find it.
    """
    exact, beginnings = _routes(get_resolver())
    found = exact.get(path)
    if found is not None:
        return found
    beginning, _, value = path.rpartition("/")
    named = beginnings.get(beginning)
    if named is None or not value or len(value) > _LONGEST_VALUE:
        return None
    view, name = named
    return ResolverMatch(view, (), {name: value}, route=f"{beginning}/<str:{name}>")


def wants_socket(view: Any, environ: Mapping[str, Any]) -> bool:
    """Whether the request asks for WebSocket, and the endpoint speaks it."""
    if getattr(view, "socket", None) is None or environ.get("REQUEST_METHOD") != "GET":
        return False
    return str(environ.get("HTTP_UPGRADE", "")).strip().lower() == "websocket"


def is_page(view: Any, method: str) -> bool:
    """Whether the request is for the endpoint's page for browsers."""
    return getattr(view, "page", None) is not None and method in ("GET", "HEAD")


@lru_cache(maxsize=8)
def _routes(
    resolver: URLResolver,
) -> tuple[dict[str, ResolverMatch], dict[str, tuple[Any, str]]]:
    """{path: match} of endpoints without variables, {prefix: (view, name of the variable)} of those
    that end with a variable of any text. The first pattern of a path counts, as in Django. A path
    of RPC calls may end with a slash.
    """
    exact: dict[str, ResolverMatch] = {}
    beginnings: dict[str, tuple[Any, str]] = {}

    def walk(patterns: list[Any], before: str) -> None:
        for pattern in patterns:
            route = before + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                if pattern.namespace is None and "<" not in route:
                    walk(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern) and isinstance(pattern.pattern, RoutePattern):
                if not hasattr(pattern.callback, "policy"):
                    continue
                if "<" not in route:
                    match = ResolverMatch(pattern.callback, (), {}, route=route)
                    exact.setdefault(route, match)
                    if getattr(pattern.callback, "methods", None) is not None:
                        # Clients join a base URL and "/": a POST cannot be redirected.
                        exact.setdefault(f"{route}/", match)
                    continue
                beginning, _, last = route.rpartition("/")
                if "<" not in beginning and last.startswith("<str:") and last.endswith(">"):
                    beginnings.setdefault(beginning, (pattern.callback, last[5:-1]))

    walk(resolver.url_patterns, "/")
    return exact, beginnings
