"""What real validators sent, recorded with their own bank hashes: behind each of their snapshots
every slot is proven, with exactly these hashes.
"""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import call_command
from django.utils import timezone
from solders.hash import Hash

from chain.epochs import EpochSchedule
from chain.units import Slot
from ingest import slot_queue
from ingest.services.slots import ingest_waiting
from rewind.baseline_models import Baseline
from rewind.models import ArchivedSlot
from rewind.services import epochs, proving
from rewind.store import slot_proofs
from tests.ingest.test_snapshot_chains import no_node
from tests.recordings import closed_slots
from tests.rewind.test_running_proof import proven

__all__ = ["no_node"]

pytestmark = [pytest.mark.soak, pytest.mark.django_db]


@pytest.mark.usefixtures("empty_redis", "empty_ledger")
@pytest.mark.parametrize(
    ("version", "slot"), [("4.1.2", 200), ("4.1.2", 300), ("4.4.0", 600), ("4.4.0", 700)]
)
def test_every_slot_behind_a_snapshot_is_proven_with_the_nodes_hashes(
    fixtures: Path, version: str, slot: int
) -> None:
    """Since 4.4 snapshots name no storages."""
    recording = fixtures / f"agave-{version}"
    (snapshot,) = recording.glob(f"snapshot-{slot}-*.tar.zst")
    banks: dict[str, dict[str, Any]] = json.loads((recording / "banks.json").read_bytes())
    blocks = json.loads(zstandard.decompress((recording / "blocks.json.zst").read_bytes()))
    proving.forget()
    epochs.keep(EpochSchedule(slots_per_epoch=128))  # as the node reports it
    options = ("--genesis", banks["0"]["blockhash"])
    call_command("import_snapshot", snapshot, *options, stdout=io.StringIO(), stderr=io.StringIO())
    baseline = Baseline.objects.get()
    assert (baseline.slot, baseline.proven, baseline.whole) == (slot, True, True)
    assert str(baseline.bank_hash) == banks[str(slot)]["bankHash"]

    for closed in closed_slots(recording, begin=Slot(slot + 1)):
        slot_queue.offer([slot_queue.pack(closed, reason="", source="recording")])
        ingest_waiting(now=timezone.now, seconds=60.0)
    archived = list(ArchivedSlot.objects.order_by("slot").values_list("slot", flat=True))
    # Slots of which the stream saw the finalization.
    assert archived == [int(each) for each in blocks if slot < int(each) <= archived[-1]]
    newest = archived[-1]
    assert newest > slot + 25
    assert proven() == {
        "proven": [(slot, newest - 1, "")],
        "unproven": [(newest, newest, "votes_not_seen")],
    }
    for each in archived:
        placed = slot_proofs.bank(each)
        assert placed is not None
        assert str(Hash(placed.bank.hash)) == banks[str(each)]["bankHash"], each
        assert placed.bank.signature_count == banks[str(each)]["signatureCount"], each
    print(f"\nAgave {version}: {len(archived)} banks after slot {slot}, proven to {newest - 1}")
