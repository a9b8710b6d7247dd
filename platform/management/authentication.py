"""Who calls the management API, and whether they may: as DRF's classes."""

from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from access import windows
from access.callers import Quota
from access.networks import contains, read_network
from gateway.refusals import AddressNotAllowed, KeyRequired, ScopeMissing, TooManyRequests
from gateway.sent_keys import CHALLENGE
from management import store
from management.actors import Actor
from management.models import ManagementKey
from management.scopes import allows, scopes_of
from management.services import management_keys
from webserver.requests import KNOWN

# Of one key: 500 calls in 10 seconds.
_LIMIT = Quota(rate=50, burst=500)


class ManagementKeyAuthentication(BaseAuthentication):
    """`request.user` is the Actor, `request.auth` the ManagementKey. A key in the query is not
    accepted: addresses are logged.
    """

    def authenticate(self, request: Any) -> tuple[Actor, ManagementKey]:
        """Raises KeyRequired, KeyRefused and AddressNotAllowed."""
        header: str = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            raise KeyRequired
        secret = header[7:].strip() if header[:7].lower() == "bearer " else header
        now = timezone.now()
        key = management_keys.identify(secret, now=now)
        address = request.client_address
        if key.networks and not contains(tuple(map(read_network, key.networks)), address):
            raise AddressNotAllowed(address)
        request.META[KNOWN] = True
        store.note_use(key.pk, now, address or None)
        return Actor(key), key

    def authenticate_header(self, request: Any) -> str:
        return CHALLENGE


class HasScope(BasePermission):
    """The key has the scope of the call. Raises ScopeMissing."""

    def has_permission(self, request: Any, view: Any) -> bool:
        held = request.auth.scopes
        member = request.user.member
        if member is not None:
            held = [scope for scope in held if scope in scopes_of(member.role)]
        if not allows(held, view.scope):
            raise ScopeMissing(view.scope, held)
        return True


class KeyLimit(BaseThrottle):
    """The calls of one management key. Raises TooManyRequests."""

    def allow_request(self, request: Any, view: Any) -> bool:
        taken = windows.take("management", f"management key {request.auth.pk}", _LIMIT)
        if not taken.allowed:
            raise TooManyRequests(taken, 1)
        return True
