"""Sign-in limited per client address: a password must not be guessed at leisure."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

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
                text = f"Too many attempts: try again in {taken.retry_seconds} s\n"
                return HttpResponse(
                    text,
                    status=429,
                    content_type="text/plain; charset=utf-8",
                    headers={"Retry-After": str(taken.retry_seconds)},
                )
        return view(request, *args, **kwargs)

    return limited
