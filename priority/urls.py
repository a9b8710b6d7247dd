"""Path → endpoint and its policy."""

from dataclasses import replace
from typing import Any

from django.urls import path

from gateway.endpoint import Page, RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.hosts import EVERY, LANDING
from gateway.ping import Ping
from priority import views
from priority.acceptance.methods import bundle_submitting, submitting
from priority.fates.methods import bundle_statuses, fates
from priority.fates.streams import FateStream
from priority.method_table import (
    block_engine_methods,
    block_engine_transactions,
    bundle_methods,
    landing_methods,
    methods,
)
from priority.proxy import methods as health
from priority.simulation import methods as bundles

# Importing a module of methods puts them into the tables.
__all__ = [
    "bundle_statuses",
    "bundle_submitting",
    "bundles",
    "fates",
    "health",
    "root_endpoint",
    "submitting",
    "urlpatterns",
]


ROOT_POLICY = EndpointPolicy("proxy", EVERY, scopes={"simulateBundle": "simulate"})
# That of WebSockets at `/`; FATES_POLICY is that of those at `/priority`.
SOCKETS_POLICY = replace(ROOT_POLICY, error_format=ErrorFormat.WORD)


def root_endpoint(page: Page, socket: Page) -> Any:
    """`/`: RPC calls and WebSockets on every host, and the page for browsers."""
    return RpcEndpoint.as_view(methods=methods, policy=ROOT_POLICY, page=page, socket=socket)


def landing_endpoint(socket: Page) -> Any:
    """`/priority`: RPC calls, and WebSockets."""
    return RpcEndpoint.as_view(methods=landing_methods, policy=_LANDING, socket=socket)


block_engine_methods.include(bundle_methods)

_LANDING = EndpointPolicy("priority", LANDING, key_required=True)
_BUNDLES = EndpointPolicy(
    "bundle", LANDING, error_format=ErrorFormat.PLAIN_TEXT, quotas={"sendBundle": "bundles"}
)

FATES_POLICY = EndpointPolicy("priority", LANDING, key_required=True, error_format=ErrorFormat.WORD)
_TIP_FLOOR = EndpointPolicy("priority", LANDING, error_format=ErrorFormat.WORD)
_BUNDLE_FATES = EndpointPolicy("bundle", LANDING, error_format=ErrorFormat.WORD)

_HEALTH = EndpointPolicy("proxy", EVERY, error_format=ErrorFormat.WORD)

_block_engine = RpcEndpoint.as_view(methods=block_engine_methods, policy=_BUNDLES)
_block_engine_transactions = RpcEndpoint.as_view(methods=block_engine_transactions, policy=_LANDING)

urlpatterns = [
    path("health", views.NodeHealth.as_view(policy=_HEALTH)),
    path("bundle", RpcEndpoint.as_view(methods=bundle_methods, policy=_BUNDLES)),
    path(
        "priority/ping",
        Ping.as_view(policy=replace(_LANDING, scope="", error_format=ErrorFormat.WORD)),
    ),
    path("priority/fate/<str:signature>", views.TransactionFate.as_view(policy=FATES_POLICY)),
    path("priority/fates", views.NewestFates.as_view(policy=FATES_POLICY)),
    path("priority/fates/stream", FateStream.as_view(policy=FATES_POLICY)),
    path("priority/tipfloor", views.LandedTips.as_view(policy=_TIP_FLOOR)),
    path("bundle/fate/<str:bundle_id>", views.BundleFateView.as_view(policy=_BUNDLE_FATES)),
    # The paths that clients of a block engine call, with the base /bundle or /api/v1.
    path("bundle/bundles", _block_engine),
    path("bundle/transactions", _block_engine_transactions),
    path("api/v1/bundles", _block_engine),
    path("api/v1/transactions", _block_engine_transactions),
    path("api/v1/getBundleStatuses", _block_engine),
    path("api/v1/getInflightBundleStatuses", _block_engine),
    path("api/v1/getTipAccounts", _block_engine),
]
