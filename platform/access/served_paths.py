"""Every path of the service, and the names under which it serves calls."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def paths_serving(method: str) -> list[str]:
    """The paths that serve the method, `/` first, without aliases."""
    return sorted(
        path
        for path, view in endpoints()
        if path.count("/") == 1
        and getattr(view, "methods", None) is not None
        and view.methods.knows(method)
    )


def served_names() -> frozenset[str]:
    """What a key's list of methods may name: JSON-RPC methods, also those that the node answers,
    plain GETs and streams, as usage names them.
    """
    found: set[str] = set()
    for _, view in endpoints():
        if (methods := getattr(view, "methods", None)) is not None:
            found.update(methods.names())
        for each in (view, getattr(view, "socket", None)):
            if each is not None and hasattr(each, "policy"):
                found.add(getattr(each.cls, "name", ""))
    return frozenset(found - {""})


def endpoints() -> Iterator[tuple[str, Any]]:
    """Every path and its view, in the order of the urls, without the admin's."""
    return _walk(get_resolver().url_patterns, "/")


def _walk(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield path, pattern.callback
        elif pattern.namespace is None:
            yield from _walk(pattern.url_patterns, path)
