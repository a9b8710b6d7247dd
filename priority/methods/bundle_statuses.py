"""getBundleStatuses, getInflightBundleStatuses, getTipAccounts: in the block engine's shapes."""

from django.conf import settings

from gateway.endpoint import Call
from priority.errors import TooManyBundles
from priority.methods.table import bundle_methods
from priority.results import InflightBundles, LandedBundles
from priority.services import bundle_statuses

MOST_BUNDLES = 5


@bundle_methods.add("getBundleStatuses")
def get_bundle_statuses(call: Call, bundles: list[str | list[str]]) -> LandedBundles:
    """Where each bundle landed; null for one that has not, or is not the caller's."""
    return bundle_statuses.landed(_few(bundles), key_id=call.caller.key_id)


@bundle_methods.add("getInflightBundleStatuses")
def get_inflight_bundle_statuses(call: Call, bundles: list[str | list[str]]) -> InflightBundles:
    """How far each bundle has come; Invalid for one that is not the caller's."""
    return bundle_statuses.in_flight(_few(bundles), key_id=call.caller.key_id)


@bundle_methods.add("getTipAccounts")
def get_tip_accounts(call: Call) -> list[str]:
    """The addresses on which a tip always counts."""
    return [str(each) for each in settings.TIP_ADDRESSES]


def _few(bundles: list[str | list[str]]) -> list[str | list[str]]:
    if len(bundles) > MOST_BUNDLES:
        raise TooManyBundles(len(bundles), MOST_BUNDLES)
    return bundles
