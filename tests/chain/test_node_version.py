"""The rules of a node's versions."""

import pytest

from chain.commitment import TransactionEncoding
from chain.node_version import NEWEST, node_version, refuses_base58


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("4.4.0", "4.4.0"),
        ("4.4.1", "4.4.0"),
        ("5.0.0", "4.4.0"),
        ("4.3.7", "4.3.0"),
        ("4.2.1", "4.1.2"),
        ("4.2.2-beta", "4.2.2"),
        ("3.1.10", "4.1.2"),
        ("of our own", "4.4.0"),
        ("", "4.4.0"),
    ],
)
def test_a_version_has_the_rules_of_the_nearest_known_one_below(name: str, known: str) -> None:
    assert node_version(name).name == known


def test_base58_ends_where_transactions_of_version_1_begin() -> None:
    base58, binary = TransactionEncoding.BASE58, TransactionEncoding.BINARY
    for encoding in (base58, binary):
        assert [refuses_base58(NEWEST, encoding, each) for each in (None, 0, 1, 255)] == [
            False,
            False,
            True,
            True,
        ]
    assert not refuses_base58(NEWEST, TransactionEncoding.BASE64, 1)
    assert not refuses_base58(NEWEST, None, 1)
    assert not refuses_base58(node_version("4.2.2"), base58, 1)
