"""Plain GETs of landing: the node's health, fates and the tip floor."""

from typing import Annotated
from urllib.parse import parse_qs

from django.conf import settings
from msgspec import Meta
from rest_framework.response import Response
from solders.signature import Signature

from gateway.declarations import Parameter
from gateway.views import EndpointRequest, ReadView
from jsonrpc.wire import As
from priority.errors import BadQuery
from priority.fates.errors import (
    BundleIdMalformed,
    BundleUnknown,
    FatesUnavailable,
    SignatureUnknown,
)
from priority.fates.results import BundleFate, Fate
from priority.fates.services import lookup
from priority.method_table import upstream_node
from priority.proxy.errors import NoUpstreamNode
from priority.proxy.services import health
from priority.reports.results import TipFloor
from priority.reports.services import tip_floor

_MOST = 256
_LIMIT = 100
_WINDOWS = ", ".join(map(str, tip_floor.WINDOWS))

NEWEST = (
    Parameter("limit", Annotated[int, Meta(ge=1, le=_MOST)], "how many", default=str(_LIMIT)),
    Parameter("before", Signature, "go on behind this one of yours: the last of the page before"),
)
FLOOR = (
    Parameter(
        "window",
        int,
        f"over how many seconds: one of {_WINDOWS}",
        default=str(tip_floor.DEFAULT_WINDOW),
    ),
)


class NodeHealth(ReadView):
    """At /health, where load balancers and clients ask a node."""

    name = "health"
    result = health.NodeWord
    content_type = "text/plain"
    asks_node = True
    allows_head = True

    def get(self, request: EndpointRequest) -> Response:
        """Whether the followed node keeps up with the chain, in a node's own word,
        always with status 200: `ok`; `behind`; `unknown` if it cannot say or does not answer. The
        method getHealth has the reason.
        """
        return Response(_health().encode(), content_type="text/plain; charset=utf-8")


def _health() -> health.NodeWord:
    try:
        return health.word(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)
    except NoUpstreamNode:
        return "unknown"


class TransactionFate(ReadView):
    name = "transactionFate"
    result = Fate
    errors = (SignatureUnknown, BadQuery, FatesUnavailable)

    def get(self, request: EndpointRequest, signature: Annotated[str, As(Signature)]) -> Response:
        """What became of a transaction that your keys submitted here, with every attempt.

        signature: the transaction's signature
        """
        return Response(
            lookup.fate(
                _signature("signature", signature),
                key_id=request.user.key_id,
                kept_days=settings.SUBMISSION_DAYS,
            )
        )


class NewestFates(ReadView):
    name = "newestFates"
    query = NEWEST
    result = list[Fate]
    errors = (SignatureUnknown, BadQuery)

    def get(self, request: EndpointRequest) -> Response:
        """What your keys submitted last, newest first, without the attempts."""
        query = _query(request)
        key_id: int | None = request.user.key_id
        assert key_id is not None  # the terms ask for a key
        return Response(
            lookup.newest_fates(
                key_id=key_id,
                limit=_limit(query.get("limit")),
                before=_signature("before", query["before"]) if "before" in query else None,
                kept_days=settings.SUBMISSION_DAYS,
            )
        )


class BundleFateView(ReadView):
    name = "bundleFate"
    result = BundleFate
    errors = (BundleUnknown, BundleIdMalformed, FatesUnavailable)

    def get(self, request: EndpointRequest, bundle_id: str) -> Response:
        """What became of a bundle that your keys submitted here, and of its transactions.

        bundle_id: its id, or one signature of it
        """
        return Response(
            lookup.bundle_fate(
                bundle_id, key_id=request.user.key_id, kept_days=settings.SUBMISSION_DAYS
            )
        )


class LandedTips(ReadView):
    name = "tipfloor"
    query = FLOOR
    result = list[TipFloor]
    errors = (BadQuery,)

    def get(self, request: EndpointRequest) -> Response:
        """How much the tips that landed of late were: what to tip, so as to land among the
        others.
        """
        text = _query(request).get("window", str(tip_floor.DEFAULT_WINDOW))
        if text not in map(str, tip_floor.WINDOWS):
            raise BadQuery("window", f"one of {_WINDOWS} (seconds)", text)
        return Response([tip_floor.tip_floor(int(text), now=self.now)])


def _query(request: EndpointRequest) -> dict[str, str]:
    found = parse_qs(request.META.get("QUERY_STRING", ""), keep_blank_values=True)
    return {name: values[-1] for name, values in found.items()}


def _signature(name: str, text: str) -> Signature:
    try:
        return Signature.from_string(text)
    except ValueError:
        raise BadQuery(name, "a signature in base58", text) from None


def _limit(text: str | None) -> int:
    if text is None:
        return _LIMIT
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= _MOST):
        raise BadQuery("limit", f"a number from 1 to {_MOST}", text)
    return int(text)
