"""The demo accounts of a new installation: an admin, a key for each tier, a user of the portal, and
the file with their secrets.
"""

import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from access import store
from access.errors import ActionRefused, KeyMalformed, KeyRefused, KeyUnknown
from access.services import keys
from portal.models import Member
from portal.services import members

DEMO_TIERS = ("basic", "ultra", "elite", "epic")
_ADMIN = "admin"
_CUSTOMER = "Demo"
_MEMBER = "demo@localhost"


class BadCredentialsFile(Exception):
    """credentials.json cannot be read; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class AdminLogin:
    """Where and how to sign in to the admin."""

    url: str
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class PortalLogin:
    """Where and how to sign in to the portal, as an owner of the demo customer."""

    url: str
    email: str
    password: str


@dataclass(frozen=True, slots=True)
class Credentials:
    """The content of credentials.json: api_keys by tier name."""

    base_url: str
    admin: AdminLogin
    portal: PortalLogin
    api_keys: dict[str, str]


def ensure_credentials(run_dir: Path, base_url: str) -> Credentials:
    """The credentials of the last run, checked against the database, with new ones for what it does
    not know. Secrets are not in the database: the file (mode 600) is the only place that has them.
    Raises BadCredentialsFile.
    """
    path = run_dir / "credentials.json"
    known = _read(path)
    credentials = Credentials(
        base_url=base_url,
        admin=_ensure_admin(f"{base_url}/admin/", str(known.get("admin", {}).get("password", ""))),
        portal=_ensure_member(
            f"{base_url}/portal/", str(known.get("portal", {}).get("password", ""))
        ),
        api_keys={
            tier: _ensure_key(tier, str(known.get("api_keys", {}).get(tier, "")))
            for tier in DEMO_TIERS
        },
    )
    _write(path, credentials)
    return credentials


def _ensure_admin(url: str, password: str) -> AdminLogin:
    users = get_user_model().objects
    user = users.filter(username=_ADMIN).first()
    if user is not None and password:
        # A password that was changed since stays; the file keeps the first one.
        return AdminLogin(url, _ADMIN, password)
    password = password or secrets.token_urlsafe(12)
    if user is None:
        users.create_superuser(_ADMIN, password=password)
    else:
        user.set_password(password)
        user.save(update_fields=["password"])
    return AdminLogin(url, _ADMIN, password)


def _ensure_member(url: str, password: str) -> PortalLogin:
    """As for the admin. A user of that name who is not a member of the portal stays unchanged, and
    a customer with the maximum of members gets no further one: then there is no password.
    """
    customer = store.customer_by_name(_CUSTOMER)
    user = get_user_model().objects.filter(username=_MEMBER).first()
    if user is not None and (password or not Member.objects.filter(user=user).exists()):
        return PortalLogin(url, _MEMBER, password)
    password = password or secrets.token_urlsafe(12)
    if user is None:
        try:
            user = members.invite(customer, email=_MEMBER, role=Member.Role.OWNER).user
        except ActionRefused:
            return PortalLogin(url, _MEMBER, "")
    user.set_password(password)
    user.save(update_fields=["password"])
    return PortalLogin(url, _MEMBER, password)


def _ensure_key(tier_name: str, secret: str) -> str:
    try:
        keys.identify(secret, now=timezone.now())
    except (KeyMalformed, KeyUnknown):
        pass  # no file, or the file of another database
    except KeyRefused:
        return secret  # revoked by someone who meant it
    else:
        return secret
    tier = store.tier_by_name(tier_name)
    if tier is None:
        return ""  # someone removed the tier
    customer, name, now = store.customer_by_name(_CUSTOMER), f"demo {tier_name}", timezone.now()
    with transaction.atomic():
        # The secrets of a lost file may be known to others: revoke its keys.
        for lost in customer.keys.filter(name=name, revoked_at__isnull=True):
            keys.revoke_key(lost.pk, now=now)
        return keys.issue_key(customer, tier=tier, name=name).secret


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadCredentialsFile(f"{path}: {error}; remove it to get new credentials") from None
    sections = (known.get(name, {}) for name in ("admin", "portal", "api_keys")) if known else ()
    if not isinstance(known, dict) or not all(isinstance(section, dict) for section in sections):
        raise BadCredentialsFile(f"{path}: not as we wrote it; remove it to get new credentials")
    return known


def _write(path: Path, credentials: Credentials) -> None:
    """At once or not at all: a run that is killed here must not lose the only copy."""
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(credentials), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
