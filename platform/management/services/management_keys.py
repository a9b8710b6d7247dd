"""Issuing, identifying and revoking management keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from access import key_text
from access.errors import (
    ActionRefused,
    KeyExpired,
    KeyMalformed,
    KeyRevoked,
    KeyUnknown,
    UnknownScope,
)
from access.services.keys import listed_networks
from management import store
from management.models import ManagementKey
from management.scopes import SCOPES, scopes_of
from portal.errors import MayNot, TooMany
from portal.models import Member
from portal.store import lock_customer

ROOT_PREFIX, TOKEN_PREFIX = "tmr_", "tmt_"
MOST_TOKENS = 20


@dataclass(frozen=True, slots=True)
class IssuedManagementKey:
    """A new key with its secret, which is available only here."""

    key: ManagementKey
    secret: str


@transaction.atomic
def issue(
    *,
    name: str,
    scopes: Sequence[str],
    created_by: str,
    now: datetime,
    member: Member | None = None,
    networks: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> IssuedManagementKey:
    """A new root key, or the token of a member, with scopes of the member's role. Raises
    UnknownScope, BadNetwork, MayNot, TooMany, and ActionRefused without a scope or with a past
    expiry.
    """
    offered = SCOPES if member is None else scopes_of(member.role)
    if not offered:
        raise MayNot("Only owners and developers have tokens")
    for scope in scopes:
        if scope not in offered:
            raise UnknownScope(f"unknown scope {scope!r}; there are {', '.join(offered)}")
    if not scopes:
        raise ActionRefused("a key without a scope may do nothing: choose at least one")
    if expires_at is not None and expires_at <= now:
        raise ActionRefused("the expiry is past: choose a later moment")
    if member is not None:
        lock_customer(member.customer_id)
        if store.count_tokens(member.customer_id) >= MOST_TOKENS:
            raise TooMany(f"There are {MOST_TOKENS} tokens, the most there may be: revoke one")
    new = key_text.new_key(ROOT_PREFIX if member is None else TOKEN_PREFIX)
    key = store.create_key(
        name=name,
        member=member,
        scopes=[scope for scope in offered if scope in scopes],
        networks=listed_networks(networks),
        created_by=created_by,
        expires_at=expires_at,
        shown_prefix=new.shown_prefix,
        last_four=new.last_four,
        digest=new.digest,
    )
    return IssuedManagementKey(key, new.secret)


def identify(secret: str, *, now: datetime) -> ManagementKey:
    """The key. Raises KeyRefused, also for the token of a member who may have none."""
    if not any(key_text.is_well_formed(secret, each) for each in (ROOT_PREFIX, TOKEN_PREFIX)):
        raise KeyMalformed
    key = store.key_by_digest(key_text.digest_of(secret))
    if key is None:
        raise KeyUnknown
    member = key.member
    may = member is None or (member.user.is_active and bool(scopes_of(member.role)))
    if key.revoked_at is not None or not may:
        raise KeyRevoked(None)
    if key.expires_at is not None and key.expires_at <= now:
        raise KeyExpired(None, key.expires_at)
    return key


def revoke(key_id: int, *, now: datetime) -> None:
    """Requests with the key get 401 for good. Raises ActionRefused if it was revoked before."""
    if not store.revoke_key(key_id, now):
        raise ActionRefused("it was revoked before")
