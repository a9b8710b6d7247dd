"""Passes new secrets to the page that shows them once: their token is in a cookie for that page,
because a URL would appear in logs and in the browser's history.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from access.services import parked_secrets
from access.services.parked_secrets import ShownSecret

_COOKIE = "tidemark_issued"


def lead_to(page: str, token: str) -> HttpResponse:
    """A redirect to the page, with the token."""
    response = HttpResponseRedirect(page)
    response.set_cookie(
        _COOKIE,
        token,
        max_age=parked_secrets.KEEP_SECONDS,
        path=page,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


def taken(request: HttpRequest) -> list[ShownSecret]:
    """The secrets of the cookie's token; a second visit finds none."""
    token = request.COOKIES.get(_COOKIE, "")
    return parked_secrets.take(token, owner=str(request.user.pk)) if token else []


def forget(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    response.delete_cookie(_COOKIE, path=request.path, samesite="Strict")
    return response
