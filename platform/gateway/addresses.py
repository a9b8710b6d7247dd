"""The client's address: the peer's, or the one that a trusted proxy names."""

import re
from functools import lru_cache
from typing import Any

from django.conf import settings

from access.networks import contains
from gateway.refusals import ForwardedAddressUnreadable
from webserver import address_groups

# `192.0.2.6:1234`, `[2001:db8::5]:443` and `[2001:db8::5]`: Azure's and others' form.
_WITH_PORT = re.compile(r"(?:([0-9.]+)|\[([0-9A-Fa-f.]*:[^\]]*)\])(?::[0-9]{1,5})?")


def client_address(meta: dict[str, Any]) -> str:
    """The address as text; empty when the server knows none (a unix socket without a proxy).

    `X-Forwarded-For` counts only if the peer is one of TRUSTED_PROXIES, and only back to the last
    address that is not: the client may have written what precedes it. Several fields are read as
    one list, joined by commas (RFC 9110, section 5.3). Raises ForwardedAddressUnreadable.
    """
    peer: str = meta.get("REMOTE_ADDR") or ""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR")
    if not forwarded or not is_trusted(peer):
        return peer
    found = peer
    for text in reversed(forwarded.split(",")):
        text = text.strip()
        if not text:  # empty elements of a list do not count (section 5.6.1)
            continue
        address = read_address(text)
        if address is None:
            raise ForwardedAddressUnreadable(text)
        found = address
        if not is_trusted(found):
            break
    return found


def read_address(text: str) -> str | None:
    """The IP address of an element of `X-Forwarded-For`, without its port and zone; None if it has
    none.
    """
    match = _WITH_PORT.fullmatch(text)
    if match is not None:
        text = match[1] or match[2]
    found = address_groups.read_address(text.partition("%")[0])
    return None if found is None else str(found)


@lru_cache(maxsize=4096)
def is_trusted(address: str) -> bool:
    """Whether the address is one of TRUSTED_PROXIES."""
    return contains(settings.TRUSTED_PROXIES, address)


def came_in_clear(meta: dict[str, Any]) -> bool:
    """Whether a trusted proxy reports that the client sent the request without TLS, where all
    clients use it (BEHIND_HTTPS).
    """
    scheme = meta.get("HTTP_X_FORWARDED_PROTO")
    if not settings.BEHIND_HTTPS or not scheme:
        return False
    # With several proxies in a row the first one names what the client used.
    first: str = scheme.partition(",")[0]
    return first.strip().lower() == "http" and is_trusted(meta.get("REMOTE_ADDR") or "")
