"""Which addresses are of the public internet, in whatever form they are written."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstream.networks import is_public, is_unusable

PUBLIC = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.88.98.255",
    "192.88.100.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2001:200::1",
    "3ffe::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::808:808",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:0:808:808::f7f7:f7f7",
    "2001:2::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:a00:1::",
    "2002:7f00:1::",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_of_the_internet_is_public(text: str) -> None:
    assert is_public(ip_address(text))
    assert not is_unusable(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_any_other_one_is_not(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["169.254.169.254", "224.0.0.1", "0.0.0.0", "::", "fe80::1"])
def test_some_are_of_no_single_machine(text: str) -> None:
    assert is_unusable(ip_address(text))
    assert not is_unusable(ip_address("127.0.0.1")) and not is_unusable(ip_address("10.0.0.1"))


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_judged_alike_in_every_form(number: int) -> None:
    plain = is_public(IPv4Address(number))
    for text in ("::ffff:0:0", "64:ff9b::", "::ffff:0:0:0"):
        assert is_public(IPv6Address(int(IPv6Address(text)) + number)) is plain
    assert is_public(IPv6Address(0x2002 << 112 | number << 80)) is plain
    assert not plain or IPv4Address(number).is_global


@given(st.integers(0, 2**128 - 1))
def test_nothing_is_public_that_the_standard_library_calls_private(number: int) -> None:
    address = IPv6Address(number)
    assert not is_public(address) or address.is_global or address.sixtofour or address.ipv4_mapped
