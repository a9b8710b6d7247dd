"""CIDR texts → networks."""

from ipaddress import ip_address, ip_network

from access.callers import Network


def read_network(text: str) -> Network:
    """A network of `10.0.0.0/8`, `2001:db8::/32` or a single address; raises ValueError."""
    return ip_network(text.strip(), strict=False)


def contains(networks: tuple[Network, ...], address: str) -> bool:
    """Is the address in one of the networks? An IPv4 address written as IPv6 counts as IPv4."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found.version == network.version and found in network for network in networks)


def shown_network(address: str) -> str:
    """Where a call came from, without the host: 203.0.113.0/24, 2001:db8:1234::/48; "" if the
    server does not know the address.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(ip_network(f"{found}/{24 if found.version == 4 else 48}", strict=False))
