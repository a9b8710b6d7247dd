"""HostMiddleware: the Host and an id for every request, and the direct call of endpoints."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, get_resolver

from gateway.admission import sender_of
from gateway.answers import Answer, Answered, refused, request_id
from gateway.hosts import ALL_IN_ONE
from gateway.refusals import PathNotServed, Refusal, format_of
from gateway.routes import endpoint_at, is_page, wants_socket

GetResponse = Callable[[HttpRequest], HttpResponseBase]

_ALLOWED_HEADERS = (
    "authorization, cache-control, content-type, last-event-id, solana-client, x-request-id"
)


class HostMiddleware:
    """Finds the Host or answers 404. An endpoint is called directly from here: the middleware after
    this one (sessions, sign-in, static files) is the admin's and costs more than a call. A tier
    host serves only endpoints.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        identity = request_id(meta.get("HTTP_X_REQUEST_ID"))
        try:
            sender = sender_of(meta)
        except Refusal as refusal:
            return _refuse(refusal, request, identity)
        host = sender.host
        found: Any = request
        found.sender, found.host, found.client_address = sender, host, sender.address
        found.request_id = identity
        match = endpoint_at(request.path_info) or self._resolve(request)
        if match is not None and hasattr(match.func, "policy") and not _is_a_page(request, match):
            if request.method == "OPTIONS":
                return _preflight(request, identity, getattr(match.func, "verb", "POST"))
            request.resolver_match = match
            response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
            return response
        if host is not ALL_IN_ONE:
            return _refuse(PathNotServed(host.label, request.path_info), request, identity)
        if match is None and not _is_the_admins(request.path_info):
            header: str = meta.get("HTTP_HOST") or meta.get("SERVER_NAME", "")
            return _refuse(PathNotServed(header[:100], request.path_info), request, identity)
        response = self._get_response(request)
        response.headers["X-Request-Id"] = identity
        return response

    def _resolve(self, request: HttpRequest) -> ResolverMatch | None:
        try:
            return get_resolver(getattr(request, "urlconf", None)).resolve(request.path_info)
        except Resolver404:
            return None


def _is_a_page(request: HttpRequest, match: ResolverMatch) -> bool:
    """The page of an endpoint's path, which goes the way of pages."""
    if request.host is not ALL_IN_ONE:  # type: ignore[attr-defined]
        return False
    if wants_socket(match.func, request.META):
        return False
    return is_page(match.func, request.method or "")


def _is_the_admins(path: str) -> bool:
    paths: tuple[str, ...] = settings.ADMIN_PATHS
    return path.startswith(paths)


def _refuse(error: Refusal, request: HttpRequest, identity: str) -> Answer:
    error_format = format_of(request.method or "", request.path_info)
    return Answer(refused(error, error_format), identity)


def _preflight(request: HttpRequest, identity: str, verb: str) -> Answer:
    """CORS is open: keys travel in a header of the page's own making, never in cookies."""
    asked: str = request.META.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
    plain = (
        asked.isascii()
        and asked.replace("-", "").replace("_", "").replace(",", "").replace(" ", "").isalnum()
    )
    headers: dict[str, Any] = {
        "Allow": f"{verb}, OPTIONS",
        "Access-Control-Allow-Methods": f"{verb}, OPTIONS",
        "Access-Control-Allow-Headers": asked if plain and len(asked) < 500 else _ALLOWED_HEADERS,
        "Access-Control-Max-Age": "86400",
        "Vary": "Accept-Encoding, Access-Control-Request-Headers",
    }
    return Answer(Answered([], status=204, headers=headers), identity)
