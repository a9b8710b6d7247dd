"""The paths that serve a method, for the error at another path."""

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
