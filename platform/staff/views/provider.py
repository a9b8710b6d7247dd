"""Signing in and out by the sign-in provider: the same way to the admin and to the portal."""

from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from staff import provider, provider_accounts, second_factor, sign_ins
from staff.errors import ActionRefused
from staff.provider import Identity, NotBegun

# The session's key for the page to go to afterwards.
_LEAD_TO = "provider_leads_to"


class Area(NamedTuple):
    """The names of the URLs at which people sign in, and of the page behind them. `user_of` returns
    whom an identity signs in, and raises ActionRefused.
    """

    sign_in: str
    callback: str
    code: str
    home: str
    user_of: Callable[[HttpRequest, Identity], User]


ADMIN = Area(
    "admin:login", "staff_callback", "staff_code", "admin:index", provider_accounts.staff_user
)


@never_cache
@require_safe
def begin(request: HttpRequest, area: Area) -> HttpResponseBase:
    """Leads to the provider; `next` in the query is the page to go to afterwards."""
    _require_on()
    request.session[_LEAD_TO] = page_below(reverse(area.home), request.GET.get("next", ""))
    try:
        redirect: HttpResponseBase = provider.client().lead_to_provider(
            request, reverse(area.callback)
        )
        return redirect
    except ActionRefused as refusal:
        return _refused(request, area, refusal)


@never_cache
@require_safe
def finish(request: HttpRequest, area: Area) -> HttpResponseBase:
    """Signs in who came back from the provider with a code, or leads to the second factor."""
    _require_on()
    email = ""
    try:
        identity = provider.client().identity_of(request)
        email = identity.email
        user = area.user_of(request, identity)
    except NotBegun as refusal:  # not logged: anyone can send one at any time
        return _refused(request, area, refusal)
    except ActionRefused as refusal:
        sign_ins.record_failure(request, email, f"{refusal}.")
        return _refused(request, area, refusal)
    lead_to = request.session.pop(_LEAD_TO, reverse(area.home))
    by = f"the provider {identity.issuer}"
    return second_factor.sign_in(
        request, user, by=by, lead_to=lead_to, code_page=reverse(area.code)
    )


@never_cache
@require_safe
def end(request: HttpRequest, area: Area) -> HttpResponseBase:
    """Leads to the end of the session at the provider, which leads back to the sign-in page."""
    _require_on()
    try:
        return HttpResponseRedirect(provider.client().sign_out_address(reverse(area.sign_in)))
    except ActionRefused as refusal:
        return _refused(request, area, refusal)


def page_below(home: str, asked: str) -> str:
    """The page that was asked for if it is `home` or below, else `home`."""
    good = asked.startswith(home) and url_has_allowed_host_and_scheme(asked, allowed_hosts=None)
    return asked if good else home


def _require_on() -> None:
    if not provider.is_on():
        raise Http404


def _refused(request: HttpRequest, area: Area, refusal: ActionRefused) -> HttpResponseBase:
    messages.error(request, f"{settings.OIDC_NAME}: {refusal}")
    return HttpResponseRedirect(reverse(area.sign_in))
