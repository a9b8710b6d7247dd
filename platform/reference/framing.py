"""The frame of the pages below /docs/: sidebar, neighbours, limits by address."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse

from access import windows
from access.callers import Quota
from gateway.addresses import client_address
from reference import navigation

_READS = Quota(rate=5, burst=300)


def page(request: HttpRequest, template: str, found: dict[str, Any]) -> HttpResponse:
    """The template of templates/docs/ with `found`."""
    here = request.path_info
    frame = {
        "section": "docs",
        "here": here,
        "groups": navigation.groups(),
        "place": navigation.place(here),
        "base": base_of(request),
        "portal": _url("portal:overview"),
        "portal_issue": _url("portal:key_issue"),
        "portal_limits": _url("portal:limits"),
        "headings": [],
    }
    return render(request, f"docs/{template}.html", {**frame, **found})


def base_of(request: HttpRequest) -> str:
    """The scheme and host of the request."""
    return f"{request.scheme}://{request.get_host()}"


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The view, limited by client address: pages need no key and cost more than a call."""

    @wraps(view)
    def within_limit(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        taken = windows.take("docs", client_address(request.META), _READS)
        if taken.allowed:
            return view(request, *args, **kwargs)
        text = f"Too many pages from this address: try again in {taken.retry_seconds} s.\n"
        headers = {"Retry-After": str(taken.retry_seconds)}
        return HttpResponse(text, status=429, content_type="text/plain", headers=headers)

    return within_limit


def _url(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
