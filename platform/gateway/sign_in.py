"""Sign-in limited per client address: a password must not be guessed at leisure."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

from access import windows
from access.callers import Quota
from gateway.addresses import client_address

_ATTEMPTS = Quota(rate=10 / 60, burst=10)

View = Callable[..., HttpResponseBase]


def limited_sign_in(view: View) -> View:
    """The view, with 10 POSTs a minute and address; above that 429."""

    @functools.wraps(view)
    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST":
            taken = windows.take(request, "sign-in", client_address(request.META), _ATTEMPTS)
            if not taken.allowed:
                seconds = taken.retry_seconds
                response = render(request, "429.html", {"seconds": seconds}, status=429)
                response.headers["Retry-After"] = str(seconds)
                return response
        return view(request, *args, **kwargs)

    return limited
