"""Ten thousand altered transactions in files and in nodes' answers: none is served."""

import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from chain.encodings import b58encode
from chain.signed import Signatures
from historical.models import Block, Transaction
from ingest.errors import ImportRefused
from ingest.services.imports import import_file
from tests.altered import ALTERATIONS, altered, getblock_result, made
from tests.ingest.block_nodes import node_of
from tests.ingest.test_import_blocks import empty_ledger
from tests.ingest.test_signed_history import SLOT, fill, no_chain

__all__ = ["empty_ledger", "no_chain"]
pytestmark = [pytest.mark.soak, pytest.mark.django_db]
EXAMPLES = int(os.environ.get("SOAK_EXAMPLES", "10000"))


@pytest.mark.usefixtures("empty_ledger", "no_chain")
def test_none_of_a_file_is_imported(tmp_path: Path) -> None:
    chance, tried = Random(36), Counter[str]()
    path = tmp_path / "block.json"
    for number in range(EXAMPLES // 2):
        block, at, kind, signature = _altered_block(chance)
        path.write_text(json.dumps([{"result": block}]))
        with pytest.raises(ImportRefused) as refused:
            import_file(
                path,
                slot=SLOT,
                genesis_hash="a chain",
                now=timezone.now,
                progress=lambda read, size: None,
                signatures=Signatures.REFUSE,
            )
        assert f"transactions[{at}] ({signature})" in refused.value.reason, (number, kind)
        tried[kind] += 1
    assert not Block.objects.exists() and not Transaction.objects.exists()
    print(f"{sum(tried.values()):,} altered transactions in files: {dict(tried)}")


@pytest.mark.usefixtures("empty_ledger", "no_chain")
def test_none_of_a_node_is_stored(settings: Any) -> None:
    chance, tried = Random(37), Counter[str]()
    blocks: dict[int, Any] = {}
    with node_of(blocks) as url:
        for number in range(EXAMPLES // 2):
            blocks[SLOT], at, kind, _ = _altered_block(chance)
            left = fill(url, settings=settings)
            assert left is not None, (number, kind)
            assert f"transactions[{at}]" in str(left.history[-1]), (number, kind)
            tried[kind] += 1
    assert not Block.objects.exists() and not Transaction.objects.exists()
    print(f"{sum(tried.values()):,} altered transactions of a node: {dict(tried)}")


def _altered_block(chance: Random) -> tuple[dict[str, Any], int, str, str]:
    """A block of three transactions, which of them is altered, how, and its first signature."""
    held, at = [made(chance) for _ in range(3)], chance.randrange(3)
    kind = chance.choice(sorted(ALTERATIONS))
    held[at] = altered(held[at], kind, chance)
    return getblock_result(SLOT, held), at, kind, b58encode(held[at].signatures[0])
