"""The admin's home, and its live part, which the page asks for every few seconds."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from operations.home.page import home


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The index page's context; what the user may not see is not in it."""
    context.update(home(request))
    context["title"] = "Home"
    return context


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The cards with current values. Without a session the answer is an error and no redirect: the
    client is a script.
    """
    if not admin.site.has_permission(request):
        return JsonResponse({"error": "signed_out"}, status=401)
    response = render(request, "admin/home_live.html", home(request))
    response.headers["Cache-Control"] = "no-store"
    return response
