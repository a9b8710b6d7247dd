"""A bit of each field of each account of the real snapshots is flipped, one after the other: each
file is refused by manage.py import_snapshot, and nothing of it is imported.

SOAK_SEED says which bits.
"""

import os
import random
from pathlib import Path

import pytest
from django.db import transaction

from rewind.baselines.errors import WrongSum
from tests.ingest.test_snapshot_chains import fixture
from tests.ingest.test_snapshot_proofs import covered, members, no_node, packed, refused, run

__all__ = ["no_node"]

pytestmark = [pytest.mark.soak, pytest.mark.django_db]


@pytest.mark.parametrize("start", ["snapshot-1", "incremental-snapshot-1-4"])
def test_a_flipped_bit_in_every_account_is_refused(
    fixtures: Path, tmp_path: Path, start: str
) -> None:
    chance = random.Random(int(os.environ.get("SOAK_SEED", "1")))
    path = fixture(fixtures, start)
    whole = members(path)
    changed = tmp_path / path.name.removesuffix(".zst")
    fields = by_sum = 0
    with transaction.atomic():
        if start.startswith("incremental"):
            run(fixture(fixtures, "snapshot-1"))
        for number, (name, content) in enumerate(whole):
            for first, length in covered(content) if name.startswith("accounts/") else ():
                at = first + chance.randrange(length)
                bit = bytes([content[at] ^ (1 << chance.randrange(8))])
                damaged = name, content[:at] + bit + content[at + 1 :]
                changed.write_bytes(packed([*whole[:number], damaged, *whole[number + 1 :]]))
                by_sum += isinstance(refused(changed), WrongSum)
                fields += 1
        transaction.set_rollback(True)
    # Lamports are missed by the capitalization first, and of `executable` other bits are no bool.
    print(f"\n{fields} fields of accounts of {path.name}: all refused, {by_sum} by their sum")
    assert by_sum
