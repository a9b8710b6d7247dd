"""StaffMiddleware: checks sessions, and logs every change by staff."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from staff import audit, sessions
from staff.writes import Writes

_ADMIN = "/admin/"
_WITH_SESSIONS = (_ADMIN, "/portal/")


class StaffMiddleware:
    """Comes after the authentication middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if not has_session or not path.startswith(_WITH_SESSIONS):
            return self._get_response(request)
        user: Any = request.user
        if not user.is_authenticated:
            return self._get_response(request)
        standing = sessions.standing(user)
        if sessions.is_over(request.session, standing, timezone.now()):
            request.session.flush()
            request.user = AnonymousUser()
            return self._get_response(request)
        if not path.startswith(_ADMIN) or not user.is_staff:
            return self._get_response(request)
        stopped = _stopped(request, has_device=standing.has_device)
        if stopped is not None:
            return stopped
        if request.method in ("GET", "HEAD", "OPTIONS"):
            return self._get_response(request)
        with Writes() as writes:
            response = self._get_response(request)
        if _is_unlogged(request, response, writes):
            audit.record(request, "sent a form", path, text=_sent(request), by=user)
        return response


def _stopped(request: HttpRequest, *, has_device: bool) -> HttpResponseBase | None:
    """The page that the user has to pass first."""
    user: Any = request.user
    path = request.path_info
    if path == reverse("admin:logout"):
        return None
    if has_device and not user.is_verified():
        code = reverse("staff_code")
        if path in (code, reverse("admin:login")):
            return None
        if path == reverse("admin:index") or request.method != "GET":
            return HttpResponseRedirect(code)
        return HttpResponseRedirect(f"{code}?{urlencode({'next': request.get_full_path()})}")
    own = (reverse("admin:password_change"), reverse("admin:password_change_done"))
    set_up = reverse("staff_two_factor")
    if path.startswith((*own, set_up)) or path == reverse("admin:jsi18n"):
        return None
    if settings.STAFF_TWO_FACTOR and not has_device:
        return HttpResponseRedirect(set_up)
    if not user.is_superuser and not user.get_all_permissions():
        context = {**admin.site.each_context(request), "title": "No role yet"}
        return render(request, "staff/no_role.html", context, status=403)
    return None


def _is_unlogged(request: HttpRequest, response: HttpResponseBase, writes: Writes) -> bool:
    """Did the request change something without an audit entry? A page as the response is a rejected
    form or a confirmation: then only writes to tables count.
    """
    if getattr(request, "audit_entries", 0) or response.status_code >= 400:
        return False
    if writes.tables:
        return True
    if "action" in request.POST and not _chosen(request):
        return False  # an action on no row
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    return response.status_code >= 300 or not is_page


def _chosen(request: HttpRequest) -> int:
    return len(request.POST.getlist("_selected_action"))


def _sent(request: HttpRequest) -> str:
    action = request.POST.get("action", "")[:100]
    if not action:
        return f"{request.method}, which wrote no entry of its own."
    chosen = _chosen(request)
    every = " and all others" if request.POST.get("select_across") == "1" else ""
    return f"The action “{action}” on {chosen} row{'' if chosen == 1 else 's'}{every}."
