"""Groups client addresses for limits on connections and calls."""

from functools import lru_cache
from ipaddress import ip_address, ip_network

# What is no address is a client's text: no more of it is kept.
_LONGEST = 64


@lru_cache(maxsize=8_192)
def holder_of(address: str) -> str:
    """The address itself, or in IPv6 the /64 that one subscriber has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:_LONGEST]
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)
