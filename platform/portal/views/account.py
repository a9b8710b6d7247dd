"""The member's own account: password, second factor, sessions."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from access.callers import Quota
from portal.forms.sign_in import ChangePasswordForm, NewCodeForm, TurnOffForm
from portal.models import Member
from portal.services import members
from portal.views.pages import Page, attempt, count, for_oneself, page
from staff import audit, outgoing_mail, second_factor, sessions
from staff.formatting import ago

# Limit of password and code attempts in an open session.
_ATTEMPTS = Quota(rate=10 / 600, burst=10)


@for_oneself
def account(request: HttpRequest, member: Member) -> HttpResponse:
    """The overview of the account; its form changes the password."""
    form = ChangePasswordForm(request.POST or None)
    if request.method == "POST":
        _count_attempt(request, member)
        if form.is_valid() and _changed(request, member, form):
            messages.success(request, "Password changed; other sessions are signed out")
            return _back()
    context = {
        "form": form,
        "since": ago(member.created_at),
        "has_factor": second_factor.has_device(member.user),
        "codes_left": second_factor.recovery_codes_left(member.user),
        "turn_off_form": TurnOffForm(user=member.user),
        "has_password": member.user.has_usable_password(),
        "mails": outgoing_mail.is_sent(),
    }
    return page(request, "portal/account.html", context)


def _changed(request: HttpRequest, member: Member, form: ChangePasswordForm) -> bool:
    user = member.user
    if not user.check_password(form.cleaned_data["current"]):
        form.add_error("current", "Wrong password")
        return False
    with attempt(request, form, "password") as attempted:
        members.choose_password(user, form.cleaned_data["password"])
        audit.record(request, "changed the password", member)
    if attempted.done:
        update_session_auth_hash(request, user)
    return attempted.done


@for_oneself
def second_step(request: HttpRequest, member: Member) -> HttpResponse:
    """Sets up a second factor, then shows the recovery codes once."""
    user = member.user
    if second_factor.has_device(user):
        return _back()
    form = NewCodeForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST":
        _count_attempt(request, member)
        if form.is_valid():
            codes = second_factor.confirm(request, form.cleaned_data["code"], subject=member)
            if codes is not None:
                return page(request, "portal/recovery_codes.html", {**context, "codes": codes})
            form.add_error("code", "Wrong code: enter the newest one")
    device = second_factor.new_device(user)
    context |= {
        "picture": second_factor.picture(device),
        "secret": second_factor.secret_text(device),
    }
    return page(request, "portal/second_step.html", context)


def _with_proof(view: Callable[[HttpRequest, Member], HttpResponse]) -> Page[[]]:
    """An action that takes a code, and the password if there is one."""

    @for_oneself
    def proven(request: HttpRequest, member: Member) -> HttpResponse:
        if request.method != "POST":
            return _back()
        _count_attempt(request, member)
        form = TurnOffForm(request.POST, user=member.user)
        if form.is_valid():
            given = form.cleaned_data
            if second_factor.proves(member.user, given.get("current", ""), given["code"]):
                return view(request, member)
        messages.error(request, "Wrong password or code: nothing was changed")
        return _back()

    return proven


@_with_proof
def recovery_codes(request: HttpRequest, member: Member) -> HttpResponse:
    """Replaces the recovery codes."""
    codes = second_factor.renew_own_codes(request, subject=member)
    return page(request, "portal/recovery_codes.html", {"codes": codes})


@_with_proof
def turn_off(request: HttpRequest, member: Member) -> HttpResponse:
    """Removes the second factor."""
    second_factor.turn_off(request, subject=member)
    messages.success(request, "Signing in now takes no code; other sessions are signed out")
    return _back()


@for_oneself
def sign_out_everywhere(request: HttpRequest, member: Member) -> HttpResponse:
    if request.method == "POST":
        with transaction.atomic():
            sessions.sign_out_everywhere(member.user, timezone.now())
            audit.record(request, "signed out everywhere", member)
        return HttpResponseRedirect(reverse("portal:sign_in"))
    return _back()


def _count_attempt(request: HttpRequest, member: Member) -> None:
    count(request, "oneself", f"member {member.pk}", _ATTEMPTS)


def _back() -> HttpResponse:
    return HttpResponseRedirect(reverse("portal:account"))
