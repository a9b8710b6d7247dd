"""Pages write out the characters that are not seen."""

import re
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase

from chain.shown_text import may_hide, visible

# What a form sends back, which must be what it was.
_PARTS = re.compile(r"""(<textarea\b[^>]*>.*?</textarea>|\bvalue="[^"]*")""", re.DOTALL)


class ShownPagesMiddleware:
    """Writes control characters, marks of direction and characters without width of every page as
    \\xNN or \\uNNNN, except in the fields of forms. So a name, a program's log or a server's answer
    cannot turn what stands around it, nor look like another one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        kind = response.headers.get("Content-Type", "")
        if not isinstance(response, HttpResponse) or not kind.startswith("text/html"):
            return response
        if may_hide(response.content):
            parts = _PARTS.split(response.content.decode())
            parts[::2] = map(visible, parts[::2])
            response.content = "".join(parts).encode()
        return response
