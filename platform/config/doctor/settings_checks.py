"""Settings that are valid by themselves, but conflict or are unsafe on the internet."""

import difflib
import os
import re
from collections.abc import Iterator
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

from config.doctor.findings import Finding, error, note, ok, warning
from config.environment import env

# Networks that hold more addresses than this are no list of proxies.
_WIDEST = {4: 8, 6: 16}
_SIMILAR = 0.86


def of_settings() -> Iterator[Finding]:
    yield ok(f"All {len(_documented())} settings are valid.")
    for name, meant in _misspelt():
        yield warning(
            f"Unknown setting {name}. Did you mean {meant}?",
            "Rename it: it does not have any effect.",
        )
    if settings.DEBUG:
        show = error if _is_public() else warning
        yield show("DEBUG is on: errors show code and settings.", "Remove DEBUG.")
    if settings.LOCALNET and _is_public():
        yield warning(
            "The service follows localnet, but DOMAIN is a public name.",
            "Set UPSTREAM_RPC_URL and UPSTREAM_GEYSER_URL, or LOCALNET=false.",
        )
    if not settings.LOCALNET and settings.UPSTREAM_RPC_URL and not settings.UPSTREAM_GEYSER_URL:
        yield note(
            "Without a stream, the service fills the ledger but not the archive.",
            "Set UPSTREAM_GEYSER_URL for account changes, subscriptions and fast fates.",
        )
    if settings.UPSTREAM_GEYSER_URL and not settings.UPSTREAM_RPC_URL:
        yield warning(
            "Without a node, the service cannot identify the chain, and gaps stay open.",
            "Set UPSTREAM_RPC_URL, and FILL_RPC_URLS for more nodes.",
        )
    yield from _people()


def _people() -> Iterator[Finding]:
    if not _is_public():
        return
    if settings.WEBHOOKS_PRIVATE:
        yield warning(
            "Webhooks may use private addresses: customers can reach every host that this machine"
            " can.",
            "Remove WEBHOOKS_PRIVATE=true.",
        )
    if not settings.STAFF_TWO_FACTOR:
        yield note("Staff can sign in without a second factor.", "Set STAFF_TWO_FACTOR=true.")
    if not settings.STAFF_MAIL:
        yield note("Alarms are not mailed.", "Set STAFF_MAIL, or a webhook for alarms.")
    elif not settings.EMAIL_HOST:
        yield warning("STAFF_MAIL is set, but mails are written to files.", "Set EMAIL_URL.")


def of_proxy() -> Iterator[Finding]:
    trusted = settings.TRUSTED_PROXIES
    if settings.BEHIND_HTTPS and not trusted:
        yield error(
            "BEHIND_HTTPS is set without TRUSTED_PROXIES: all callers have the proxy's address, and"
            " share the limits of one address.",
            "Set TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1.",
        )
    for network in trusted:
        if _is_wide(network):
            yield error(
                f"TRUSTED_PROXIES contains {network}: callers from there can claim any address.",
                "List only the addresses of the proxies.",
            )
    if _is_public() and not settings.BEHIND_HTTPS:
        yield warning(
            f"DOMAIN is {settings.DOMAIN}, without TLS: keys and sign-in cookies are sent"
            " unencrypted.",
            "Put nginx, Caddy or HAProxy in front (deploy/), and set BEHIND_HTTPS=true.",
        )
    public = urlsplit(settings.PUBLIC_URL)
    if settings.BEHIND_HTTPS and public.scheme != "https":
        yield error(
            "BEHIND_HTTPS is set, but PUBLIC_URL is not https: links in mails will not work.",
            "Set PUBLIC_URL to the public https:// address.",
        )
    if not validate_host(public.hostname or "", settings.ALLOWED_HOSTS):
        yield error(
            f"The host of PUBLIC_URL, {public.hostname}, is not among ALLOWED_HOSTS.",
            "Add it, or set DOMAIN to this host or a parent domain of it.",
        )
    if settings.BEHIND_HTTPS and env.text("HOST", "127.0.0.1") in ("0.0.0.0", "::"):
        yield note(
            "The service listens on every address, so callers can bypass the proxy.",
            "If the proxy is on this machine, set HOST=127.0.0.1. Otherwise, use a firewall.",
        )
    names = ", ".join(map(str, trusted)) or "no address"
    yield ok(f"X-Forwarded-For is trusted from {names}.")


def _is_public() -> bool:
    return bool(settings.DOMAIN != "localhost")


def _is_wide(network: IPv4Network | IPv6Network) -> bool:
    return network.prefixlen < _WIDEST[network.version]


@cache
def _documented() -> frozenset[str]:
    """The names of docs/settings.md, which a test compares with the code."""
    page = (settings.ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[A-Z].*?) \|", page, re.MULTILINE)
    return frozenset(name for row in rows for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", row))


def _misspelt() -> Iterator[tuple[str, str]]:
    """Variables that are no setting, and the one that is not set which each resembles."""
    unset = sorted(_documented() - os.environ.keys())
    for name in sorted(os.environ.keys() - _documented()):
        if "_" in name and (close := difflib.get_close_matches(name, unset, 1, _SIMILAR)):
            yield name, close[0]
