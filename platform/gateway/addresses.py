"""The client's address: the peer's, or what a trusted proxy says."""

from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from django.conf import settings

from access.networks import contains


def client_address(meta: dict[str, Any]) -> str:
    """The address as text; empty when the server knows none (a unix socket without a proxy).

    `X-Forwarded-For` counts only when the peer is one of TRUSTED_PROXIES, and only back to the
    last address that is not: what stands before it, the client may have written itself.
    """
    peer: str = meta.get("REMOTE_ADDR") or ""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR")
    if not forwarded or not is_trusted(peer):
        return peer
    found = peer
    for text in reversed(forwarded.split(",")):
        try:
            found = str(ip_address(text.strip()))
        except ValueError:
            return found
        if not is_trusted(found):
            return found
    return found


@lru_cache(maxsize=4096)
def is_trusted(address: str) -> bool:
    """Whether the address is one of TRUSTED_PROXIES."""
    return contains(settings.TRUSTED_PROXIES, address)
