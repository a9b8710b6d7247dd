"""Changing what a key may do, without changing the key."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict, Unpack

from django.db import transaction

from access import key_changes, store
from access.errors import ActionRefused, KeyIsRevoked
from access.key_changes import KeyChange
from access.method_names import listed_methods
from access.models import ApiKey, Tier
from access.services.keys import listed_networks, listed_origins, require_scopes


class KeyChanges(TypedDict, total=False):
    """The editable fields of a key; absent ones stay unchanged."""

    name: str
    environment: str
    notes: str
    tier: Tier
    scopes: Sequence[str]
    networks: Sequence[str]
    methods: Sequence[str]
    origins: Sequence[str]
    requests_per_second: float | None
    calls_per_month: int | None
    expires_at: datetime | None


@transaction.atomic
def edit_key(key_id: int, *, now: datetime, **changes: Unpack[KeyChanges]) -> ApiKey:
    """The changed key. Raises KeyIsRevoked, UnknownScope, BadNetwork, BadMethod, BadOrigin, and
    ActionRefused for a past expiry.
    """
    key = store.lock_key(key_id)
    if key.revoked_at is not None:
        raise KeyIsRevoked(f"{key} was revoked: it cannot be changed any more")
    require_scopes(changes.get("scopes", ()))
    if "networks" in changes:
        changes["networks"] = listed_networks(changes["networks"])
    if "methods" in changes:
        changes["methods"] = listed_methods(changes["methods"])
    if "origins" in changes:
        changes["origins"] = listed_origins(changes["origins"])
    expiry = changes.get("expires_at")
    if expiry is not None and expiry <= now:
        raise ActionRefused("the expiry is past: to end a key now, suspend or revoke it")
    for name, value in changes.items():
        setattr(key, name, value)
    if changes:
        key.save(update_fields=list(changes))
        key_changes.publish(key, KeyChange.EDITED, now=now)
    return key
