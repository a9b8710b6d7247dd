"""The Content-Security-Policy of the admin's pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Inline scripts and `eval` are the theme's: Alpine makes functions of attributes. What is left
# keeps a page from loading, sending or being framed anywhere else.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class ContentPolicyMiddleware:
    """Sets the header on every response that passes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        response.headers["Content-Security-Policy"] = _POLICY
        return response
