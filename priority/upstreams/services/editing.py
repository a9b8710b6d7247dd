"""Adding and changing upstreams, by the admin and by the management API."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from access.models import Tier
from priority.submissions import BUNDLE_NAME
from priority.upstreams import store
from priority.upstreams.models import Upstream
from upstream.block_engine import GRPC_URLS

Kind = Upstream.Kind


def derived_url(kind: str) -> str:
    """The URL of an upstream without one of its own; empty if there is none."""
    if kind != Kind.BLOCK_ENGINE:
        return settings.UPSTREAM_RPC_URL
    if not settings.LOCALNET:
        return ""
    return f"http://{settings.LOCALNET_HOST}:{settings.LOCALNET_BLOCK_ENGINE_PORT}"


def why_no_url(kind: str) -> str:
    """Why an upstream of the kind needs a URL of its own."""
    if kind == Kind.BLOCK_ENGINE:
        return "The followed chain has no block engine: enter the engine's URL"
    return "No node is followed (UPSTREAM_RPC_URL is empty): enter the node's URL"


def checked_name(name: str, *, but: int | None) -> str:
    """The name in lower case: callers choose by it in either case. `but` is the upstream's own id.
    Raises ValidationError.
    """
    name = name.lower()
    if name == BUNDLE_NAME:
        raise ValidationError(
            f"“{BUNDLE_NAME}” stands for every block engine in a caller's selection:"
            " choose another name"
        )
    if store.is_taken(name, but=but):
        raise ValidationError(f"There is an upstream named “{name}” already")
    return name


def checked_url(url: str) -> str:
    """The URL without a slash at its end; empty stays empty. Raises ValidationError."""
    url = url.strip().rstrip("/")
    if not url:
        return url
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https", "grpc", "grpcs"} and bool(parts.hostname)
        is_good = is_good and (parts.port is None or parts.port > 0)
        if url.startswith(GRPC_URLS):
            is_good = is_good and not (parts.path or parts.query or parts.username)
    except ValueError:
        is_good = False
    if not is_good:
        raise ValidationError(
            "Expected http://host:port or https://host/path; grpc://host:port or"
            " grpcs://host:port for a block engine's gRPC"
        )
    return url


def problems(*, kind: str, url: str | None, own_tip_lamports: int | None) -> dict[str, str]:
    """Field → why an upstream could not work so; None is a value that is not valid itself."""
    found = {}
    if url is not None and not url and not derived_url(kind):
        found["url"] = why_no_url(kind)
    if kind != Kind.BLOCK_ENGINE and (url or "").startswith(GRPC_URLS):
        found["url"] = "Only block engines are called by gRPC: enter http:// or https://"
    if kind != Kind.BLOCK_ENGINE and own_tip_lamports:
        found["own_tip_lamports"] = "Only block engines are tipped: set it to 0"
    return found


@transaction.atomic
def save_upstream(upstream: Upstream, tiers: Sequence[Tier] | None = None) -> None:
    """Stores a new or changed upstream, and the tiers that it serves. Landers follow within two
    seconds. Raises ValidationError.
    """
    found: dict[str, Any] = {}
    try:
        upstream.name = checked_name(upstream.name, but=upstream.pk)
    except ValidationError as problem:
        found["name"] = problem
    try:
        upstream.url = checked_url(upstream.url)
    except ValidationError as problem:
        found["url"] = problem
    url = None if "url" in found else upstream.url
    found |= problems(kind=upstream.kind, url=url, own_tip_lamports=upstream.own_tip_lamports)
    if found:
        raise ValidationError(found)
    upstream.full_clean()
    upstream.save()
    if tiers is not None:
        upstream.tiers.set(tiers)
