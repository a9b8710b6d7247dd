"""The page that shows new secrets, once."""

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from access.models import ApiKey
from access.services import parked_secrets

_COOKIE = "tidemark_issued"


def hand_over(token: str) -> HttpResponse:
    """Leads to the page, with the token in a cookie of that page alone: an address would stand in
    logs and in the browser's history.
    """
    path = reverse("admin:access_apikey_issued")
    response = HttpResponseRedirect(path)
    response.set_cookie(
        _COOKIE,
        token,
        max_age=parked_secrets.KEEP_SECONDS,
        path=path,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The secrets that the cookie opens; a second visit finds none."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    token = request.COOKIES.get(_COOKIE, "")
    secrets = parked_secrets.take(token, owner=str(request.user.pk)) if token else []
    found = ApiKey.objects.select_related("customer", "tier", "rotated_from").in_bulk(
        [shown.key_id for shown in secrets]
    )
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": "New API key" if len(secrets) < 2 else "New API keys",
        "shown": [(found.get(shown.key_id), shown.secret) for shown in secrets],
    }
    response = TemplateResponse(request, "admin/access/apikey/issued.html", context)
    response.delete_cookie(_COOKIE, path=request.path, samesite="Strict")
    return response
