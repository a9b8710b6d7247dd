"""Baselines whose accounts are sealed: they are summed up as before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from rewind.baselines.errors import OtherAccounts
from rewind.baselines.models import Baseline
from rewind.models import AccountChange
from rewind.recording.store.partitions import PARTITION_SLOTS
from tests.ingest.test_snapshot_proofs import BASE, MORE, full, over
from tests.rewind.samples import block
from tests.rewind.sealed_forms import seal
from tests.upstream.test_snapshots import account, entry


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, bytes], None]:
    def run(name: str, content: bytes) -> None:
        path = tmp_path / name
        path.write_bytes(content)
        call_command("import_snapshot", str(path), verbosity=0)

    return run


def test_an_increment_goes_over_a_base_that_is_sealed(
    committed: None, record: Any, put: Any
) -> None:
    put("snapshot-90-x.tar", full(BASE))
    record(block(200), block(3 * PARTITION_SLOTS, parent=200))
    seal(half=True)
    assert not AccountChange.objects.exists()
    put("incremental-snapshot-90-95-x.tar", over(BASE, MORE))
    put("snapshot-90-x.tar", full(BASE))
    assert [each.proven for each in Baseline.objects.all()] == [True, True]


def test_a_sealed_base_is_compared(committed: None, record: Any, put: Any) -> None:
    put("snapshot-90-x.tar", full({"90.1": BASE["90.1"] + entry(account(5))}))
    record(block(200), block(3 * PARTITION_SLOTS, parent=200))
    seal(half=True)
    with pytest.raises(CommandError) as refusal:
        put("snapshot-90-y.tar", full(BASE))
    assert isinstance(refusal.value.__cause__, OtherAccounts)
    Baseline.objects.update(lattice=None, proven=False)
    put("snapshot-90-x.tar", full({"90.1": BASE["90.1"] + entry(account(5))}))
    assert Baseline.objects.get().proven
