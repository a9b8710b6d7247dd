"""Outcomes of a customer's own submissions. Those without a key are not shown here, though the API
returns them to any caller.
"""

from django.conf import settings
from solders.signature import Signature

from portal import store
from priority.fates.errors import BundleUnknown, SignatureUnknown
from priority.fates.results import BundleFate, Fate
from priority.fates.services import lookup


def own_fate(customer_id: int, signature: str) -> Fate:
    """The fate with every attempt. Raises SignatureUnknown and FatesUnavailable."""
    key_id, kept_days = store.any_key(customer_id), settings.SUBMISSION_DAYS
    try:
        name = Signature.from_string(signature)
    except ValueError:
        raise SignatureUnknown(signature, kept_days) from None
    if key_id is None or not _is_own(customer_id, key_id, bytes(name)):
        raise SignatureUnknown(signature, kept_days)
    return lookup.fate(name, key_id=key_id, kept_days=kept_days)


def own_bundle_fate(customer_id: int, bundle_id: str) -> BundleFate:
    """The same of a bundle. Raises BundleIdMalformed, BundleUnknown and FatesUnavailable."""
    asked = lookup.named(bundle_id)
    key_id, kept_days = store.any_key(customer_id), settings.SUBMISSION_DAYS
    if key_id is None:
        raise BundleUnknown(kept_days)
    name = bytes.fromhex(asked.bundle_id)
    if not store.has_bundle(customer_id, asked.bundle_id) and not _waits(name, key_id):
        raise BundleUnknown(kept_days)
    return lookup.bundle_fate(asked.bundle_id, key_id=key_id, kept_days=kept_days)


def _is_own(customer_id: int, key_id: int, signature: bytes) -> bool:
    return bool(store.submitted(customer_id, [signature])) or _waits(signature, key_id)


def _waits(name: bytes, key_id: int) -> bool:
    """Accepted with a key of the customer's, and in no table yet."""
    found = lookup.pending([name], key_id).get(name)
    return found is not None and found.key_id is not None
