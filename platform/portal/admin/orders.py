"""Orders to a portal user's way in: a page that asks, and the doing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from portal.models import Member
from portal.services import mails, members, post
from portal.services.links import Purpose
from staff import audit, second_factor, sessions


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `unfit` says why it cannot be done to a person, or None."""

    title: str
    meaning: str
    done: str
    unfit: Callable[[Member], str | None]


def _not_invited(member: Member) -> str | None:
    if not member.user.is_active:
        return "Deactivated: activate first"
    if not members.is_invited(member.user):
        return "Has a password: who forgot it asks for a link at the portal's sign-in page"
    return None


def _no_factor(member: Member) -> str | None:
    return None if second_factor.has_device(member.user) else "No second factor is set up"


ORDERS = {
    "invite_again": Order(
        "Invite again",
        "Makes and mails another link to choose a password; links of before are void.",
        "invited again",
        _not_invited,
    ),
    "deactivate": Order(
        "Deactivate",
        "Signs this person out everywhere, at once, and lets them in no more. The customer's keys"
        " go on working.",
        "deactivated",
        lambda member: None if member.user.is_active else "Deactivated already",
    ),
    "activate": Order(
        "Activate",
        "Lets this person sign in again, with the password of before.",
        "activated",
        lambda member: "Active already" if member.user.is_active else None,
    ),
    "reset_second_factor": Order(
        "Reset second factor",
        "The app and the recovery codes are void: the password alone signs in until a new app is"
        " set up. Be sure that it is this person who asks.",
        "reset the second factor",
        _no_factor,
    ),
    "sign_out": Order(
        "Sign out everywhere",
        "Ends every session of this person, at once. Signing in again is open.",
        "signed out everywhere",
        lambda member: None,
    ),
}


def page(model_admin: Any, request: HttpRequest, pk: int, order_name: str) -> HttpResponse:
    """GET asks, POST does."""
    order = ORDERS.get(order_name)
    member = Member.objects.select_related("user", "customer").filter(pk=pk).first()
    if order is None or member is None:
        raise Http404
    if not model_admin.has_change_permission(request, member):
        raise PermissionDenied
    reason = order.unfit(member)
    if request.method == "POST" and reason is None:
        return _carry_out(model_admin, request, order_name, member)
    shown = {"title": order.title, "order": order, "member": member, "reason": reason}
    return _answer(model_admin, request, "order.html", shown)


def show_link(model_admin: Any, request: HttpRequest, member: Member) -> HttpResponse:
    """The page with the invitation, which is shown this once; the worker mails another like it."""
    shown = {
        "title": "Invitation",
        "member": member,
        "link": mails.invitation_link(member.user),
        "mailed": post.post_invitation(member.pk),
        "days": Purpose.INVITATION.value.days,
    }
    return _answer(model_admin, request, "link.html", shown)


def _carry_out(
    model_admin: Any, request: HttpRequest, order_name: str, member: Member
) -> HttpResponse:
    now = timezone.now()
    with transaction.atomic():
        if order_name == "invite_again":
            members.invite_again(member)
        elif order_name in ("deactivate", "activate"):
            members.set_active(member, active=order_name == "activate", now=now)
        elif order_name == "reset_second_factor":
            second_factor.remove(member.user)
        else:
            sessions.sign_out_everywhere(member.user, now)
        audit.record(request, ORDERS[order_name].done, member)
    if order_name == "invite_again":
        return show_link(model_admin, request, member)
    messages.success(request, f"{member}: {ORDERS[order_name].done}")
    return HttpResponseRedirect(reverse("admin:portal_member_change", args=[member.pk]))


def _answer(
    model_admin: Any, request: HttpRequest, template: str, shown: dict[str, Any]
) -> HttpResponse:
    context = {**model_admin.admin_site.each_context(request), "opts": model_admin.opts, **shown}
    response = TemplateResponse(request, f"admin/portal/member/{template}", context)
    response.headers["Cache-Control"] = "no-store"
    return response
