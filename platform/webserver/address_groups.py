"""Client addresses, and their groups for limits on connections and calls."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# What is no address is a client's text: no more of it is kept.
_LONGEST = 64


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address; one of IPv4 that is written as IPv6 counts as IPv4. None for other texts."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if found.version == 6 else None
    return mapped or found


@lru_cache(maxsize=8_192)
def holder_of(address: str) -> str:
    """The address itself, or in IPv6 the /64 that one subscriber has."""
    found = read_address(address)
    if found is None:
        return address[:_LONGEST]
    if found.version == 4:
        return str(found)
    return str(ip_network((int(found), 64), strict=False).network_address)
