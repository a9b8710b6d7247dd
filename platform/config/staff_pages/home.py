"""The admin's home, its live parts, which the page asks for every few seconds, and its buttons."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from operations.home.fixes import fix
from operations.home.page import home, home_charts
from staff.errors import ActionRefused


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The index page's context; what the user may not see is not in it."""
    context.update(home(request))
    context.update(home_charts(request))
    context["title"] = "Home"
    return context


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """Lights, alarms and cards with current values. Without a session the answer is an error and no
    redirect: the client is a script.
    """
    if not admin.site.has_permission(request):
        return JsonResponse({"error": "signed_out"}, status=401)
    return _fresh(render(request, "admin/home_live.html", home(request)))


@require_GET
def live_charts(request: HttpRequest) -> HttpResponse:
    """The large charts with the newest samples."""
    if not admin.site.has_permission(request):
        return JsonResponse({"error": "signed_out"}, status=401)
    return _fresh(render(request, "admin/home_charts.html", home_charts(request)))


def _fresh(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def fix_now(request: HttpRequest) -> HttpResponse:
    """A button of an alarm was pressed: done, said on home."""
    try:
        messages.success(request, fix(request, request.POST.get("do", "")))
    except ActionRefused as refusal:
        messages.error(request, str(refusal))
    return HttpResponseRedirect(reverse("admin:index"))
