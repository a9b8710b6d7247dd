"""The GET doors of landing: fates, the way to their stream, and the tip floor."""

from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request
from solders.signature import Signature

from access.callers import Caller
from gateway.answers import Answer
from gateway.endpoint import Endpoint
from jsonrpc.wire import encode
from priority.errors import BadQuery
from priority.methods.fates import MOST_FATES
from priority.services import fates, stream_tickets, tip_floor

_LIMIT = 100


class TransactionFate(Endpoint):
    """GET /priority/fate/{signature}"""

    def get(self, request: Request, signature: str) -> Answer:
        found = fates.fate(
            _signature("signature", signature),
            key_id=_caller(request).key_id,
            kept_days=settings.SUBMISSION_DAYS,
        )
        return _answer(request, found)


class NewestFates(Endpoint):
    """GET /priority/fates?limit=&before="""

    def get(self, request: Request) -> Answer:
        query = request.query_params
        key_id = _caller(request).key_id
        assert key_id is not None  # the terms ask for a key
        before = query.get("before")
        found = fates.newest_fates(
            key_id=key_id,
            limit=_limit(query.get("limit")),
            before=None if before is None else _signature("before", before),
            kept_days=settings.SUBMISSION_DAYS,
        )
        return _answer(request, found)


class BundleFate(Endpoint):
    """GET /bundle/fate/{bundle_id}"""

    def get(self, request: Request, bundle_id: str) -> Answer:
        found = fates.bundle_fate(
            bundle_id, key_id=_caller(request).key_id, kept_days=settings.SUBMISSION_DAYS
        )
        return _answer(request, found)


class FateStream(Endpoint):
    """GET /priority/fates/stream, which another process answers: the way there."""

    def get(self, request: Request) -> Answer:
        query = stream_tickets.with_ticket(request.META)
        location = f"{_stream_base(request._request)}/priority/fates/stream?{query}"
        return _answer(
            request,
            {"location": location},
            status=307,
            headers={"Location": location, "Cache-Control": "no-store"},
        )


class TipFloor(Endpoint):
    """GET /priority/tipfloor?window="""

    def get(self, request: Request) -> Answer:
        text = request.query_params.get("window", str(tip_floor.DEFAULT_WINDOW))
        if text not in map(str, tip_floor.WINDOWS):
            windows = ", ".join(map(str, tip_floor.WINDOWS))
            raise BadQuery("window", f"one of {windows} (seconds)", text)
        return _answer(request, [tip_floor.tip_floor(int(text), now=timezone.now())])


def _answer(request: Request, result: Any, **options: Any) -> Answer:
    http_request: Any = request._request
    return Answer(
        [encode(result)],
        request_id=http_request.request_id,
        taken=getattr(http_request, "taken", None),
        **options,
    )


def _caller(request: Request) -> Caller:
    return cast(Caller, request.user)


def _signature(name: str, text: str) -> Signature:
    try:
        return Signature.from_string(text)
    except ValueError:
        raise BadQuery(name, "a signature in base58", text) from None


def _limit(text: str | None) -> int:
    if text is None:
        return _LIMIT
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= MOST_FATES):
        raise BadQuery("limit", f"a number from 1 to {MOST_FATES}", text)
    return int(text)


def _stream_base(request: HttpRequest) -> str:
    """The stream's process as the caller reaches it: where the setting says, else on this host."""
    if settings.FATES_URL:
        return str(settings.FATES_URL).rstrip("/")
    host = request.META.get("HTTP_HOST") or request.META.get("SERVER_NAME", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return f"{request.scheme}://{name}:{settings.FATES_PORT}"
