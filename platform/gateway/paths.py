"""Which paths serve a method: told to who asks for it at another one."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def paths_serving(method: str) -> list[str]:
    """The doors that answer the method, `/` first; not the further names that some of them have."""
    return sorted(
        path
        for path, view in endpoints()
        if path.count("/") == 1
        and getattr(view, "methods", None) is not None
        and view.methods.knows(method)
    )


def endpoints() -> Iterator[tuple[str, Any]]:
    """Every path of ours and its view, in the order of the urls; none of the admin's."""
    return _walk(get_resolver().url_patterns, "/")


def _walk(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield path, pattern.callback
        elif pattern.namespace is None:
            yield from _walk(pattern.url_patterns, path)
