"""Checks of webhook URLs and the addresses behind them, before any connection is made."""

import ipaddress
import socket
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

from alerts.errors import BadAddress
from upstream.http import errors, requests
from upstream.http.client import Place
from upstream.http.requests import Address
from upstream.networks import behind, is_public

MOST_CHARACTERS = 500
# Never allowed. Cloud instances read their credentials from metadata services; two of these are
# outside every reserved network, or inside one that a private installation uses.
_NEVER = {
    "the address of a cloud's metadata service": (
        "168.63.129.16/32",  # Azure
        "100.100.100.200/32",  # Alibaba
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # Amazon
        "fd00:c1::a9fe:a9fe/128",  # Oracle
        "fd20:ce::254/128",  # Google
    ),
    # Includes 169.254.169.254.
    "a link-local address": ("169.254.0.0/16", "fe80::/10"),
    "an address of many machines (multicast)": ("224.0.0.0/4", "ff00::/8"),
    "no address of a machine": ("0.0.0.0/8", "255.255.255.255/32", "::/128"),
    "an address of a reserved network": ("192.88.99.0/24", "3fff::/20"),
}
_FORBIDDEN = [(ipaddress.ip_network(n), why) for why, listed in _NEVER.items() for n in listed]

_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_LOCAL_TRANSLATION = ipaddress.IPv6Network("64:ff9b:1::/48")
_TEREDO = ipaddress.IPv6Network("2001::/32")


def read_url(url: str) -> Address:
    """The parts of an http or https URL. Raises BadAddress; its text repeats no credentials."""
    if len(url) > MOST_CHARACTERS:
        raise BadAddress(f"The URL is longer than {MOST_CHARACTERS} characters")
    if not url or any(character <= " " or character == "\x7f" for character in url):
        raise BadAddress("The URL is empty or has a blank in it: write https://host/path")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress("Not a URL: its host or port cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise BadAddress("The URL has to begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("A user name or password in the URL is not sent: leave it out")
    if "\\" in parts.netloc or port == 0:
        raise BadAddress("Not a URL: its host or port cannot be read")
    if not parts.hostname:
        raise BadAddress("The URL names no host: write https://host/path")
    try:
        return requests.read_url(url)
    except errors.BadAddress:
        raise BadAddress("The URL's host is not a valid host name") from None


def host_of(url: str) -> str:
    """The URL's host and port as written, without credentials."""
    return urlsplit(url).netloc.rpartition("@")[2]


def check_url(url: str, *, private_allowed: bool) -> None:
    """Raises BadAddress for bad URLs, forbidden numeric addresses and localhost. Other names are
    checked before each post.
    """
    target = read_url(url)
    name = target.host.rstrip(".").lower()
    if not private_allowed and (name == "localhost" or name.endswith(".localhost")):
        raise BadAddress(f"{target.host} is this machine itself, which webhooks may not reach")
    try:
        found = socket.getaddrinfo(
            target.host, target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except OSError:
        return
    _checked(target.host, found, private_allowed=private_allowed)


def resolve(target: Address, *, private_allowed: bool) -> list[Place]:
    """The addresses of the host. Raises BadAddress if any of them is not allowed, and OSError
    (gaierror) if the name is not found.
    """
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return _checked(target.host, found, private_allowed=private_allowed)


def _checked(host: str, found: list[Any], *, private_allowed: bool) -> list[Place]:
    checked = []
    for family, _kind, _protocol, _name, sockaddr in found:
        text = str(sockaddr[0])
        reason = why_refused(ipaddress.ip_address(text), private_allowed=private_allowed)
        if reason is not None:
            leads = "" if host == text else f"{host} leads to "
            raise BadAddress(f"{leads}{text}, {reason}: webhooks may not reach it")
        checked.append(Place(family, sockaddr))
    return checked


def why_refused(address: IPv4Address | IPv6Address, *, private_allowed: bool) -> str | None:
    """Why nothing may be posted to the address, or None. An IPv6 address that translates an IPv4
    address is checked as the IPv4 address.
    """
    embedded, transparent = _embedded(address)
    # A translated address is checked by the embedded one only, others by themselves too.
    for each in embedded if transparent else (address, *embedded):
        for network, why in _FORBIDDEN:
            if each in network:
                return why
    if private_allowed:
        return None
    for each in embedded if transparent else (address,):
        if each.is_loopback:
            return "this machine itself"
        if not is_public(each):
            return "an address of a private or reserved network"
    return None


def _embedded(address: IPv4Address | IPv6Address) -> tuple[list[IPv4Address], bool]:
    """The IPv4 addresses that an IPv6 address may embed, and whether it is a mere translation."""
    if isinstance(address, IPv4Address):
        return [], False
    translated = behind(address)
    if isinstance(translated, IPv4Address):
        return [translated], True
    number = int(address)
    if address in _IPV4_COMPATIBLE and number > 1:  # not :: and ::1
        return [IPv4Address(number)], False
    if address in _TEREDO:
        return [IPv4Address(~number & 0xFFFFFFFF), IPv4Address(number >> 64 & 0xFFFFFFFF)], False
    if address in _LOCAL_TRANSLATION:
        return _embedded_by_rfc_6052(number), False
    return [], False


def _embedded_by_rfc_6052(number: int) -> list[IPv4Address]:
    """The IPv4 addresses that an address with a local translation prefix may embed: for prefixes of
    96, 64, 56 and 48 bits. Bits 64 to 71 are not part of it.
    """
    joined = number >> 64 << 56 | number & (1 << 56) - 1
    found = [IPv4Address(number & 0xFFFFFFFF)]
    found += [IPv4Address(joined >> 88 - prefix & 0xFFFFFFFF) for prefix in (64, 56, 48)]
    return [each for each in found if each.packed[0]]  # 0.x.x.x are the zeros around it
