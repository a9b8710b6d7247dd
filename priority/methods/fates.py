"""getTransactionFate, getTransactionFates, getBundleFate."""

from django.conf import settings
from solders.signature import Signature

from gateway.endpoint import Call
from priority.errors import TooManyFates
from priority.methods.table import bundle_methods, landing_methods
from priority.results import BundleFate, Fate
from priority.services import fates

MOST_FATES = 256


@landing_methods.add("getTransactionFate")
def get_transaction_fate(call: Call, signature: Signature) -> Fate:
    """What became of a submitted transaction, with every attempt."""
    return fates.fate(signature, key_id=call.caller.key_id, kept_days=settings.SUBMISSION_DAYS)


@landing_methods.add("getTransactionFates")
def get_transaction_fates(call: Call, signatures: list[Signature]) -> list[Fate | None]:
    """The fates of up to 256 signatures, without their attempts; null for what the caller never
    submitted.
    """
    if len(signatures) > MOST_FATES:
        raise TooManyFates(len(signatures), MOST_FATES)
    return fates.fates(signatures, key_id=call.caller.key_id)


@bundle_methods.add("getBundleFate")
def get_bundle_fate(call: Call, bundle: str | list[str]) -> BundleFate:
    """What became of a bundle, named by its id or by what sendBundle answered."""
    return fates.bundle_fate(bundle, key_id=call.caller.key_id, kept_days=settings.SUBMISSION_DAYS)
