"""An endpoint's policy checked against the host and the caller."""

from datetime import UTC, datetime
from typing import Any

from rest_framework.permissions import BasePermission

from access.callers import Caller
from access.networks import contains
from access.origins import allows
from gateway.common_methods import common_methods
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import ALL_IN_ONE, Host
from gateway.refusals import (
    AddressNotAllowed,
    KeyRequired,
    KeySuspended,
    MethodNotAllowed,
    MonthlyQuotaReached,
    OriginNotAllowed,
    PathNotServed,
    Refusal,
    ScopeMissing,
    TierTooLow,
)


class ServedByHost(BasePermission):
    """The request's host serves an endpoint that admits everyone. Raises PathNotServed."""

    def has_permission(self, request: Any, view: Any) -> bool:
        require_served(request.host, view.policy, request.path_info)
        return True


def require_served(host: Host, policy: EndpointPolicy, path: str) -> None:
    """The host serves the endpoint at all. Raises PathNotServed."""
    if host is not ALL_IN_ONE and host.label not in policy.hosts:
        raise PathNotServed(host.label, path)


def require_standing(
    host: Host, caller: Caller, policy: EndpointPolicy, address: str, origin: str
) -> None:
    """The caller may use this host from this address, and from a page of this origin. Raises
    KeyRequired or a Forbidden.
    """
    if caller.key_id is None:
        if policy.key_required:
            raise KeyRequired
        return
    if caller.suspended:
        raise KeySuspended
    if caller.networks and not contains(caller.networks, address):
        raise AddressNotAllowed(address)
    if caller.origins and not allows(caller.origins, origin):
        raise OriginNotAllowed(origin)
    if caller.rank < host.rank:
        raise TierTooLow(host.tier or "", caller.tier)


def require_right(policy: EndpointPolicy, name: str, caller: Caller) -> None:
    """The caller may use the plain endpoint; `name` is the one under which its calls are counted.
    Raises a Forbidden or MonthlyQuotaReached.
    """
    if policy.scope:
        refusal = right_missing(caller, policy, name)
        if refusal is not None:
            raise refusal


def is_narrow(caller: Caller, policy: EndpointPolicy) -> bool:
    """Whether each method must be checked, since the caller may not call all of them."""
    return bool(policy.scopes) or caller.narrowed or policy.scope not in caller.scopes


def shut_out(caller: Caller, policy: EndpointPolicy) -> Refusal | None:
    """The refusal of every method that needs a right; None if the caller may call some."""
    spent = caller.month_spent
    if spent is not None and spent.resets_at > (now := datetime.now(UTC)):
        return MonthlyQuotaReached(spent, now)
    if policy.scope not in caller.scopes and caller.scopes.isdisjoint(policy.scopes.values()):
        return ScopeMissing(policy.scope, sorted(caller.scopes))
    return None


def right_missing(caller: Caller, policy: EndpointPolicy, method: str) -> Refusal | None:
    """The refusal of a method that the caller's key may not call. Common methods need no right."""
    if caller.key_id is None or common_methods.knows(method):
        return None
    refusal = shut_out(caller, policy)
    if refusal is not None:
        return refusal
    scope = policy.scopes.get(method, policy.scope)
    if scope not in caller.scopes:
        return ScopeMissing(scope, sorted(caller.scopes))
    if caller.methods is not None and method not in caller.methods:
        return MethodNotAllowed(method, sorted(caller.methods))
    return None
