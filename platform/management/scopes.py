"""Scopes of management keys: what each resource's calls need."""

# Resource → whether it has calls that write. A write scope includes reading.
_RESOURCES = {
    "customers": True,
    "keys": True,
    "tiers": True,
    "members": True,
    "usage": False,
    "tips": True,
    "upstreams": True,
    "webhooks": True,
    "rules": True,
    "gaps": True,
    "alarms": True,
    "audit": False,
    "submissions": False,
}
SCOPES = tuple(
    f"{resource}:{verb}"
    for resource, writes in _RESOURCES.items()
    for verb in (("read", "write") if writes else ("read",))
)
# What the tokens of a customer's people may have: their own things, as in the portal.
CUSTOMER_SCOPES = (
    "customers:read",
    "keys:read",
    "keys:write",
    "members:read",
    "members:write",
    "usage:read",
    "webhooks:read",
    "webhooks:write",
    "rules:read",
    "rules:write",
    "submissions:read",
)
_OF_ROLES = {
    "owner": CUSTOMER_SCOPES,
    "developer": tuple(
        scope for scope in CUSTOMER_SCOPES if scope.endswith(":read") or scope == "keys:write"
    ),
}


def scopes_of(role: str) -> tuple[str, ...]:
    """The scopes that tokens of a member with the role may have; empty: none at all."""
    return _OF_ROLES.get(role, ())


def allows(held: list[str], needed: str) -> bool:
    """Whether scopes include the needed one; `keys:write` includes `keys:read`."""
    resource, _, verb = needed.partition(":")
    return needed in held or (verb == "read" and f"{resource}:write" in held)
