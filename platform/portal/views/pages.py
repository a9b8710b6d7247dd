"""Access to pages of the portal, and how actions run and pages render."""

import functools
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, cast

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import transaction
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
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


def for_developers(view: View[P]) -> Page[P]:
    """A page with a form, for developers and owners."""
    return _restricted(view, "developers", (*_READS, "POST"))


def action_of_developers(view: View[P]) -> Page[P]:
    """A button for developers and owners."""
    return _restricted(view, "developers", ("POST",))


def changed_by_developers(view: View[P]) -> Page[P]:
    """A page for members, with a form for developers and owners."""
    return _restricted(view, "developers change", (*_READS, "POST"))


def _may(member: Member, who: str, method: str | None) -> bool:
    """Whether the member may do this at a page of `portal_access`."""
    needed, _, only_changes = who.partition(" ")
    if needed in ("members", "oneself") or (only_changes and method in _READS):
        return True
    return member.is_owner if needed == "owners" else member.manages_keys


def _restricted(view: View[P], who: str, methods: Collection[str]) -> Page[P]:
    counted = counting(view)

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
        if not _may(member, who, request.method):
            needed = who.partition(" ")[0]
            return page(request, "portal/forbidden.html", {"needed": needed}, status=403)
        response = counted(request, member, *args, **kwargs)
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


@dataclass(slots=True)
class Attempt:
    """Whether the block of `attempt` was done."""

    done: bool = False


@contextmanager
def attempt(
    request: HttpRequest, form: forms.Form | None = None, field: str | None = None
) -> Iterator[Attempt]:
    """Runs the block in one transaction. A refusal is shown at the form's field, or without a form
    as a message. Raises Http404 for a row that is gone.
    """
    attempted = Attempt()
    try:
        with transaction.atomic():
            yield attempted
        attempted.done = True
    except (ActionRefused, ValidationError) as refusal:
        text = str(refusal)
        if form is not None:
            form.add_error(field, refusal if isinstance(refusal, ValidationError) else text)
        else:
            messages.error(request, text[:1].upper() + text[1:])
    except ObjectDoesNotExist:
        raise Http404 from None


def carry_out(
    request: HttpRequest, subject: object, verb: str, run: Callable[[], object], *, said: str
) -> None:
    """Runs an action with its audit entry; a message says that it is done (`said`), or why not."""
    with attempt(request) as attempted:
        run()
        audit.record(request, verb, subject, text="in the portal")
    if attempted.done:
        messages.success(request, said)


class _OverLimit(Exception):
    """A limit of attempts is reached."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def count(request: HttpRequest, what: str, who: str, limit: Quota) -> None:
    """Counts an attempt of `who`; over the limit the response is the 429 page."""
    taken = windows.take(f"portal-{what}", who, limit)
    if not taken.allowed:
        raise _OverLimit(taken.retry_seconds)


def counting(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """A view that calls `count`."""

    @functools.wraps(view)
    def counted(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(*args, **kwargs)
        except _OverLimit as over:
            request: Any = args[0]
            context = {"seconds": over.seconds}
            response = page(request, "portal/too_often.html", context, status=429)
            response.headers["Retry-After"] = str(over.seconds)
            return response

    return counted
