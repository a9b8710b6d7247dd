"""GET …/ping: the least that keeps a connection open; it asks for no key and takes no quota."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from django.http import HttpRequest

from gateway.answers import Answer
from gateway.declarations import declare
from gateway.hosts import Host
from gateway.permissions import require_served
from gateway.refusals import NotAllowed, Refusal, body_of, headers_of
from gateway.terms import Face, Terms
from jsonrpc.wire import encode


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer, always the same.

    result: the word
    """

    result: Literal["pong"]


def ping() -> Pong:
    """Nothing but an answer: call it once a minute, and the connection stays open for what is to be
    fast later. It takes no key and counts against no limit.
    """
    return Pong("pong")


_PONG = encode(ping())


def ping_endpoint(terms: Terms) -> Any:
    """The view, on the hosts of the terms."""
    terms = replace(terms, scope="", key_required=False)

    def view(request: HttpRequest) -> Answer:
        identity: str = request.request_id  # type: ignore[attr-defined]
        host: Host = request.host  # type: ignore[attr-defined]
        try:
            require_served(host, terms, request.path_info)
            if request.method not in ("GET", "HEAD"):
                raise NotAllowed(request.method or "", "GET")
        except Refusal as refusal:
            content_type, text = body_of(refusal, Face.WORD)
            return Answer(
                [text],
                request_id=identity,
                status=refusal.status,
                content_type=content_type,
                headers=headers_of(refusal),
            )
        return Answer([_PONG], request_id=identity)

    declare(view, "ping", function=ping)
    view.terms = terms  # type: ignore[attr-defined]
    view.verb = "GET"  # type: ignore[attr-defined]
    return view
