"""What an endpoint's terms ask of the host and the caller."""

from access.callers import Caller
from access.networks import contains
from gateway.hosts import ALL_IN_ONE, Host
from gateway.refusals import (
    AddressNotAllowed,
    KeyRequired,
    KeySuspended,
    PathNotServed,
    ScopeMissing,
    TierTooLow,
)
from gateway.terms import Terms


def require_served(host: Host, terms: Terms, path: str) -> None:
    """The host serves the endpoint at all. Raises PathNotServed."""
    if host is not ALL_IN_ONE and host.label not in terms.hosts:
        raise PathNotServed(host.label, path)


def require(host: Host, caller: Caller, terms: Terms, address: str) -> None:
    """The caller may use the endpoint on this host from this address: all of it, or the methods
    that ask for another right (scope_missing tells which). Raises KeyRequired or a Forbidden.
    """
    if caller.key_id is None:
        if terms.key_required:
            raise KeyRequired
        return
    if caller.suspended:
        raise KeySuspended
    if caller.networks and not contains(caller.networks, address):
        raise AddressNotAllowed(address)
    if terms.scope not in caller.scopes and caller.scopes.isdisjoint(terms.scopes.values()):
        raise ScopeMissing(terms.scope, sorted(caller.scopes))
    if caller.rank < host.rank:
        raise TierTooLow(host.tier or "", caller.tier)


def scope_missing(caller: Caller, terms: Terms, method: str) -> ScopeMissing | None:
    """The refusal of a method whose right the caller's key lacks."""
    scope = terms.scopes.get(method, terms.scope)
    if caller.key_id is None or scope in caller.scopes:
        return None
    return ScopeMissing(scope, sorted(caller.scopes))
