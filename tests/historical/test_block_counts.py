"""The counts of the ledger's runs of slots, held against its blocks."""

import random
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from historical.errors import BlockConflict
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from tests.rewind.samples import block

NOW = datetime(2026, 1, 31, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("empty_ledger")


def counted() -> list[tuple[int, int, int]]:
    """(run, blocks, skipped) by counting the blocks."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT slot / 1000, count(*), sum(greatest(slot - parent_slot - 1, 0))::bigint"
            " FROM historical_block GROUP BY 1 ORDER BY 1"
        )
        return list(cursor.fetchall())


def tallied() -> list[tuple[int, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT run, blocks, skipped FROM historical_blocktally ORDER BY run")
        return list(cursor.fetchall())


@pytest.mark.parametrize("seed", range(3))
def test_the_tally_is_the_truth_after_whatever_was_written_and_taken_out(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        first = chance.randrange(5_000)
        if chance.random() < 0.3:
            remove_blocks(first, first + chance.randrange(1_500))
            continue
        parent, blocks = first, []
        for _ in range(chance.randrange(1, 12)):
            slot = parent + chance.choice([1, 1, 1, 2, 40, 700])
            blocks.append(block(slot, parent, transactions=1))
            parent = slot
        try:
            if chance.random() < 0.1:
                with transaction.atomic():
                    record_blocks(blocks, now=NOW)
                    raise InterruptedError
            record_blocks(blocks, now=NOW)
        except (InterruptedError, BlockConflict):
            pass
    assert tallied() == counted() != []
    remove_blocks(0, 10_000)
    assert tallied() == []


def test_a_block_that_comes_again_is_counted_once() -> None:
    for _ in range(3):
        record_blocks([block(1_999), block(2_003, 1_999)], now=NOW)
    assert tallied() == [(1, 1, 0), (2, 1, 3)]


def test_links_of_any_length_fit() -> None:
    high = 2**62
    record_blocks([block(high, 0), block(high + 1, 1)], now=NOW)
    assert [(run, blocks) for run, blocks, _ in tallied()] == [(high // 1_000, 2)]
