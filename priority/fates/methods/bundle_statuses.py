"""getBundleStatuses, getInflightBundleStatuses, getTipAccounts: in the block engine's shapes."""

from typing import Annotated

from django.conf import settings
from solders.pubkey import Pubkey

from gateway.calls import Call
from jsonrpc.wire import As
from priority.fates.errors import BundleIdMalformed, FatesUnavailable, TooManyBundles
from priority.fates.results import InflightBundles, LandedBundles
from priority.fates.services import bundle_statuses
from priority.method_table import bundle_methods

MOST_BUNDLES = 5
_ERRORS = (TooManyBundles, BundleIdMalformed, FatesUnavailable)


@bundle_methods.add("getBundleStatuses", errors=_ERRORS)
def get_bundle_statuses(call: Call, bundles: list[str | list[str]]) -> LandedBundles:
    """Where bundles landed, as a block engine answers.

    bundles: up to five, each by its id, or by the signatures that sendBundle answered
    """
    return bundle_statuses.landed(_few(bundles), key_id=call.caller.key_id)


@bundle_methods.add("getInflightBundleStatuses", errors=_ERRORS)
def get_inflight_bundle_statuses(call: Call, bundles: list[str | list[str]]) -> InflightBundles:
    """How far bundles have come, as a block engine answers.

    bundles: up to five, each by its id, or by the signatures that sendBundle answered
    """
    return bundle_statuses.inflight(_few(bundles), key_id=call.caller.key_id)


@bundle_methods.add("getTipAccounts")
def get_tip_accounts(call: Call) -> Annotated[list[str], As(list[Pubkey])]:
    """The addresses on which a tip always counts.

    returns: the addresses
    """
    return [str(each) for each in settings.TIP_ADDRESSES]


def _few(bundles: list[str | list[str]]) -> list[str | list[str]]:
    if len(bundles) > MOST_BUNDLES:
        raise TooManyBundles(len(bundles), MOST_BUNDLES)
    return bundles
