"""Path → endpoint and its terms."""

from typing import Any

from django.urls import path

from gateway.endpoint import Page, RpcEndpoint, Terms
from gateway.hosts import EVERY, LANDING
from gateway.ping import ping_endpoint
from gateway.reading import get_endpoint
from gateway.terms import Face
from priority import views
from priority.errors import (
    BadQuery,
    BundleIdMalformed,
    BundleUnknown,
    FatesUnavailable,
    SignatureUnknown,
    StreamElsewhere,
    StreamUnavailable,
    TicketRefused,
    TooManyStreams,
)
from priority.methods import (
    bundle_statuses,
    bundle_submitting,
    bundles,
    fates,
    health,
    submitting,
)
from priority.methods.table import (
    block_engine_methods,
    block_engine_transactions,
    bundle_methods,
    landing_methods,
    methods,
)
from priority.results import FateEvent

# Importing a module of methods puts them into the tables.
__all__ = [
    "bundle_statuses",
    "bundle_submitting",
    "bundles",
    "fates",
    "front_door",
    "health",
    "submitting",
    "urlpatterns",
]


def front_door(page: Page) -> Any:
    """`/`: RPC calls on every host, and the page to who looks with a browser."""
    terms = Terms("proxy", EVERY, scopes={"simulateBundle": "simulate"})
    return RpcEndpoint.as_view(methods=methods, terms=terms, page=page)


block_engine_methods.include(bundle_methods)

_LANDING = Terms("priority", LANDING, key_required=True)
_BUNDLES = Terms("bundle", LANDING, face=Face.PLAIN_TEXT, quotas={"sendBundle": "bundles"})

_FATES = Terms("priority", LANDING, key_required=True, face=Face.WORD)
_TIP_FLOOR = Terms("priority", LANDING, face=Face.WORD)
_BUNDLE_FATES = Terms("bundle", LANDING, face=Face.WORD)

_block_engine = RpcEndpoint.as_view(methods=block_engine_methods, terms=_BUNDLES)
_block_engine_transactions = RpcEndpoint.as_view(methods=block_engine_transactions, terms=_LANDING)

urlpatterns = [
    path("priority", RpcEndpoint.as_view(methods=landing_methods, terms=_LANDING)),
    path("bundle", RpcEndpoint.as_view(methods=bundle_methods, terms=_BUNDLES)),
    path("priority/ping", ping_endpoint(_LANDING)),
    path(
        "priority/fate/<str:signature>",
        get_endpoint(
            "transactionFate",
            views.transaction_fate,
            _FATES,
            errors=(SignatureUnknown, BadQuery, FatesUnavailable),
        ),
    ),
    path(
        "priority/fates",
        get_endpoint(
            "newestFates",
            views.newest_fates,
            _FATES,
            query=views.NEWEST,
            errors=(SignatureUnknown, BadQuery),
        ),
    ),
    path(
        "priority/fates/stream",
        get_endpoint(
            "fatesStream",
            views.fate_stream,
            _FATES,
            query=views.STREAM,
            result=FateEvent,
            errors=(StreamElsewhere, TicketRefused, TooManyStreams, StreamUnavailable, BadQuery),
            content_type="text/event-stream",
        ),
    ),
    path(
        "priority/tipfloor",
        get_endpoint(
            "tipfloor", views.landed_tips, _TIP_FLOOR, query=views.FLOOR, errors=(BadQuery,)
        ),
    ),
    path(
        "bundle/fate/<str:bundle_id>",
        get_endpoint(
            "bundleFate",
            views.bundle_fate,
            _BUNDLE_FATES,
            errors=(BundleUnknown, BundleIdMalformed, FatesUnavailable),
        ),
    ),
    # The paths that clients of a block engine call, with the base /bundle or /api/v1.
    path("bundle/bundles", _block_engine),
    path("bundle/transactions", _block_engine_transactions),
    path("api/v1/bundles", _block_engine),
    path("api/v1/transactions", _block_engine_transactions),
    path("api/v1/getBundleStatuses", _block_engine),
    path("api/v1/getInflightBundleStatuses", _block_engine),
    path("api/v1/getTipAccounts", _block_engine),
]
