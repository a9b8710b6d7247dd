"""StaffMiddleware: nothing that staff does goes unwritten."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase


class StaffMiddleware:
    """Stands behind the middleware that knows who asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)
