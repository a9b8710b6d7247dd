"""One's own second factor: setting it up, new recovery codes, turning it off."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from staff import second_factor
from staff.forms import CodeForm, PasswordAndCodeForm

_WRONG = "Wrong or used code: wait for the next one"


@sensitive_post_parameters()
@never_cache
def two_factor(request: HttpRequest) -> HttpResponse:
    """The page of the second factor; the posted button names the action."""
    action = request.POST.get("order", "")
    if second_factor.has_device(request.user):
        if action == "renew":
            return _renew(request)
        if action == "turn_off" and not settings.STAFF_TWO_FACTOR:
            return _turn_off(request)
        return _page(request)
    return _set_up(request, action)


def _set_up(request: HttpRequest, action: str) -> HttpResponse:
    form = CodeForm(request.POST if action == "confirm" else None)
    if form.is_valid():
        codes = second_factor.confirm(request, form.cleaned_data["code"], subject=request.user)
        if codes is not None:
            return _show(request, codes, is_new=True)
        form.add_error("code", _WRONG)
    device = second_factor.new_device(request.user)
    return _answer(
        request,
        "staff/set_up.html",
        form=form,
        picture=second_factor.picture(device),
        secret=second_factor.secret_text(device),
        is_required=settings.STAFF_TWO_FACTOR,
    )


def _renew(request: HttpRequest) -> HttpResponse:
    form = CodeForm(request.POST, auto_id="renew_%s")
    if form.is_valid():
        if second_factor.check_code(request.user, form.cleaned_data["code"]) is None:
            form.add_error("code", _WRONG)
        else:
            codes = second_factor.renew_own_codes(request, subject=request.user)
            return _show(request, codes, is_new=False)
    return _page(request, renew=form)


def _turn_off(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    form = PasswordAndCodeForm(request.POST, auto_id="off_%s", user=user)
    if form.is_valid():
        given = form.cleaned_data
        # One message for both, so that neither can be guessed alone.
        if second_factor.proves(user, given.get("password", ""), given["code"]):
            second_factor.turn_off(request, subject=user)
            messages.success(
                request,
                "The second factor is off: signing in takes no code. Other sessions ended",
            )
            return HttpResponseRedirect(reverse("staff_two_factor"))
        form.add_error(None, "Wrong password or code")
    return _page(request, turn_off=form)


def _page(
    request: HttpRequest,
    *,
    renew: CodeForm | None = None,
    turn_off: PasswordAndCodeForm | None = None,
) -> HttpResponse:
    device = second_factor.device_of(request.user)
    return _answer(
        request,
        "staff/two_factor.html",
        device=device,
        left=second_factor.recovery_codes_left(request.user),
        renew=renew or CodeForm(auto_id="renew_%s"),
        turn_off=turn_off or PasswordAndCodeForm(auto_id="off_%s", user=request.user),
        is_required=settings.STAFF_TWO_FACTOR,
    )


def _show(request: HttpRequest, codes: list[str], *, is_new: bool) -> HttpResponse:
    return _answer(request, "staff/recovery_codes.html", codes=codes, is_new=is_new)


def _answer(request: HttpRequest, template: str, **shown: Any) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": "Two-factor sign-in", **shown}
    request.current_app = admin.site.name
    return TemplateResponse(request, template, context)
