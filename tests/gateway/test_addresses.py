"""Whose address counts."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import addresses


@pytest.fixture
def proxies(settings) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8"), ip_network("::1")]
    addresses.is_trusted.cache_clear()
    yield
    addresses.is_trusted.cache_clear()


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "198.51.100.9", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", "198.51.100.9, 10.0.0.2", "198.51.100.9"),
        ("::1", "2001:db8::1", "2001:db8::1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.9, nonsense", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("", "198.51.100.9", ""),
    ],
)
def test_only_a_trusted_proxy_is_believed(
    proxies: None, peer: str, forwarded: str | None, client: str
) -> None:
    meta = {"REMOTE_ADDR": peer}
    if forwarded is not None:
        meta["HTTP_X_FORWARDED_FOR"] = forwarded
    assert addresses.client_address(meta) == client


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_header_can_break_it(forwarded: str, peer: str) -> None:
    meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}
    assert addresses.client_address(meta) == peer
