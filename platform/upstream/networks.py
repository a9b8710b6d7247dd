"""Which IP addresses are of the public internet."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# IANA's special-purpose registries, multicast, reserved space, and a metadata service outside them.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's metadata service
        "169.254.0.0/16",  # link-local, with clouds' credentials
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays, given up
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# What is assigned to hosts at all, but for the networks below.
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocols' own: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_UNUSABLE_4 = tuple(
    IPv4Network(each) for each in ("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4")
)
_UNUSABLE_6 = tuple(IPv6Network(each) for each in ("::/128", "fe80::/10", "ff00::/8"))
# Networks whose addresses carry an IPv4 address, at this bit from the right: what is behind the
# translator counts.
_CARRIERS = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is a host's address of the public internet, as far as the address shows: not a
    private, local, shared, documentation, multicast or reserved one.
    """
    address = behind(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _GLOBAL_6 and not any(address in network for network in _NOT_PUBLIC_6)


def is_unusable(address: IPv4Address | IPv6Address) -> bool:
    """Whether no single machine of any network is there: multicast, broadcast, unspecified,
    link-local (where clouds keep credentials) and reserved addresses.
    """
    address = behind(address)
    if isinstance(address, IPv4Address):
        return any(address in network for network in _UNUSABLE_4)
    return any(address in network for network in _UNUSABLE_6)


def behind(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one leads to (mapped, NAT64, 6to4), or the address itself."""
    if isinstance(address, IPv6Address):
        for network, shift in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return address
