"""The settings of the sign-in provider (OpenID Connect)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from config.environment.env import BadEnvironment

# staff.roles has them, too; settings are read before Django's models can be.
ROLES = ("viewer", "operator", "administrator")
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_DISCOVERY = "/.well-known/"


def require_whole(issuer: str, client_id: str, client_secret: str) -> None:
    """All of them or none, TLS to every issuer but one on this machine, and the issuer's own name
    (OpenID Connect Core, section 2). Raises BadEnvironment, which never shows the secret.
    """
    parts = urlsplit(issuer)
    if issuer and parts.scheme != "https" and parts.hostname not in _LOCAL:
        raise BadEnvironment("OIDC_ISSUER: expected https://")
    if parts.query or parts.fragment or "@" in parts.netloc or _DISCOVERY in parts.path:
        raise BadEnvironment(
            f"OIDC_ISSUER: expected https://host/path, without {_DISCOVERY}, a user, ? or #"
        )
    named = {
        "OIDC_ISSUER": issuer,
        "OIDC_CLIENT_ID": client_id,
        "OIDC_CLIENT_SECRET": client_secret,
    }
    missing = [name for name, value in named.items() if not value]
    if missing and len(missing) < len(named):
        raise BadEnvironment(f"{' and '.join(missing)}: expected, as the other OIDC settings are")


def staff_groups(items: Sequence[str]) -> dict[str, str]:
    """GROUP=ROLE each: the provider's groups and the roles that they give."""
    found: dict[str, str] = {}
    for item in items:
        group, role = (each.strip() for each in item.rpartition("=")[::2])
        if not group or role not in ROLES:
            raise BadEnvironment(
                f"OIDC_STAFF_GROUPS={item!r}: expected GROUP=ROLE, with a role of"
                f" {', '.join(ROLES)}"
            )
        if group in found:
            raise BadEnvironment(f"OIDC_STAFF_GROUPS: expected the group {group!r} once")
        found[group] = role
    return found


def requested_scopes(text: str) -> str:
    """Scopes, separated by spaces; without `openid` the provider would send no ID token."""
    scopes = text.split()
    if "openid" not in scopes:
        raise BadEnvironment(
            f"OIDC_SCOPES={text!r}: expected openid and other scopes, separated by spaces"
        )
    return " ".join(scopes)
