"""CIDR texts → networks."""

from ipaddress import ip_network

from access.callers import Network
from webserver.address_groups import read_address


def read_network(text: str) -> Network:
    """A network of `10.0.0.0/8`, `2001:db8::/32` or a single address; raises ValueError."""
    return ip_network(text.strip(), strict=False)


def contains(networks: tuple[Network, ...], address: str) -> bool:
    """Is the address in one of the networks?"""
    found = read_address(address)
    return found is not None and any(
        found.version == network.version and found in network for network in networks
    )


def shown_network(address: str) -> str:
    """Where a call came from, without the host: 203.0.113.0/24, 2001:db8:1234::/48; "" if the
    server does not know the address.
    """
    found = read_address(address)
    if found is None:
        return ""
    return str(ip_network(f"{found}/{24 if found.version == 4 else 48}", strict=False))
