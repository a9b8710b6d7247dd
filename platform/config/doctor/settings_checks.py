"""Settings that are valid each, and do not fit together or the internet."""

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
            f"{name} is set and is no setting.",
            f"If {meant} is meant, rename it: it has no effect.",
        )
    if settings.DEBUG:
        show = error if _is_public() else warning
        yield show("DEBUG is on: errors show code and settings.", "Remove DEBUG.")
    if settings.LOCALNET and _is_public():
        yield warning(
            "localnet is followed, and DOMAIN is a public name.",
            "Set UPSTREAM_RPC_URL and UPSTREAM_GEYSER_URL, or LOCALNET=false.",
        )
    if not settings.LOCALNET and settings.UPSTREAM_RPC_URL and not settings.UPSTREAM_GEYSER_URL:
        yield note(
            "Only a node's JSON-RPC is followed: the ledger fills, the archive does not.",
            "Set UPSTREAM_GEYSER_URL for account changes, subscriptions and fast fates.",
        )
    if settings.UPSTREAM_GEYSER_URL and not settings.UPSTREAM_RPC_URL:
        yield warning(
            "A stream is followed without a node: the chain is not identified, gaps stay open.",
            "Set UPSTREAM_RPC_URL, and FILL_RPC_URLS for more nodes.",
        )
    yield from _people()


def _people() -> Iterator[Finding]:
    if not _is_public():
        return
    if settings.WEBHOOKS_PRIVATE:
        yield warning(
            "Webhooks may lead to private addresses: customers reach what this machine reaches.",
            "Remove WEBHOOKS_PRIVATE=true.",
        )
    if not settings.STAFF_TWO_FACTOR:
        yield note("Staff signs in without a second factor.", "Set STAFF_TWO_FACTOR=true.")
    if not settings.STAFF_MAIL:
        yield note("Alarms are mailed to no one.", "Set STAFF_MAIL, or a webhook for alarms.")
    elif not settings.EMAIL_HOST:
        yield warning("STAFF_MAIL is set, and mails are written to files.", "Set EMAIL_URL.")


def of_proxy() -> Iterator[Finding]:
    trusted = settings.TRUSTED_PROXIES
    if settings.BEHIND_HTTPS and not trusted:
        yield error(
            "BEHIND_HTTPS is set without TRUSTED_PROXIES: every caller has the proxy's address, and"
            " limits of an address hold for all of them together.",
            "Set TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1.",
        )
    for network in trusted:
        if _is_wide(network):
            yield error(
                f"TRUSTED_PROXIES has {network}: callers of it may claim any address.",
                "Name the proxies themselves.",
            )
    if _is_public() and not settings.BEHIND_HTTPS:
        yield warning(
            f"DOMAIN is {settings.DOMAIN} without TLS: keys are sent in the clear, sign-in cookies"
            " too.",
            "Put nginx, Caddy or HAProxy in front (deploy/), and set BEHIND_HTTPS=true.",
        )
    public = urlsplit(settings.PUBLIC_URL)
    if settings.BEHIND_HTTPS and public.scheme != "https":
        yield error(
            "PUBLIC_URL is not https, and BEHIND_HTTPS is set: links in mails lead astray.",
            "Set PUBLIC_URL to the address that people use, https://….",
        )
    if not validate_host(public.hostname or "", settings.ALLOWED_HOSTS):
        yield error(
            f"The host of PUBLIC_URL, {public.hostname}, is not among ALLOWED_HOSTS.",
            "Add it, or set DOMAIN to a name that it is at or below.",
        )
    if settings.BEHIND_HTTPS and env.text("HOST", "127.0.0.1") in ("0.0.0.0", "::"):
        yield note(
            "The service listens on every address, beside the proxy.",
            "Where the proxy is on this machine set HOST=127.0.0.1, else a firewall.",
        )
    names = ", ".join(map(str, trusted)) or "no one: callers are who connects"
    yield ok(f"X-Forwarded-For is believed from {names}.")


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
