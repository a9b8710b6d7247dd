"""The page for an unexpected error, and the one to load again: an outage, or locked data."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views import defaults

from shared_state.outages import BUSY, refusal_of

_RETRY_SECONDS = "5"


def server_error(request: HttpRequest) -> HttpResponse:
    """Status 503 for an outage and for locked data, as an object for scripts; else Django's 500."""
    error = sys.exc_info()[1]
    outage = None if error is None else refusal_of(error)
    if outage is None:
        return defaults.server_error(request)
    response: HttpResponse
    if request.path.startswith("/admin/live/"):
        response = JsonResponse({"error": outage.name, "why": outage.text}, status=503)
    else:
        response = render(
            None, "503.html", {"why": outage.text, "is_busy": outage is BUSY}, status=503
        )
    response.headers["Retry-After"] = _RETRY_SECONDS
    response.headers["Cache-Control"] = "no-store"
    return response
