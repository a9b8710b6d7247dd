"""The Content-Security-Policy of pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

_ADMIN_PATH = "/admin/"


def _policy(*, styles: str) -> str:
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self'",
            f"style-src {styles}",
            "img-src 'self' data:",
            "font-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


_STRICT = _policy(styles="'self'")
# The theme writes its colours into each page and sets widths by attributes.
_ADMIN = _policy(styles="'self' 'unsafe-inline'")


class ContentPolicyMiddleware:
    """Sets the header on every response that passes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        admin = request.path_info.startswith(_ADMIN_PATH)
        response.headers["Content-Security-Policy"] = _ADMIN if admin else _STRICT
        return response
