"""Signing in and out, and setting a password by a link."""

import hashlib
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import authenticate, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from access.callers import Quota
from gateway.sign_in import limited_sign_in
from portal import store
from portal.errors import LinkSpent
from portal.forms.sign_in import CodeForm, EmailForm, PasswordForm, SignInForm
from portal.services import links, members, post
from portal.services.links import Purpose
from portal.views.pages import attempt, count, counting, page, signed_in_member
from staff import audit, outgoing_mail, provider, second_factor, sessions, sign_ins
from staff.views.provider import page_below

_MAILS = Quota(rate=3 / 900, burst=3)


def _open(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A page for visitors who are not signed in."""
    limited = limited_sign_in(require_http_methods(["GET", "HEAD", "POST"])(counting(view)))
    return never_cache(limited)


@_open
def sign_in(request: HttpRequest) -> HttpResponse:
    """E-mail address and password, followed by the second factor if there is one."""
    if request.method == "POST":
        return _checked_password(request)
    if signed_in_member(request) is not None:
        return HttpResponseRedirect(_next(request))
    return _sign_in_page(request, SignInForm())


def _checked_password(request: HttpRequest) -> HttpResponse:
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _sign_in_page(request, form)
    name = members.username_of(form.cleaned_data["email"])
    user = authenticate(request, username=name, password=form.cleaned_data["password"])
    # Without a user too: a right password of staff takes as many statements as a wrong one.
    member = store.member_of(0 if user is None else user.pk)
    if member is None or member.user.is_staff:
        if user is not None:  # Django reports only wrong passwords
            sign_ins.record_failure(request, name)
        form.add_error(None, "Wrong e-mail address or password")
        return _sign_in_page(request, form)
    return second_factor.sign_in(
        request,
        member.user,
        by=sessions.PASSWORD,
        lead_to=_next(request),
        code_page=reverse("portal:code"),
    )


def _sign_in_page(request: HttpRequest, form: SignInForm) -> HttpResponse:
    name = settings.OIDC_NAME if provider.is_on() else ""
    context = {"form": form, "next": _next(request), "provider": name}
    return page(request, "portal/sign_in.html", context)


@_open
def code(request: HttpRequest) -> HttpResponse:
    """The second step, within minutes of the password."""
    waiting = second_factor.pending(request)
    member = None if waiting is None else store.member_of(waiting[0].pk)
    if waiting is None or member is None or member.user.is_staff:
        return HttpResponseRedirect(reverse("portal:sign_in"))
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        device = second_factor.check_code(member.user, form.cleaned_data["code"])
        if device is not None:
            second_factor.finish(request, member.user, device)
            return HttpResponseRedirect(waiting[1])
        form.add_error("code", second_factor.why_not(member.user))
    return page(request, "portal/code.html", {"form": form})


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """The sign-in page offers who came by the provider to sign out there as well."""
    asked = "?signed_out" if sessions.is_by_provider(request.session) else ""
    logout(request)
    return HttpResponseRedirect(f"{reverse('portal:sign_in')}{asked}")


@_open
def forgotten(request: HttpRequest) -> HttpResponse:
    """Mails a link; the response is the same for unknown addresses. Says so if no mail is sent."""
    if not outgoing_mail.is_sent():
        return page(request, "portal/forgotten.html", {"no_mails": True})
    form = EmailForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return page(request, "portal/forgotten.html", {"form": form})
    email = members.username_of(form.cleaned_data["email"])
    # The limit counts under a hash of the name.
    count(request, "mail", hashlib.sha256(email.encode()).hexdigest(), _MAILS)
    context = {"form": form, "posted": post.post_new_password(email), "asked": True}
    return page(request, "portal/forgotten.html", context)


@_open
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    return _by_link(request, token, Purpose.INVITATION)


@_open
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    return _by_link(request, token, Purpose.FORGOTTEN)


def _by_link(request: HttpRequest, token: str, purpose: Purpose) -> HttpResponse:
    """The page to set a password; signing in comes after it."""
    try:
        user = links.user_of(token, purpose)
    except LinkSpent as refusal:
        context = {"refusal": refusal, "invited": purpose is Purpose.INVITATION}
        return page(request, "portal/link_spent.html", context, status=410)
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _chosen(request, token, form, purpose):
        return page(request, "portal/password_chosen.html", {})
    context = {"form": form, "email": user.username, "invited": purpose is Purpose.INVITATION}
    return page(request, "portal/choose_password.html", context)


def _chosen(request: HttpRequest, token: str, form: PasswordForm, purpose: Purpose) -> bool:
    with attempt(request, form, "password") as attempted:
        user = links.user_of(token, purpose, lock=True)
        members.choose_password(user, form.cleaned_data["password"])
        how = "by an invitation" if purpose is Purpose.INVITATION else "by a mailed link"
        member = store.member_of(user.pk)
        audit.record(request, "chose a password", member, text=how, by=user)
    return attempted.done


def _next(request: HttpRequest) -> str:
    """The page after signing in, always one of the portal."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    return page_below(reverse("portal:overview"), asked)
