"""The rights that staff gave a key, and which keys can be models of new ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from access.callers import SCOPES
from access.models import ApiKey
from portal.models import KeyTerms

# How long a rotated key may work beside its successor.
LONGEST_OVERLAP = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Given:
    """The rights that staff gave: scopes in their order, the latest expiry (None: no end), the
    methods (empty: all), and the highest rate (None: the tier's).
    """

    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None
    methods: tuple[str, ...] = ()
    requests_per_second: float | None = None


def given(key: ApiKey) -> Given:
    """As noted before the customer's first change, unless staff changed the key since. A key that
    the customer rotated works for LONGEST_OVERLAP after that at most.
    """
    terms = _terms(key)
    scopes, expires_at = key.scopes, key.expires_at
    methods, rate = key.methods, key.requests_per_second
    if terms is not None and set(terms.set_scopes) == set(key.scopes):
        scopes = terms.given_scopes
    if terms is not None and terms.set_expires_at == key.expires_at:
        expires_at = terms.given_expires_at
        successor = getattr(key, "rotated_to", None)
        if successor is not None:
            latest = successor.created_at + LONGEST_OVERLAP
            expires_at = latest if expires_at is None else min(expires_at, latest)
    if terms is not None and set(terms.set_methods) == set(methods):
        methods = terms.given_methods
    if terms is not None and terms.set_requests_per_second == rate:
        rate = terms.given_requests_per_second
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    return Given(ordered, expires_at, tuple(methods), rate)


def is_suspended_by_staff(key: ApiKey) -> bool:
    terms = _terms(key)
    return key.suspended_at is not None and (
        terms is None or terms.suspended_at != key.suspended_at
    )


def models_of(keys: Iterable[ApiKey], now: datetime) -> list[ApiKey]:
    """The keys whose rights a new one may have: not expired, and not suspended or revoked by staff.
    A key that the customer revoked can be replaced. The first is the one to suggest: of the lowest
    tier, so that no one gets a higher one by not choosing, and there the one with the most rights.
    """
    found = [key for key in keys if _may_be_followed(key, now)]
    return sorted(found, key=_merit, reverse=True)


def _may_be_followed(key: ApiKey, now: datetime) -> bool:
    terms = _terms(key)
    if key.revoked_at is not None and (terms is None or terms.revoked_at != key.revoked_at):
        return False
    end = given(key).expires_at
    is_over = end is not None and end <= now
    return not (is_over or is_rotated(key) or is_suspended_by_staff(key))


def is_rotated(key: ApiKey) -> bool:
    return getattr(key, "rotated_to", None) is not None


def _merit(key: ApiKey) -> tuple[bool, int, int, bool, int]:
    rights = given(key)
    endless = rights.expires_at is None
    return key.revoked_at is None, -key.tier.rank, len(rights.scopes), endless, key.pk


def _terms(key: ApiKey) -> KeyTerms | None:
    return getattr(key, "portal_terms", None)
