"""Orders to a person's way in: a link to a new password, the second factor, every session."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from staff import audit, invitations, second_factor, sessions


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `unfit` says why it cannot be done to a person, or None."""

    title: str
    meaning: str
    unfit: Callable[[HttpRequest, User], str | None]


def _no_link(request: HttpRequest, user: User) -> str | None:
    return None if user.is_active else "Deactivated: a password would open nothing"


def _no_reset(request: HttpRequest, user: User) -> str | None:
    if user.pk == request.user.pk:
        return "Your own is turned off on your page “Two-factor sign-in”, with a code"
    return None if second_factor.has_device(user) else "No second factor is set up"


def _always(request: HttpRequest, user: User) -> str | None:
    return None


ORDERS = {
    "new_link": Order(
        "Link to a password",
        "Makes a link with which this person chooses a password, once. The present password stays"
        " good until then; a second factor stays as it is.",
        _no_link,
    ),
    "reset_second_factor": Order(
        "Reset second factor",
        "The app and the recovery codes are void: the password alone signs in until a new app is"
        " set up. Be sure that it is this person who asks.",
        _no_reset,
    ),
    "sign_out": Order(
        "Sign out everywhere",
        "Ends every session of this person, in every browser, at once. Signing in again is open.",
        _always,
    ),
}


def page(model_admin: Any, request: HttpRequest, user_id: int, order_name: str) -> HttpResponse:
    """GET asks, POST does."""
    order = ORDERS.get(order_name)
    user = User.objects.filter(pk=user_id, is_staff=True).first()
    if order is None or user is None:
        raise Http404
    if not model_admin.has_change_permission(request, user):
        raise PermissionDenied
    reason = order.unfit(request, user)
    if request.method == "POST" and reason is None:
        return _carry_out(model_admin, request, order_name, user)
    return _answer(
        model_admin,
        request,
        "order.html",
        title=order.title,
        order=order,
        person=user,
        reason=reason,
    )


def show_link(model_admin: Any, request: HttpRequest, user: User) -> HttpResponse:
    """The page with a new link to a password, which is shown this once and mailed where it can be.
    Call it outside of a transaction: a mail server may take its time.
    """
    is_new = not user.has_usable_password()
    with transaction.atomic():
        if is_new:
            user.set_unusable_password()  # another one, so that links of before are void
            user.save(update_fields=["password"])
        link = invitations.link_for(user)
        audit.record(request, "made a password link", user)
    mailed = ""
    if user.email:
        try:
            invitations.mail(user, link, by=request.user.get_username(), is_new=is_new)
            mailed = user.email
        except OSError as error:  # smtplib's errors are
            messages.error(request, f"It could not be mailed to {user.email}: {error}")
    return _answer(
        model_admin,
        request,
        "link.html",
        title="Invitation" if is_new else "Link to a password",
        person=user,
        link=link,
        mailed=mailed,
        days=invitations.days(),
    )


def _carry_out(model_admin: Any, request: HttpRequest, order_name: str, user: User) -> HttpResponse:
    if order_name == "new_link":
        return show_link(model_admin, request, user)
    with transaction.atomic():
        if order_name == "sign_out":
            sessions.sign_out_everywhere(user, timezone.now())
            audit.record(request, "signed out everywhere", user)
            done = "signed out everywhere"
        else:
            second_factor.remove(user)
            audit.record(request, "reset the second factor", user)
            done = "the second factor is reset"
    messages.success(request, f"{user}: {done}")
    return HttpResponseRedirect(reverse("admin:auth_user_change", args=[user.pk]))


def _answer(model_admin: Any, request: HttpRequest, template: str, **shown: Any) -> HttpResponse:
    context = {**model_admin.admin_site.each_context(request), "opts": model_admin.opts, **shown}
    response = TemplateResponse(request, f"admin/staff/{template}", context)
    response.headers["Cache-Control"] = "no-store"
    return response
