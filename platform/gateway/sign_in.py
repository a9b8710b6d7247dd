"""Limits sign-in attempts by client address and by account."""

import functools
import hashlib
import unicodedata
from collections.abc import Callable, Collection
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from access import windows
from access.callers import Quota
from gateway.addresses import client_address
from staff import second_factor

_ATTEMPTS = Quota(rate=10 / 60, burst=10)
# More than one address can use up, so that a client cannot lock out the account's owner.
_ATTEMPTS_ON_ACCOUNT = Quota(rate=60 / 300, burst=60)

View = Callable[..., HttpResponseBase]


def limited_sign_in(view: View, *, methods: Collection[str] = ("POST",)) -> View:
    """Limits the view to 10 requests of these methods a minute from one address, and to 60 in 5
    minutes for one account; above that 429. The account is the `username` or `email` of the form,
    or that of the pending second factor.
    """

    @functools.wraps(view)
    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method in methods:
            taken = windows.take("sign-in", client_address(request.META), _ATTEMPTS)
            for account in _accounts(request):
                if taken.allowed:
                    taken = windows.take("sign-in account", account, _ATTEMPTS_ON_ACCOUNT)
            if not taken.allowed:
                seconds = taken.retry_seconds
                response = render(request, "429.html", {"seconds": seconds}, status=429)
                response.headers["Retry-After"] = str(seconds)
                add_never_cache_headers(response)
                return response
        return view(request, *args, **kwargs)

    return limited


# A page that leads to the sign-in provider.
limited_leading = functools.partial(limited_sign_in, methods=("GET", "HEAD"))


def _accounts(request: HttpRequest) -> set[str]:
    """Hashes of the accounts that the request may be for, whether they exist or not. All names sent
    count, so that an extra one cannot replace the form's own.
    """
    names = {request.POST.get("username", ""), request.POST.get("email", "")}
    if hasattr(request, "session"):
        names.add(str(second_factor.pending_id(request) or request.user.pk or ""))
    # Django normalizes names: several spellings are one account.
    spelled = {unicodedata.normalize("NFKC", name).strip().casefold() for name in names}
    return {hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() for name in spelled - {""}}
