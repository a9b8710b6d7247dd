"""Changing what a key may do, without changing the key."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict, Unpack

from django.db import transaction

from access import key_changes, store
from access.callers import SCOPES
from access.errors import ActionRefused, BadNetwork, KeyIsRevoked, UnknownScope
from access.key_changes import KeyChange
from access.method_names import listed_methods
from access.models import ApiKey, Tier
from access.networks import read_network


class KeyChanges(TypedDict, total=False):
    """What may be changed of a key; what is absent stays as it is."""

    name: str
    environment: str
    notes: str
    tier: Tier
    scopes: Sequence[str]
    networks: Sequence[str]
    methods: Sequence[str]
    calls_per_month: int | None
    expires_at: datetime | None


@transaction.atomic
def edit_key(key_id: int, *, now: datetime, **changes: Unpack[KeyChanges]) -> ApiKey:
    """The key with the changes. Raises KeyIsRevoked, UnknownScope, BadNetwork, BadMethod, and
    ActionRefused for an expiry that is past.
    """
    key = store.lock_key(key_id)
    if key.revoked_at is not None:
        raise KeyIsRevoked(f"{key} was revoked: it cannot be changed any more")
    for scope in changes.get("scopes", ()):
        if scope not in SCOPES:
            raise UnknownScope(f"unknown scope {scope!r}; there are {', '.join(SCOPES)}")
    if "networks" in changes:
        try:
            changes["networks"] = [str(read_network(text)) for text in changes["networks"]]
        except ValueError as error:
            raise BadNetwork(str(error)) from None
    if "methods" in changes:
        changes["methods"] = listed_methods(changes["methods"])
    expiry = changes.get("expires_at")
    if expiry is not None and expiry <= now:
        raise ActionRefused("the expiry is past: to end a key now, suspend or revoke it")
    for name, value in changes.items():
        setattr(key, name, value)
    if changes:
        key.save(update_fields=list(changes))
        key_changes.tell(key, KeyChange.EDITED, now=now)
    return key
