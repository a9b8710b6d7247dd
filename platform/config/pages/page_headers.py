"""Headers of every response that is not a call's: no sniffing, and no key in a redirect."""

from collections.abc import Callable
from urllib.parse import quote, unquote, unquote_plus

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# What callers authenticate by in a query. A Location is kept in histories, logs and referrers.
_SECRETS = frozenset({"api_key", "uuid"})
# Addresses within addresses (`next`) are read so deep; what lies deeper is left out.
_DEEPEST = 4
# Shorter texts are no keys, and stand in many an address.
_SHORTEST = 8


class PageHeadersMiddleware:
    """For pages, files, health and metrics; answers to calls bring their own headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        headers = response.headers
        headers["X-Content-Type-Options"] = "nosniff"
        location = headers.get("Location")
        if location is not None:
            cleaned = without_secrets(location, query=request.META.get("QUERY_STRING", ""))
            if cleaned != location:
                headers["Location"] = cleaned
        return response


def without_secrets(location: str, *, query: str) -> str:
    """The address without keys in its query, nor in addresses that are parameters of it. `query` is
    the request's: where a key of it is left in another form, the whole query is left out.
    """
    removed: list[str] = []
    _cleaned(f"?{query}", removed)
    cleaned = _cleaned(location, removed)
    plain = cleaned
    for _ in range(_DEEPEST):
        plain = unquote(plain)
    if any(len(secret) >= _SHORTEST and secret in plain for secret in removed):
        return cleaned.partition("?")[0].partition("#")[0]
    return cleaned


def _cleaned(address: str, removed: list[str], depth: int = 0) -> str:
    """The address without secrets; their values are appended to `removed`."""
    path, mark, rest = address.partition("?")
    if not mark:
        return address
    query, hash_mark, fragment = rest.partition("#")
    kept = []
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        decoded = unquote_plus(value)
        if unquote_plus(name).strip().lower() in _SECRETS:
            removed.append(decoded)
        elif "?" not in decoded and "%3f" not in decoded.lower():
            kept.append(pair)
        elif depth < _DEEPEST:
            inner = _cleaned(decoded, removed, depth + 1)
            kept.append(pair if inner == decoded else f"{name}{equals}{quote(inner, safe='/')}")
    joined = "&".join(kept)
    return f"{path}{mark if joined else ''}{joined}{hash_mark}{fragment}"
