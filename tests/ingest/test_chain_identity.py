"""A stream is compared with the followed chain by its first blocks."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ingest.chain_identity import SameChain
from ingest.errors import AnotherBlock
from tests.ingest.made_chain import block
from tests.ingest.queued import closed

pytestmark = pytest.mark.django_db


def test_block_0_is_no_other_block_when_the_chain_becomes_known_meanwhile() -> None:
    """It names itself as its parent, with a blockhash of zeros."""
    first = closed(replace(block(0, height=0), previous_blockhash="1" * 32))
    known: Iterator[str | None] = iter([None, first.blockhash, first.blockhash])
    same = SameChain(None, lambda slot: next(known), lambda stream: False)
    assert not same.is_proved_by(2, first)
    assert same.is_proved_by(2, first)


def test_another_block_0_is_refused() -> None:
    first, other = closed(block(0, height=0)), closed(block(1, height=1))
    same = SameChain(None, lambda slot: other.blockhash, lambda stream: False)
    with pytest.raises(AnotherBlock):
        same.is_proved_by(2, first)
