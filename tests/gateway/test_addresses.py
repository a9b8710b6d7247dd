"""Whose address counts."""

from ipaddress import ip_address, ip_network

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from gateway import addresses
from gateway.refusals import ForwardedAddressUnreadable


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
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("10.0.0.1", "nonsense, 198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", " , 198.51.100.9 ,, ", "198.51.100.9"),
        ("10.0.0.1", " , ", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.6:1234", "192.0.2.6"),
        ("10.0.0.1", "[2001:db8::5]:443", "2001:db8::5"),
        ("10.0.0.1", "[2001:db8::5]", "2001:db8::5"),
        ("10.0.0.1", "192.0.2.6:1234, 10.0.0.2:9", "192.0.2.6"),
        ("10.0.0.1", "::ffff:192.0.2.6", "192.0.2.6"),
        ("10.0.0.1", "192.0.2.6, ::ffff:10.0.0.2", "192.0.2.6"),
        ("10.0.0.1", "fe80::5%eth0", "fe80::5"),
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


@pytest.mark.parametrize(
    ("forwarded", "found"),
    [
        ("nonsense", "nonsense"),
        ("unknown", "unknown"),
        ("198.51.100.9, nonsense", "nonsense"),
        ("nonsense, 10.0.0.2", "nonsense"),
        ("192.0.2.6:", "192.0.2.6:"),
        ("192.0.2.6:x", "192.0.2.6:x"),
        ("192.0.2.6:1234567", "192.0.2.6:1234567"),
        ("[192.0.2.6]:80", "[192.0.2.6]:80"),
        ("[2001:db8::5", "[2001:db8::5"),
        ("2001:db8::5]:443", "2001:db8::5]:443"),
        ("for=192.0.2.6", "for=192.0.2.6"),
        ("x" * 1_000, "x" * 100),
    ],
)
def test_what_is_no_address_is_refused(proxies: None, forwarded: str, found: str) -> None:
    meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": forwarded}
    with pytest.raises(ForwardedAddressUnreadable) as refusal:
        addresses.client_address(meta)
    assert refusal.value.data["found"] == found


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_header_can_break_it(forwarded: str, peer: str) -> None:
    meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}
    assert addresses.client_address(meta) == peer


def _written(address: str, form: int) -> str:
    """The address as proxies write it."""
    if ":" in address:
        return (address, f"[{address}]", f"[{address}]:443", f" {address}\t")[form]
    return (address, f"{address}:1", f" {address}:65535 ", f"::ffff:{address}")[form]


_ADDRESSES = st.ip_addresses(v=4).map(str) | st.ip_addresses(v=6, network="2001:db8::/32").map(str)
_FORMS = st.integers(0, 3)


@given(
    st.text(max_size=60),
    _ADDRESSES.filter(lambda address: not address.startswith("10.")),
    _FORMS,
    st.lists(st.tuples(st.ip_addresses(v=4, network="10.0.0.0/8").map(str), _FORMS), max_size=4),
)
def test_the_last_untrusted_address_counts_in_any_form(
    before: str, client: str, form: int, hops: list[tuple[str, int]]
) -> None:
    """Whatever the client wrote itself, and however many trusted proxies follow."""
    elements = [before, _written(client, form), *(_written(hop, each) for hop, each in hops)]
    meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": ",".join(elements)}
    with override_settings(TRUSTED_PROXIES=[ip_network("10.0.0.0/8")]):
        addresses.is_trusted.cache_clear()
        try:
            assert addresses.client_address(meta) == client
        finally:
            addresses.is_trusted.cache_clear()


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_none(text: str) -> None:
    found = addresses.read_address(text)
    assert found is None or str(ip_address(found)) == found
