"""getTransactionFate, getTransactionFates, getBundleFate."""

from django.conf import settings
from solders.signature import Signature

from gateway.calls import Call
from priority.fates.errors import (
    BundleIdMalformed,
    BundleUnknown,
    FatesUnavailable,
    SignatureUnknown,
    TooManyFates,
)
from priority.fates.results import BundleFate, Fate
from priority.fates.services import lookup
from priority.method_table import bundle_methods, landing_methods

MOST_FATES = 256


@landing_methods.add("getTransactionFate", errors=(SignatureUnknown, FatesUnavailable))
def get_transaction_fate(call: Call, signature: Signature) -> Fate:
    """What became of a transaction that your keys submitted here, with every attempt.

    signature: the transaction's signature
    """
    return lookup.fate(signature, key_id=call.caller.key_id, kept_days=settings.SUBMISSION_DAYS)


@landing_methods.add("getTransactionFates", errors=(TooManyFates, FatesUnavailable))
def get_transaction_fates(call: Call, signatures: list[Signature]) -> list[Fate | None]:
    """What became of many transactions that your keys submitted here, without their attempts.

    signatures: up to 256 of them
    returns: a fate for each, in their order; null for what you never submitted
    """
    if len(signatures) > MOST_FATES:
        raise TooManyFates(len(signatures), MOST_FATES)
    return lookup.fates(signatures, key_id=call.caller.key_id)


@bundle_methods.add("getBundleFate", errors=(BundleUnknown, BundleIdMalformed, FatesUnavailable))
def get_bundle_fate(call: Call, bundle: str | list[str]) -> BundleFate:
    """What became of a bundle that your keys submitted here, and of its transactions.

    bundle: its id, or the signatures that sendBundle answered
    """
    return lookup.bundle_fate(bundle, key_id=call.caller.key_id, kept_days=settings.SUBMISSION_DAYS)
