"""Where a webhook may lead: URLs and addresses are judged before anything is connected to."""

import ipaddress
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import quote, urlsplit

from alerts.errors import BadAddress

MOST_CHARACTERS = 500
_PORTS = {"http": 80, "https": 443}
# Networks whose addresses carry an IPv4 address, at this bit from the right: what is behind the
# translator counts.
_CARRIERS = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),
    (ipaddress.IPv6Network("2002::/16"), 80),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL's parts, as a request needs them; the host in ASCII."""

    tls: bool
    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Place:
    """One address that a name led to, ready for a socket."""

    family: int
    sockaddr: Any
    text: str


def read_url(url: str) -> Target:
    """The parts of an http or https URL. Raises BadAddress; its text repeats no credentials."""
    if len(url) > MOST_CHARACTERS:
        raise BadAddress(f"The URL is longer than {MOST_CHARACTERS} characters")
    if not url or any(character <= " " or character == "\x7f" for character in url):
        raise BadAddress("The URL is empty or has a blank in it: write https://host/path")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadAddress("Not a URL: its host or port cannot be read") from None
    if parts.scheme not in _PORTS:
        raise BadAddress("The URL has to begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("A user name or password in the URL is not sent: leave it out")
    if "\\" in parts.netloc or port == 0:
        raise BadAddress("Not a URL: its host or port cannot be read")
    query = f"?{parts.query}" if parts.query else ""
    path = quote(f"{parts.path or '/'}{query}", safe="/%:@!$&'()*+,;=~-._?[]")
    return Target(parts.scheme == "https", _ascii(host), port or _PORTS[parts.scheme], path)


def host_of(url: str) -> str:
    """The URL's host and port, as they stand there: what can be shown to everybody."""
    return urlsplit(url).netloc.rpartition("@")[2]


def check_url(url: str, *, private_allowed: bool) -> None:
    """Raises BadAddress for what can be refused without a look-up: bad URLs, addresses written as
    numbers in whatever form, and the machine's own name. Names are judged when they are posted to.
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
    _judged(target.host, found, private_allowed=private_allowed)


def look_up(target: Target, *, private_allowed: bool) -> list[Place]:
    """The addresses behind the host, every one of them allowed. Raises BadAddress when one is not,
    and OSError (gaierror) when the name is not found.
    """
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return _judged(target.host, found, private_allowed=private_allowed)


def _judged(host: str, found: list[Any], *, private_allowed: bool) -> list[Place]:
    places = []
    for family, _kind, _protocol, _name, sockaddr in found:
        text = str(sockaddr[0])
        reason = why_refused(ipaddress.ip_address(text), private_allowed=private_allowed)
        if reason is not None:
            leads = "" if host == text else f"{host} leads to "
            raise BadAddress(f"{leads}{text}, {reason}: webhooks may not reach it")
        places.append(Place(family, sockaddr, text))
    return places


def why_refused(address: IPv4Address | IPv6Address, *, private_allowed: bool) -> str | None:
    """What the address is that nothing may be posted to it, or None."""
    address = _carried(address)
    if address.is_multicast:
        return "an address of many machines (multicast)"
    if address.is_unspecified:
        return "no address of a machine"
    if address.is_link_local:
        # Cloud machines find their credentials at such an address: nobody's webhook is there.
        return "a link-local address"
    if private_allowed:
        return None
    if address.is_loopback:
        return "this machine itself"
    if not address.is_global or address.is_reserved or getattr(address, "is_site_local", False):
        return "an address of a private or reserved network"
    return None


def _carried(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address):
        for network, shift in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return address


def _ascii(host: str) -> str:
    if not host:
        raise BadAddress("The URL names no host: write https://host/path")
    if ":" in host:  # IPv6, which urlsplit has looked at
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise BadAddress("The URL's host is no name of a machine") from None
