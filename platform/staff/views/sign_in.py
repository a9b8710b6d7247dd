"""Signing in to the admin: the password, then a code if the user has a second factor."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from unfold.forms import AuthenticationForm

from staff import audit, provider, second_factor, sessions, sign_ins
from staff.forms import CodeForm


class _SignIn(LoginView):
    """Django's page, followed by the second factor."""

    template_name = "admin/login.html"
    authentication_form = AuthenticationForm

    def form_valid(self, form: Any) -> HttpResponse:
        return second_factor.sign_in(
            self.request,
            form.get_user(),
            by=sessions.PASSWORD,
            lead_to=self.get_success_url(),
            code_page=reverse("staff_code"),
        )

    def form_invalid(self, form: Any) -> HttpResponse:
        # Django signals wrong passwords, but not a right one of a user who is not staff.
        if not getattr(self.request, "audit_entries", 0) and form.cleaned_data.get("password"):
            sign_ins.record_failure(self.request, form.cleaned_data.get("username", ""))
        return super().form_invalid(form)


@sensitive_post_parameters()
@never_cache
def sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page of the admin."""
    if request.method == "GET" and admin.site.has_permission(request):
        return HttpResponseRedirect(reverse("admin:index"))
    context = {
        **admin.site.each_context(request),
        "title": "Sign in",
        "app_path": request.get_full_path(),
        "username": request.user.get_username(),
        "provider": settings.OIDC_NAME if provider.is_on() else "",
        "provider_link": reverse("staff_provider", query={"next": _asked(request)}),
    }
    if REDIRECT_FIELD_NAME not in request.GET:
        context[REDIRECT_FIELD_NAME] = reverse("admin:index")
    request.current_app = admin.site.name
    return _SignIn.as_view(extra_context=context)(request)  # type: ignore[return-value]


@never_cache
def sign_out(request: HttpRequest) -> HttpResponse:
    """Django's page; who came by the provider is led to the sign-in page, which offers to sign out
    there as well.
    """
    is_by_provider = sessions.is_by_provider(request.session)
    response: HttpResponse = admin.site.logout(request)
    if is_by_provider and request.method == "POST":
        return HttpResponseRedirect(f"{reverse('admin:login')}?signed_out")
    return response


@sensitive_post_parameters()
@never_cache
def enter_code(request: HttpRequest) -> HttpResponse:
    """The second step, also for a session from before the second factor was set up."""
    found = _who(request)
    if found is None:
        return HttpResponseRedirect(reverse("admin:login"))
    user, lead_to = found
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        device = second_factor.check_code(user, form.cleaned_data["code"])
        if device is not None:
            second_factor.finish(request, user, device)
            if not getattr(request, "audit_entries", 0):
                audit.record(request, "gave a code", user, text=f"From: {device.name}.")
            return HttpResponseRedirect(lead_to)
        audit.record(request, "failed a second factor", user, by=user)
        form.add_error("code", second_factor.why_not(user))
    context = {
        **admin.site.each_context(request),
        "title": "Enter the code",
        "form": form,
        "lead_to": request.GET.get(REDIRECT_FIELD_NAME, ""),
        "is_app": "recovery" not in request.GET,
    }
    return TemplateResponse(request, "staff/code.html", context)


def _who(request: HttpRequest) -> tuple[Any, str] | None:
    """The user who has to give a code, and the next page."""
    user: Any = request.user
    if not user.is_authenticated:
        return second_factor.pending(request)
    if not user.is_staff or user.is_verified() or not second_factor.has_device(user):
        return None
    asked = _asked(request)
    inside = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return user, asked if inside else reverse("admin:index")


def _asked(request: HttpRequest) -> str:
    return request.GET.get(REDIRECT_FIELD_NAME, "")
