"""Host names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.hosts import ALL_IN_ONE, EVERY, Kind, host_of


@pytest.fixture(autouse=True)
def names(settings) -> None:
    settings.DOMAIN = "example.com"
    settings.ALLOWED_HOSTS = [".example.com", "localhost", "[::1]"]


@pytest.mark.parametrize("label", sorted(EVERY))
def test_every_tier_host_is_known(label: str) -> None:
    host = host_of(f"{label}.example.com:443")
    assert host is not None and host.label == label
    assert host.kind is Kind(label.partition(".")[2]) and host.tier == label.partition(".")[0]


def test_a_listed_host_that_is_no_tiers_serves_everything() -> None:
    for name in (
        "localhost",
        "LOCALHOST:8000",
        "[::1]",
        "[::1]:8000",
        "api.example.com",
        "example.com",
    ):
        assert host_of(name) is ALL_IN_ONE, name


def test_a_misspelt_tier_is_no_all_in_one_host() -> None:
    for name in (
        "gold.rpc.example.com",
        "epic.qos.example.com",
        "rpc.example.com",
        "other.org",
        "",
    ):
        assert host_of(name) is None, name


@given(st.text(max_size=80))
def test_no_header_can_break_it(header: str) -> None:
    host_of(header)
