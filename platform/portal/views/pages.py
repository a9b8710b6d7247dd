"""Access to pages of the portal, and how actions run and pages render."""

import functools
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib import messages
from django.contrib.auth import logout
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import urlencode

from access import windows
from access.callers import Quota
from access.errors import ActionRefused
from portal import store
from portal.models import Member
from staff import audit, sessions

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, Member, P], HttpResponseBase]
Page = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

_READS = ("GET", "HEAD")


def for_members(view: View[P]) -> Page[P]:
    """A read-only page for members."""
    return _restricted(view, "members", _READS)


def for_oneself(view: View[P]) -> Page[P]:
    """A page on which members change their own account."""
    return _restricted(view, "oneself", (*_READS, "POST"))


def for_owners(view: View[P]) -> Page[P]:
    """A page with a form, for owners."""
    return _restricted(view, "owners", (*_READS, "POST"))


def action_of_owners(view: View[P]) -> Page[P]:
    """A button for owners."""
    return _restricted(view, "owners", ("POST",))


def changed_by_owners(view: View[P]) -> Page[P]:
    """A page for members, with a form for owners."""
    return _restricted(view, "owners change", (*_READS, "POST"))


def _restricted(view: View[P], who: str, methods: Collection[str]) -> Page[P]:
    @functools.wraps(view)
    def restricted(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        member = store.member_of(request.user.pk)
        if member is None or member.user.is_staff:
            return page(request, "portal/no_member.html", {}, status=403)
        if not _is_valid(request):
            logout(request)
            return _to_sign_in(request)
        if request.method not in methods:
            return HttpResponseNotAllowed(methods)
        request.member = member  # type: ignore[attr-defined]
        needs_owner = who == "owners" or (who == "owners change" and request.method == "POST")
        if needs_owner and not member.is_owner:
            return page(request, "portal/forbidden.html", {}, status=403)
        response = view(request, member, *args, **kwargs)
        add_never_cache_headers(response)
        return response

    restricted.portal_access = who  # type: ignore[attr-defined]  # for tests
    return cast(Page[P], restricted)


def signed_in_member(request: HttpRequest) -> Member | None:
    """The member of a valid session."""
    if not request.user.is_authenticated or request.user.is_staff or not _is_valid(request):
        return None
    return store.member_of(request.user.pk)


def _is_valid(request: HttpRequest) -> bool:
    """The session has not ended, and has the second factor if there is one."""
    user: Any = request.user
    standing = sessions.standing(user)
    if sessions.is_over(request.session, standing, timezone.now()):
        return False
    return bool(user.is_verified()) or not standing.has_device


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    where = reverse("portal:sign_in")
    home = reverse("portal:overview")
    if request.method != "GET" or request.path == home:
        return HttpResponseRedirect(where)
    return HttpResponseRedirect(f"{where}?{urlencode({'next': request.get_full_path()})}")


def page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page of the portal; the URL decides which part of the navigation is current."""
    part = request.path.split("/")[2] or "overview"
    shared = {
        "section": "portal",
        "member": getattr(request, "member", None),
        "at": "fates" if part == "bundles" else part,
    }
    return render(request, template, {**shared, **context}, status=status)


def carry_out(
    request: HttpRequest, subject: object, verb: str, run: Callable[[], object], *, said: str = ""
) -> bool:
    """Runs an action with its audit entry; a message says that it is done (`said`), or why not."""
    try:
        with transaction.atomic():
            run()
            audit.record(request, verb, subject, text="in the portal")
    except ActionRefused as refusal:
        show_refusal(request, refusal)
        return False
    if said:
        messages.success(request, said)
    return True


def show_refusal(request: HttpRequest, refusal: ActionRefused) -> None:
    """Shows the refusal on the next page."""
    text = str(refusal)
    messages.error(request, text[:1].upper() + text[1:])


def limited(request: HttpRequest, what: str, who: str, limit: Quota) -> HttpResponse | None:
    """The 429 page if `who` is over the limit; else None, and it is counted."""
    taken = windows.take(request, f"portal-{what}", who, limit)
    if taken.allowed:
        return None
    context = {"seconds": taken.retry_seconds}
    response = page(request, "portal/too_often.html", context, status=429)
    response.headers["Retry-After"] = str(taken.retry_seconds)
    return response
